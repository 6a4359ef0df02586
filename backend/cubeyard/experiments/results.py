"""The results of the computing engines for one point of an experiment."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from cubeyard.kit.models import Model


class FailedCounts(Model):
    servers: int
    switches: int
    links: int
    degraded_links: int = Field(default=0, description="Links that go on and carry less.")


class Dropped(Model):
    end_failed: int = Field(description="Flows one of whose servers has failed.")
    no_path: int = Field(description="Flows between live servers for which the routing found no path.")


class FairRates(Model):
    """Max-min fair rates of the flows that cross a link."""

    flows: int
    total_gbps: float
    min_gbps: float | None
    p01_gbps: float | None
    median_gbps: float | None
    mean_gbps: float | None
    p99_gbps: float | None
    max_gbps: float | None


class TotalRate(Model):
    """Steps: from each moment on, all flows together have that rate."""

    from_secs: list[float]
    gbps: list[float]


class Completion(Model):
    """When flows end that all begin at 0."""

    flows: int
    first_secs: float | None
    median_secs: float | None
    mean_secs: float | None
    last_secs: float | None
    total_rate: TotalRate


class LinkLoad(Model):
    """Flows by link, in the order of the plan's cables."""

    a_to_b: list[int]
    b_to_a: list[int]


class LevelFlows(Model, extra="allow"):
    """Flows on the directed links of a level that are alive; null without such a link."""

    label: str
    min: float | None
    max: float | None
    mean: float | None


class PathHops(Model, extra="allow"):
    """Lengths of the paths of carried flows; null without a flow."""

    mean: float | None
    max: float | None
    unit: str = Field(description="`hops` from server to server, or `links`.")


class Prediction(Model, extra="allow"):
    """The engine's result for one point. There are further fields, depending on the workload and
    the request."""

    abt_gbps: float = Field(description="Aggregate bottleneck throughput.")
    flows: int = Field(description="Carried flows.")
    dropped_flows: int
    dropped: Dropped
    max_link_flows: int
    link_flows_by_level: dict[str, LevelFlows]
    path_hops: PathHops
    failures: FailedCounts
    maxmin: FairRates | None = Field(default=None, description="With `max_min`, or unasked up to 100,000 flows.")
    completion: Completion | None = Field(default=None, description="With `flow_gigabits`.")
    link_load: LinkLoad | None = Field(default=None, description="With `link_load`.")
    routing: str
    seed: int
    engine_version: str


class CompletionSecs(Model):
    """Times from each flow's own start to the arrival of its last byte, of the flows that are
    complete."""

    flows: int
    unfinished: int
    min: float | None
    median: float | None
    mean: float | None
    p99: float | None
    max: float | None


class Distribution(Model):
    """The share of the complete flows that took at most the given time."""

    share: list[float]
    secs: list[float]


class PacketBytes(Model):
    """Payload of data packets: sent = received + dropped + in flight, at every moment."""

    sent: int
    received: int
    dropped: int
    in_flight: int


class PacketSeries(Model):
    """Columns in time: row `i` is at `(i + 1) * step_secs`."""

    step_secs: float
    goodput_gbps: list[float]
    drops: list[int] = Field(description="In the step.")
    timeouts: list[int] = Field(description="In the step.")
    finished: list[int] = Field(description="Complete flows so far.")
    queue_bytes: list[int] | None = Field(default=None, description="What waits at the watched link.")
    window_packets: list[float] | None = Field(default=None, description="Of the watched flow, if there is one.")
    limit_gbps: list[float | None] | None = Field(
        default=None,
        description="With congestion notices: what they limit the watched flow to; null while they do not.",
    )


class LatencySecs(Model):
    """From each request's start to the arrival of the last byte of its response."""

    requests: int
    unanswered: int = Field(description="Without a response at that moment, or without a path.")
    min: float | None
    median: float | None
    mean: float | None
    p99: float | None
    max: float | None
    bound: float | None = Field(description="The latency that should not be exceeded, if the workload names one.")
    within_bound: float | None = Field(description="Share of all requests whose response came within the bound.")


class RebindingSoFar(Model):
    """The actions so far of controllers that adapt to the load."""

    rounds: int
    moves: int = Field(description="Number of changed routes of data and of acknowledgements.")


class LinkHeat(Model):
    """The load of directed links in intervals of virtual time: row `i` ends at
    `(i + 1) * step_secs`, the last one at `simulated_secs`."""

    step_secs: float
    links_used: int = Field(description="Links, each direction by itself, that carried anything.")
    links: list[int] = Field(
        description="Those that carried most, in ascending order, at most 4,096: twice the number of the plan's cable, and one more for the direction "
        "from its second end to its first."
    )
    names: list[str] | None = Field(default=None, description="For a whole run: the name `from/to` of each of `links`.")
    permille: list[list[int]] = Field(
        description="A row a frame, a number for each of `links`: thousandths of the link's rate before faults. At most 64 rows and 65,536 numbers."
    )


class SimulationSoFar(Model, extra="allow"):
    """The state of a simulation at a moment of its virtual time."""

    seed: int
    simulated_secs: float
    flows: int
    completion_secs: CompletionSecs
    completion_distribution: Distribution
    latency_secs: LatencySecs | None = Field(default=None, description="With workload `requests`.")
    latency_distribution: Distribution | None = Field(default=None, description="With workload `requests`.")
    bytes: PacketBytes
    drops: int = Field(description="Data packets.")
    ack_drops: int
    retransmits: int
    timeouts: int
    marks: int = Field(description="ECN marks.")
    notices: int | None = Field(default=None, description="Congestion notices sent, with QCN.")
    controllers: RebindingSoFar | None = Field(
        default=None, description="With a routing scheme whose controllers follow the load, unless rebind_secs is 0."
    )
    packet_hops: int
    series: PacketSeries
    link_heat: LinkHeat | None = Field(
        default=None, description="Unless `packet.link_heat` is false, which it is for several points unless it is set."
    )


class PredictedEnds(Model):
    """When the same flows end on the same routes as the flow engine has it."""

    flows: int
    median: float | None
    max: float | None
    share: list[float]
    secs: list[float]


class WatchedParts(Model):
    """The parts of the network that the time series describe."""

    link: str | None = Field(description="A directed link, `from/to`.")
    flow: int | None


class Simulation(SimulationSoFar, extra="allow"):
    """The packet engine's result for one point."""

    goodput_gbps: float | None = Field(
        description="Payload that arrived, over the simulated time; null where no flow has a path."
    )
    predicted: PredictedEnds | None = Field(
        default=None, description="Of up to 2,000 flows of TCP that start together and without faults."
    )
    watched: WatchedParts
    choices: dict[str, Any] = Field(description="Every setting and assumption of the run.")
    dropped_flows: int = Field(description="Flows without a path at the start.")
    failures: FailedCounts
    routing: str
    engine_version: str
