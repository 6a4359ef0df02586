"""Memcache throughput by the ToRs' oversubscription: the highest rate of requests over UDP whose
responses arrive in time. `[subways §8.7, Fig. 12]`

Every tested rate is a separate run. Rates are scaled to the paper's links and racks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

import orjson

from cubeyard.emulation.figures.lab import SEED, Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import PACKET_ENGINE, Outcome, Row, line, near
from cubeyard.emulation.figures.shuffles import PLAN_GBPS, SCHEMES

RACKS = 12
SERVERS_OF_RACK, PAPER_SERVERS_OF_RACK = 4, 15
MEMCACHE = (5, 6)
"""Numbers of the adjacent memcache racks, as in the computed figure."""
AGGREGATION = 2
RATIOS = (5.0, 10.0)
LINK_BITS_PER_SEC = 10e6
"""Rate of servers' links. The rate of ToRs' uplinks follows from the ratio."""
RATE_SCALE = PLAN_GBPS * 1e9 / LINK_BITS_PER_SEC
REQUEST_BYTES, RESPONSE_BYTES, HEADERS = 50, 1500, 28
"""Length of packets and of their IP and UDP headers."""
MTU = 1500
QUEUE_BYTES = 131_072
"""Queue at a link's end at these rates."""
BOUND_SECS = 1e-3
"""Limit of the mean latency on the paper's links."""
MOST_LOST = 0.01
REBIND_SECS = 0.5
WARM_UP, COUNTED = 12, 10
"""Number of rebinding periods before and during the measurement."""
LEAST_COUNTED = 4
SEARCHED = (0.5, 1.8)
"""Range of the search for the greatest rate, relative to the packet engine's result."""
HALVINGS, SHORT_HALVINGS = 5, 3
SEEDS = 4
"""Seeds of the packet engine: results vary by up to a sixth between seeds."""
FLUID_GIGABITS = 1.0
"""Data of all responses from one server to a client. The rates of the fluid model do not depend on
it."""
BAND = 0.15
DETOURS = (1.8, 2.5)
SHOWN = ("Type 1LB", "Type 1D")
"""The packet engine's lines in the chart, which is about LB and D. The rows have all of them."""
PAPER_MQPS = 10.0
HASHES = "the two racks' 320 pairs of client and server choose ToRs and uplinks by hash, where the paper has 4,500: the fullest uplink loses first"
PLANNED = (
    "controllers here plan detours every period and correct weights by the split that they measure; the packet engine plans every ten and divides "
    "by weights alone: at 5:1 it loses 1 to 4 % at 5,700 requests a second, with three seeds, where real packets lose less than 1 % at 7,100"
)
FILLED = (
    "filled to 60 %, two cool ToRs on either side and the racks' own three are 5.4 ToRs for the traffic of 1.8 racks: three times type 0 is the most, "
    "and controllers that see the load every period come near to it"
)
ENOUGH = (
    "the text says that detours at 10:1 are enough for what type 0 has at 5:1, and not how much more they would carry"
)


@dataclass(frozen=True)
class Variant:
    """A wiring type with its balance."""

    title: str
    wiring_type: int
    balance: str


VARIANTS = (
    Variant("Type 0", 0, "ecmp"),
    Variant("Type 1", 1, "ecmp"),
    Variant("Type 1LB", 1, "lb"),
    Variant("Type 1D", 1, "detour"),
)


@dataclass(frozen=True)
class Answered:
    """The results of a run's requests."""

    requests: int
    answered: int
    mean_secs: float | None

    def sustained(self, bound_secs: float) -> bool:
        """Whether the mean latency is within the bound and at most one per cent of requests have no
        response."""
        in_time = self.mean_secs is not None and self.mean_secs <= bound_secs
        return in_time and self.answered >= (1 - MOST_LOST) * self.requests


def spec(wiring_type: int, ratio: float) -> Json:
    """A loop of twelve racks, with the rate of the ToRs' two uplinks given by the ratio."""
    ports = 2 * SERVERS_OF_RACK
    return {
        "family": "subways", "type": wiring_type, "p": 2, "q": ports, "l": RACKS, "loops_per_cluster": 1,
        "aggs_per_cluster": AGGREGATION, "server_gbps": PLAN_GBPS, "uplink_gbps": ports * PLAN_GBPS / ratio / AGGREGATION,
    }  # fmt: skip


def ends(lab: Lab, plan: Json) -> tuple[list[str], list[str]]:
    """Names of the memcache servers and of the web servers."""
    names = [server["name"] for server in lab.engine.emulation_network(plan)["servers"]]
    memcache = [at // SERVERS_OF_RACK in MEMCACHE for at in range(len(names))]
    servers = [name for name, item in zip(names, memcache, strict=True) if item]
    return servers, [name for name, item in zip(names, memcache, strict=True) if not item]


def workload(lab: Lab, plan: Json, per_sec: float, bound_secs: float) -> Json:
    """The workload in which all web servers together send `per_sec` requests per second."""
    servers, clients = ends(lab, plan)
    return {
        "kind": "requests", "servers": servers, "clients": clients, "rate_per_sec": per_sec / len(clients),
        "request_bytes": REQUEST_BYTES - HEADERS, "response_bytes": RESPONSE_BYTES - HEADERS,
        "latency_bound_secs": bound_secs,
    }  # fmt: skip


def trial(lab: Lab, variant: Variant, ratio: float, per_sec: float) -> Trial:
    """The trial with real packets, at this number of requests per second of all clients."""
    plan = spec(variant.wiring_type, ratio)
    by_load = variant.balance in ("lb", "detour")
    return Trial(
        f"{variant.title}, {ratio:g}:1, {per_sec:,.0f} requests a second",
        plan,
        workload(lab, plan, per_sec, BOUND_SECS * RATE_SCALE),
        min(plan["uplink_gbps"], PLAN_GBPS) / PLAN_GBPS * LINK_BITS_PER_SEC,
        {
            "seconds": max(COUNTED * lab.brevity, LEAST_COUNTED) * REBIND_SECS,
            "settle_secs": WARM_UP * REBIND_SECS,
            "calibrate_secs": 0.0,
            "mtu": MTU,
            "protocol": "udp",
            "balance": variant.balance,
            **({"timers": {"rebind_secs": REBIND_SECS}} if by_load else {}),
        },
    )


def answered(measured: Measured) -> Answered:
    """The results of the counted requests."""
    latency_secs = measured.report["latency_secs"]
    return Answered(latency_secs["requests"], latency_secs["answered"], latency_secs["mean"])


def simulated(lab: Lab, variant: Variant, ratio: float, per_sec: float, seed: int = SEED) -> Answered:
    """The packet engine's result for the same network and queues at the planned rates, where all
    times are shorter by one factor."""
    plan = spec(variant.wiring_type, ratio)
    at_plan = per_sec * RATE_SCALE
    request = workload(lab, plan, at_plan, BOUND_SECS)
    period = REBIND_SECS / RATE_SCALE
    count = int(request["rate_per_sec"] * (WARM_UP + COUNTED) * period) + 1
    experiment = {
        "engine": "packet",
        "routing": SCHEMES[variant.balance],
        "seeds": [seed],
        "workload": {**request, "count": count},
        "packet": {
            "transport": "udp",
            "header_bytes": HEADERS,
            "path_hash": "addresses",
            "rebind_secs": period,
            "queue_bytes": QUEUE_BYTES,
        },
    }
    return Answered(**lab.engine.requests_answered(plan, experiment, WARM_UP * period))


def fluid_per_sec(lab: Lab, variant: Variant, ratio: float) -> float:
    """Responses per second by the flow engine at the measured rates: those of all clients until the
    last client has its share."""
    plan = spec(variant.wiring_type, ratio)
    servers, clients = ends(lab, plan)
    question = {
        "workload": {"kind": "matrix", "entries": [[server, other, 1.0] for server in servers for other in clients]},
        "routing": SCHEMES[variant.balance],
        "flow_gigabits": FLUID_GIGABITS,
        "max_min": True,
        "seeds": [SEED],
    }
    result = orjson.loads(lab.engine.predict_json(plan, question))
    gigabits = FLUID_GIGABITS * len(servers) * len(clients)
    return gigabits * 1e9 / float(result["completion"]["last_secs"]) / (8 * RESPONSE_BYTES) / RATE_SCALE


def greatest(sustains: Callable[[float], bool], least: float, most: float, halvings: int) -> float:
    """The highest sustained rate in an interval, found by bisection with `halvings` steps."""
    for _ in range(halvings):
        middle = (least + most) / 2
        if sustains(middle):
            least = middle
        else:
            most = middle
    return (least + most) / 2


def mqps(per_sec: float) -> float:
    """A rate in millions per second, scaled to the paper's links and racks."""
    return per_sec * RATE_SCALE * PAPER_SERVERS_OF_RACK / SERVERS_OF_RACK / 1e6


def measure(lab: Lab) -> Outcome:
    ratios = RATIOS if lab.brevity >= 1 else RATIOS[:1]
    halvings = HALVINGS if lab.brevity >= 1 else SHORT_HALVINGS
    fluid = {item.title: [fluid_per_sec(lab, item, ratio) for ratio in ratios] for item in VARIANTS}
    seeds = range(SEED, SEED + (SEEDS if lab.brevity >= 1 else 1))
    packets = {item.title: [by_packets(lab, item, ratio, seeds) for ratio in ratios] for item in VARIANTS}
    in_all_secs = len(ratios) * len(VARIANTS) * halvings * trial(lab, VARIANTS[0], ratios[0], 1e3).secs
    ours: dict[str, list[float]] = {item.title: [] for item in VARIANTS}
    for variant in VARIANTS:
        for ratio, expected in zip(ratios, packets[variant.title], strict=True):

            def sustains(per_sec: float, variant: Variant = variant, ratio: float = ratio) -> bool:
                request = trial(lab, variant, ratio, per_sec)
                result = answered(lab.measure([request], in_all_secs)[request.name])
                return result.sustained(BOUND_SECS * RATE_SCALE)

            ours[variant.title].append(greatest(sustains, SEARCHED[0] * expected, SEARCHED[1] * expected, halvings))
    return Outcome(
        rows=rows(ratios, ours, packets),
        series=[
            *(line(f"{title}, measured", ratios, [mqps(item) for item in of]) for title, of in ours.items()),
            *(line(f"{title}, packet engine", ratios, [mqps(packet) for packet in packets[title]]) for title in SHOWN),
            line("paper: Type 0", [5.0], [PAPER_MQPS], paper=True),
            line("paper: Type 1D", [10.0], [PAPER_MQPS], paper=True),
        ],
        axes=("oversubscription of the ToRs", "throughput (million queries/s)"),
        choices=[
            *choices(halvings),
            "an ideal fluid over paths that are drawn has, in million queries a second, "
            + "; ".join(f"{title}: {', '.join(f'{mqps(item):.1f}' for item in of)}" for title, of in fluid.items()),
        ],
    )


def by_packets(lab: Lab, variant: Variant, ratio: float, seeds: Iterable[int]) -> float:
    """The packet engine's greatest rate at the measured link rates, as mean over seeds."""
    fluid = fluid_per_sec(lab, variant, ratio)

    def of_seed(seed: int) -> float:
        return greatest(
            lambda per_sec: simulated(lab, variant, ratio, per_sec, seed).sustained(BOUND_SECS),
            0.4 * fluid,
            1.2 * fluid,
            HALVINGS,
        )

    return fmean(of_seed(seed) for seed in seeds)


def rows(ratios: Sequence[float], ours: dict[str, list[float]], packets: dict[str, list[float]]) -> list[Row]:
    """Rows for the text's claims, then for the packet engine's results with the same network."""

    def over_type_0(of: dict[str, list[float]], title: str) -> list[float]:
        return [item / zero for item, zero in zip(of[title], of["Type 0"], strict=True)]

    detours = over_type_0(ours, "Type 1D")
    low, high = DETOURS[0] * (1 - BAND), DETOURS[1] * (1 + BAND)
    matches = [
        near("type 1 over type 0, mean", "x", 1.2, fmean(over_type_0(ours, "Type 1")), BAND, HASHES),
        near("type 1LB over type 0, mean", "x", 1.6, fmean(over_type_0(ours, "Type 1LB")), BAND, HASHES),
        Row("type 1D over type 0, least", "x", DETOURS[0], min(detours), low, high, 0.1, FILLED),
        Row("type 1D over type 0, most", "x", DETOURS[1], max(detours), low, high, 0.1, FILLED),
    ]
    for title, ratio, reason in (("Type 0", 5.0, HASHES), ("Type 1D", 10.0, ENOUGH)):
        if ratio in ratios:
            at = mqps(ours[title][ratios.index(ratio)])
            matches.append(
                near(f"{title.replace('Type', 'type')} at {ratio:g}:1", "Mq/s", PAPER_MQPS, at, BAND, reason)
            )
    return matches + [
        near(
            f"{title.replace('Type', 'type')} at {ratio:g}:1, by the packet engine",
            "Mq/s",
            mqps(expected),
            mqps(got),
            BAND,
            PLANNED if title == "Type 1D" else HASHES,
            predicted_by=PACKET_ENGINE,
        )
        for title in ours
        for ratio, expected, got in zip(ratios, packets[title], ours[title], strict=True)
    ]


def choices(halvings: int) -> list[str]:
    step = (SEARCHED[1] - SEARCHED[0]) / 2 ** (halvings + 1)
    return [
        f"a loop of {RACKS} racks of {SERVERS_OF_RACK} servers for 15, links of 10 Mb/s for 10 Gb/s; rates are told as of the paper's links "
        "and racks. Memcache is in two racks side by side; each ToR has two uplinks, of the rate that the ratio leaves",
        f"UDP, packets of {REQUEST_BYTES} and {RESPONSE_BYTES:,} bytes with their headers; a link's end queues 128 KiB. All requests of two servers "
        "are one flow, and their responses another",
        f"the greatest rate with a mean latency of at most 1 s, the paper's 1 ms times the rate's scale of {RATE_SCALE:,.0f}, and at most 1 % of requests "
        "without a response: a lost packet is not sent again, and the paper does not say what a lost one counts",
        f"found by halving what is between {SEARCHED[0]:g} and {SEARCHED[1]:g} of the packet engine's {halvings} times: to {100 * step:.1f} % of it. Each rate is a run: "
        f"{WARM_UP * REBIND_SECS:g} s to settle, {COUNTED * REBIND_SECS:g} s that count",
        f"LB and D rebind every {REBIND_SECS:g} s, where the paper's 10 ms would be 10 s: UDP's flows do not wait for their queues",
        "the packet engine has the same network, queues and periods at the plan's rates, so that all of its times are a thousandth; its rates are means over "
        f"{SEEDS} seeds",
    ]
