"""Queries a second to two racks of memcache servers, by wiring and balance. `[subways §8.7, Fig. 12]`"""

from __future__ import annotations

from dataclasses import dataclass

from cubeyard.emulation.figures.lab import Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line, near
from cubeyard.emulation.figures.shuffles import SERVERS_OF_RACK, spec

RACKS_OF_LOOP = 6
MEMCACHE = (2, 3)
"""Side by side; the others hold web servers."""
LINK_BITS_PER_SEC = 10e6
REQUEST_BYTES, RESPONSE_BYTES = 50, 1500
FRAME_BYTES = 1542
"""Of a response on a link, about: Ethernet, IP and UDP in one packet."""
MTU = 3000
BOUND_SECS = 0.1
"""The paper's 1 ms on links a thousand times faster would be 1 s, more than a queue holds: a full queue's time."""
LOST_SECS = 2.0
"""A query without a response counts with the time after which it is given up."""
REBIND_SECS = 1.6
SECONDS = 3.0
SETTLE_SECS = {"ecmp": 1.5, "lb": 10.0, "detour": 12.0}
STEPS = 5
RANGE = (0.6, 2.6)
"""Of what type 0's uplinks can carry."""
VARIANTS = ((0, "ecmp", "Type 0"), (1, "ecmp", "Type 1"), (1, "lb", "Type 1LB"), (1, "detour", "Type 1D"))
PAPER = {"Type 1": (1.2, 1.2), "Type 1LB": (1.6, 1.6), "Type 1D": (1.8, 2.5)}
BAND = 0.15
SMALL = "hashes of 256 flows load ToRs unevenly, and a loop of six racks leaves fewer cool ToRs than one of twelve"


@dataclass
class Search:
    """For the greatest rate at which the mean latency keeps the bound, by halves. Rates are shares of type 0's uplinks."""

    low: float = RANGE[0]
    high: float = RANGE[1]

    @property
    def next(self) -> float:
        return (self.low + self.high) / 2

    def told(self, *, keeps: bool) -> None:
        if keeps:
            self.low = self.next
        else:
            self.high = self.next


def full_per_sec() -> float:
    """Queries a second that fill the uplinks of two racks of type 0, ToRs 4:1."""
    return len(MEMCACHE) * 2 * LINK_BITS_PER_SEC / (FRAME_BYTES * 8)


def trial(lab: Lab, wiring_type: int, balance: str, title: str, share: float) -> Trial:
    """Web servers ask at a share of that rate, as often each."""
    plan = spec(wiring_type, RACKS_OF_LOOP, 1)
    names = [one["name"] for one in lab.engine.emulation_network(plan)["servers"]]
    servers = [names[rack * SERVERS_OF_RACK + one] for rack in MEMCACHE for one in range(SERVERS_OF_RACK)]
    clients = [name for name in names if name not in servers]
    workload: Json = {
        "kind": "requests",
        "servers": servers,
        "clients": clients,
        "rate_per_sec": share * full_per_sec() / len(clients),
        "request_bytes": REQUEST_BYTES,
        "response_bytes": RESPONSE_BYTES,
        "latency_bound_secs": BOUND_SECS,
    }
    timers = {"timers": {"rebind_secs": REBIND_SECS}} if balance != "ecmp" else {}
    return Trial(
        f"{title} at {share:.2f}",
        plan,
        workload,
        LINK_BITS_PER_SEC,
        {
            "seconds": SECONDS,
            "settle_secs": SETTLE_SECS[balance],
            "calibrate_secs": 0.0,
            "protocol": "udp",
            "mtu": MTU,
            "balance": balance,
            **timers,
        },
    )


def mean_secs(found: Measured) -> float:
    """Of the latencies of all queries with an outcome."""
    told = found.report["latency_secs"]
    count = told["answered"] + told["timed_out"]
    if not count:
        return LOST_SECS
    return ((told["mean"] or 0.0) * told["answered"] + LOST_SECS * told["timed_out"]) / count


def measure(lab: Lab) -> Outcome:
    searches = {title: Search() for _, _, title in VARIANTS}
    points: dict[str, list[tuple[float, float]]] = {title: [] for title in searches}
    in_all_secs = sum(STEPS * trial(lab, *variant, 1.0).secs for variant in VARIANTS)
    for wiring_type, balance, title in VARIANTS:
        search = searches[title]
        for _ in range(STEPS):
            asked = trial(lab, wiring_type, balance, title, search.next)
            mean = mean_secs(lab.measure([asked], in_all_secs)[asked.name])
            points[title].append((search.next * full_per_sec(), mean))
            search.told(keeps=mean <= BOUND_SECS)
    rates = {title: search.low * full_per_sec() for title, search in searches.items()}
    return Outcome(
        rows=rows(rates),
        series=[line(title, *map(list, zip(*sorted(of), strict=True))) for title, of in points.items()],
        axes=("queries per second", "mean latency (s)"),
        choices=[
            f"{len(MEMCACHE)} memcache racks side by side in a loop of {RACKS_OF_LOOP} racks of {SERVERS_OF_RACK} servers, ToRs 4:1, links of 10 Mb/s; "
            f"UDP, {REQUEST_BYTES} and {RESPONSE_BYTES} bytes, in one packet each",
            f"the greatest rate of {STEPS} halvings at which the mean latency is at most {BOUND_SECS * 1e3:g} ms, the time of a full queue; a "
            f"query without a response counts with {LOST_SECS:g} s. The paper's 1 ms on links a thousand times faster would be 1 s, more than queues hold",
            f"LB and D rebind every {REBIND_SECS:g} s and are measured once they have settled",
        ],
    )


def rows(rates: dict[str, float]) -> list[Row]:
    """Speedups over type 0."""
    found = []
    for title, (low, high) in PAPER.items():
        ours = rates[title] / rates["Type 0"]
        if low == high:
            found.append(near(f"{title} over type 0", "x", low, ours, BAND, SMALL))
        else:
            found.append(Row(f"{title} over type 0", "x", low, ours, low * (1 - BAND), high * (1 + BAND), 0.1, SMALL))
    found.append(
        Row("Type 0", "queries/s", None, rates["Type 0"], 0.8 * full_per_sec(), 1.05 * full_per_sec(), reason=SMALL)
    )
    return found
