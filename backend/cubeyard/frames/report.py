"""The last frame of an emulation."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from cubeyard.frames.faults import Predicted, PredictedFrame, ScheduledFault


class WindowMeans(TypedDict):
    """Means over a part of the measured time."""

    secs: float
    goodput_bits_per_sec: float
    least_goodput_bits_per_sec: Annotated[
        float | None, Field(description="The least of any second; null for less than a second.")
    ]
    abt_bits_per_sec: Annotated[
        float,
        Field(
            description="Flows times the slowest one's mean rate, of flows that were not cut off; of the whole run: the mean of "
            "its stretches by time."
        ),
    ]
    least_abt_bits_per_sec: Annotated[
        float | None, Field(description="The least of any second; null for less than a second.")
    ]
    stalled_flows: Annotated[int, Field(description="Flows that carried nothing in all of the time.")]
    most_stalled_flows: Annotated[
        NotRequired[int | None],
        Field(description="Flows without progress in the worst second; null in less than a second."),
    ]
    cut_off_flows: Annotated[
        NotRequired[int], Field(description="Flows that lost an end or every path at any time; ABT is of the others.")
    ]
    retransmits: int
    drops: Annotated[int, Field(description="Packets that servers dropped, for the reasons of the report's `drops`.")]
    queue_drops: Annotated[
        NotRequired[int],
        Field(description="Packets dropped at the end of a link, by a full queue or a fault; older runs have none."),
    ]
    cpu: float


class Verdict(TypedDict):
    """Whether the hypothesis was met. The fields of the hypothesis are further fields of the same
    object."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]

    outcome: Annotated[
        Literal["held", "broken", "inconclusive", "not-tested", "none"],
        Field(
            description="Inconclusive: this machine, faults that were not as planned, or the end of the run leave it open. "
            "Not tested: a fault did not happen, or the run was too short. None: the run had no hypothesis; in older runs "
            "also: not tested."
        ),
    ]
    sentence: str
    unit: NotRequired[str]
    worst: NotRequired[float | None]
    violations: NotRequired[int]
    broken_at_secs: NotRequired[float | None]


class CalibrationResult(TypedDict):
    source: str
    destination: str
    goodput_bits_per_sec: float
    ideal_bits_per_sec: float
    achieved_over_ideal: float


class OverPathsResult(TypedDict):
    """The measurement compared with max-min fair rates over the flows' paths, without headers."""

    goodput_bits_per_sec: Annotated[float, Field(description="What these paths allow.")]
    abt_bits_per_sec: Annotated[float, Field(description="What these paths allow.")]
    goodput_share: Annotated[float, Field(description="Measured, of what the paths allow.")]
    abt_share: Annotated[float, Field(description="Measured, of what the paths allow.")]
    least_flow_share: Annotated[float, Field(description="Of the flow that got least of its own fair rate.")]
    median_flow_share: float


class Fidelity(TypedDict):
    """Whether the network or this machine limited the numbers before the first fault."""

    verdict: Literal["faithful", "host-limited", "unknown"]
    cause: Annotated[
        NotRequired[Literal["none", "paths", "tcp", "machine", "neighbours", "unknown"]],
        Field(
            description="Why the measurement is below the prediction; `neighbours`: some were declared dead without a fault."
        ),
    ]
    reason: str
    advice: Annotated[
        NotRequired[Literal["fair-queues", "less-work"] | None],
        Field(description="Fair queues, or slower links or fewer flows, would help."),
    ]
    deaths: Annotated[NotRequired[int], Field(description="How often a neighbour was declared dead without a fault.")]
    late_ticks: Annotated[NotRequired[float], Field(description="Share of the ticks that came late.")]
    wait_secs: Annotated[
        NotRequired[float | None],
        Field(description="How long the run's processes waited for a processor each time, on average."),
    ]
    backlog_drops: Annotated[
        NotRequired[int], Field(description="Packets that the kernel dropped because it was behind with its work.")
    ]
    cpu: Annotated[float | None, Field(description="Share of all cores in use.")]
    own_cpu: Annotated[
        NotRequired[float | None], Field(description="Share of all cores that this run used; null if it is not known.")
    ]
    achieved_over_ideal: float | None
    abt_over_predicted: Annotated[
        NotRequired[float | None], Field(description="Measured ABT by the predicted one without headers.")
    ]
    over_paths: Annotated[
        NotRequired[OverPathsResult | None], Field(description="Null where the paths of flows are not known.")
    ]
    short_flows_share: Annotated[
        NotRequired[float],
        Field(description="Share of the flows that are left out: they end before TCP has reached its rate."),
    ]
    header_efficiency: float
    calibration: CalibrationResult | None


class ReportedFault(ScheduledFault):
    """A fault that was injected, and the network's recovery. Times count from the injection, except
    names with `at`."""

    injected_at_secs: float
    recovered_at_secs: Annotated[float | None, Field(description="Null: active to the end.")]
    at_nanos: int
    detected_secs: Annotated[
        float | None,
        Field(description="Until a surviving neighbour reported it or the first flow moved; null: neither."),
    ]
    already_down: Annotated[
        NotRequired[bool], Field(description="Another fault had taken down all of it, so nobody could detect this one.")
    ]
    first_move_secs: float | None
    last_move_secs: float | None
    moves: Annotated[int, Field(description="Flows that took another path within 30 s.")]
    recovered_secs: Annotated[float | None, Field(description="Until the goodput was back at 95 % of before.")]
    late_secs: Annotated[NotRequired[float], Field(description="Absent unless it was injected later than planned.")]
    took_secs: Annotated[
        NotRequired[float], Field(description="Absent unless its injection took long: its end is later by that.")
    ]
    lasted_secs: Annotated[
        NotRequired[float], Field(description="How long a fault was active that the run's end cut short.")
    ]
    planned_secs: Annotated[NotRequired[float], Field(description="How long it would have been active in time.")]
    overran_secs: Annotated[
        NotRequired[float], Field(description="Absent unless it lasted longer than planned: by how much.")
    ]
    not_recovered: Annotated[NotRequired[str], Field(description="Why it could not be recovered.")]


class MissingFault(ScheduledFault):
    """A fault that was scheduled or requested but did not happen."""

    reason: str


class Probing(TypedDict):
    rounds: int
    mean_secs: float


class LeftOut(TypedDict):
    server: str
    count: int


class ServerMeans(TypedDict):
    server: str
    id: int
    sent_bits_per_sec: float
    received_bits_per_sec: float
    relayed_bits_per_sec: float


class LinkMeans(TypedDict):
    """A link over the whole measurement, from a to b and back."""

    link: str
    id: int
    level: int
    ab_bits_per_sec: float
    ba_bits_per_sec: float
    ab_packets: int
    ba_packets: int
    ab_drops: int
    ba_drops: int
    ab_longest_queue_bytes: int
    ba_longest_queue_bytes: int


class FlowMeans(TypedDict):
    flow: int
    source: str
    destination: str
    goodput_bits_per_sec: float
    ideal_bits_per_sec: float
    as_predicted: Annotated[
        NotRequired[bool],
        Field(description="Whether the first path that it took was the predicted one; absent where none was."),
    ]


class LatencyResult(TypedDict):
    """Latency from the moment that a request was due to the last byte of its response, for
    responses in the measured time. Counts, mean and max are exact; other values are exact to 3
    %."""

    requests: Annotated[int, Field(description="Sent, or due to be.")]
    answered: int
    timed_out: Annotated[int, Field(description="Given up, or lost with their connection.")]
    unanswered: Annotated[int, Field(description="Given up, or still under way at the end.")]
    min: float | None
    median: float | None
    mean: float | None
    p99: float | None
    p999: float | None
    max: float | None
    bound: Annotated[
        float | None, Field(description="The latency that should not be exceeded, if the workload names one.")
    ]
    within_bound: Annotated[
        float | None, Field(description="Share of all requests with an outcome whose response came within the bound.")
    ]


class LatencyDistribution(TypedDict):
    """The share of responses that took at most the given time."""

    share: list[float]
    secs: list[float]


class ReportedSeries(TypedDict):
    """One point per second, each the mean of the second before."""

    at_secs: list[float]
    goodput_bits_per_sec: list[float]
    abt_bits_per_sec: list[float]


class ReportedUpgrade(TypedDict):
    """The changes made while flows were running."""

    title: str
    steps: int
    steps_done: int
    began_at_secs: float | None
    ended_at_secs: float | None
    connections_lost: Annotated[
        int, Field(description="Flows of the whole run that ended before they had carried everything.")
    ]


class EndedProgram(TypedDict):
    server: str
    status: int
    message: str
    at_secs: float


class ReportedImage(TypedDict):
    """A user's program on servers."""

    image: str
    command: Annotated[list[str], Field(description="Empty: what the image says.")]
    servers: list[str]
    identities: Annotated[list[str], Field(description="What the image was exactly, as its engine names it: digests.")]
    ended: Annotated[list[EndedProgram], Field(description="Those that ended by themselves, a fault's not.")]


class ReportFrame(TypedDict):
    """The results of an emulation and their fidelity. Rates are goodput unless they are predicted
    or ideal."""

    point: Annotated[NotRequired[int], Field(description="Always 0: an emulation is one point.")]
    ended: Literal["done", "aborted", "stopped"]
    verdict: Annotated[Verdict, Field(description="Of several hypotheses: of the one that fared worst.")]
    verdicts: Annotated[NotRequired[list[Verdict]], Field(description="Of every hypothesis, in their order.")]
    aggregate_goodput_bits_per_sec: float
    ideal_bits_per_sec: float
    header_efficiency: float
    abt_bits_per_sec: float
    predicted: Predicted
    predicted_steps: NotRequired[list[PredictedFrame]]
    total: WindowMeans
    windows: dict[Literal["before", "during", "after"], WindowMeans]
    fidelity: Fidelity
    faults: list[ReportedFault]
    not_injected: Annotated[NotRequired[list[MissingFault]], Field(description="Absent in older runs.")]
    upgrade: NotRequired[ReportedUpgrade]
    images: NotRequired[list[ReportedImage]]
    path_switches: int
    latency_secs: Annotated[NotRequired[LatencyResult], Field(description="With workload `requests`.")]
    latency_distribution: Annotated[NotRequired[LatencyDistribution], Field(description="With workload `requests`.")]
    probing: Probing
    events_left_out: list[LeftOut]
    drops: dict[str, int]
    per_server: list[ServerMeans]
    per_link: list[LinkMeans]
    per_flow: list[FlowMeans]
    series: ReportedSeries
    timings: dict[str, Any]
