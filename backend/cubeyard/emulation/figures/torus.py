"""Common parts of figures about services of a torus: the network, and the paper's experiments as
talks with its servers. `[camcube §3]`"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import mean, pstdev
from typing import Any

import orjson

from cubeyard.emulation.figures.lab import Lab, Trial
from cubeyard.emulation.figures.rows import Row, line
from cubeyard.emulation.figures.talk import Talk, newer
from cubeyard.kit.errors import ProblemError

Json = dict[str, Any]
Hops = dict[tuple[int, int], int]
"""Number of packets from a server to its neighbour."""

TESTBED = 3
"""Servers along each axis of the paper's testbed. `[camcube §6]`"""
SIMULATED = 20
LINK_BITS_PER_SEC = 20e6
FLOW_BITS_PER_SEC = 2e5
"""Rate of the session's only application flow: negligible compared with the services."""
WIRE_BYTES = 14 + 28 + 16
"""Length of the headers of Ethernet, IPv4, UDP and the services before a payload."""
JOIN_SECS = 0.4
"""Time to wait for joins, which cross the torus in milliseconds."""
STRESS = (
    "links used",
    "packets sent",
    "median packets of a link",
    "90th percentile",
    "99th percentile",
    "most on a link",
)


def torus(side: int) -> Json:
    return {"family": "torus3d", "x": side, "y": side, "z": side}


def key(side: int, server: int) -> str:
    """A server's coordinate in the format of messages."""
    return f"{server // side**2},{server // side % side},{server % side}"


def trial(name: str, side: int, talk: Any, expect_secs: float, link_bits_per_sec: float = LINK_BITS_PER_SEC) -> Trial:
    """A trial of a torus with a talk. It ends with the talk, however long that takes on a busy
    machine."""
    settings: Json = {
        "flow_bits_per_sec": FLOW_BITS_PER_SEC,
        "seconds": max(20 * expect_secs, 120.0),
        "settle_secs": 2.0,
        "calibrate_secs": 0.5,
    }
    workload = {"kind": "one-to-one"}
    return Trial(name, torus(side), workload, link_bits_per_sec, settings, expect_secs=expect_secs, talk=talk)


@dataclass(frozen=True)
class Stress:
    """The distribution of packets over links, as in Table 1; percentiles by nearest rank over the
    used links."""

    cells: tuple[float, ...]

    @classmethod
    def of(cls, counts: Iterable[int]) -> Stress:
        used = sorted(count for count in counts if count)

        def percentile(percent: int) -> float:
            return float(used[-(-len(used) * percent // 100) - 1]) if used else 0.0

        return cls((float(len(used)), float(sum(used)), *(percentile(item) for item in (50, 90, 99, 100))))

    @classmethod
    def computed(cls, stress: Json) -> Stress:
        names = ("links_used", "packets", "median", "percentile_90", "percentile_99", "maximum")
        return cls(tuple(float(stress[name]) for name in names))


def aggregate(talk: Talk, side: int, job: int, mode: str) -> tuple[Hops, str]:
    """Every server sends one pair to server 0, with one key for all servers or one key each.
    Returns the packets on links, and what server 0 has received."""
    before = talk.hops_sent(["aggregation"])["aggregation"]
    for server in talk.network.servers:
        word = "pair" if mode == "full" else f"pair{server}"
        talk.tell(server, "aggregation", f"count {job} {key(side, 0)} {mode}\n{word}")
    (answer,) = talk.answers("aggregation", 1)
    return newer(talk.hops_sent(["aggregation"])["aggregation"], before), answer.text


def send_to_one(talk: Talk, side: int) -> Hops:
    """Every server sends one packet to server 0 by the routing service."""
    before = talk.hops_sent(["benchmark"])["benchmark"]
    others = [server for server in talk.network.servers if server != 0]
    for server in others:
        talk.tell(server, "benchmark", f"send {key(side, 0)} routed 1 64")
    talk.answers("benchmark", len(others))
    return newer(talk.hops_sent(["benchmark"])["benchmark"], before)


@dataclass(frozen=True)
class Flood:
    """The packets that arrived from a source that filled its links."""

    packets: int
    links: float
    """Throughput in units of a link's rate."""
    hops: Hops = field(default_factory=dict)
    """Packets on each link that the flood caused, if requested."""

    @property
    def carried(self) -> int:
        return sum(self.hops.values())

    def lost(self, ends: tuple[int, int]) -> tuple[int, int]:
        """Packets that reached a server and went no further; and those of them at servers where
        more than one link brings packets."""
        arrived: dict[int, list[int]] = {}
        for (_, to), packets in self.hops.items():
            arrived.setdefault(to, []).append(packets)
        lost = {
            server: sum(by_link) - sum(count for (sender, _), count in self.hops.items() if sender == server)
            for server, by_link in arrived.items()
            if server not in ends
        }
        return sum(lost.values()), sum(count for server, count in lost.items() if len(arrived[server]) > 1)


def flood(talk: Talk, side: int, to: int, mode: str, millis: int, payload: int, *, count: bool = False) -> Flood:
    """Server 0 sends to another server as fast as its links accept packets. `count`: whether to
    count the packets on links."""
    before = talk.hops_sent(["benchmark"])["benchmark"] if count else {}
    talk.tell(0, "benchmark", f"flood {key(side, to)} {mode} {millis} {payload}")
    (answer,) = talk.answers("benchmark", 1)
    words = answer.text.split()
    if words[0] != "received":
        raise ProblemError(503, "cannot-measure", f"A flood to {key(side, to)}: {answer.text}")
    packets, micros = int(words[1]), int(words[3])
    bits = 8 * (packets - 1) * (payload + WIRE_BYTES)
    hops = newer(talk.hops_sent(["benchmark"])["benchmark"], before) if count else {}
    return Flood(packets, bits / max(micros, 1) * 1e6 / talk.network.rate_bits_per_sec, hops)


def join(talk: Talk, side: int, group: int, root: int, members: list[int], verb: str) -> set[tuple[int, int]]:
    """The edges (child, parent) of the tree that joins create, which are the hops that they
    took."""
    before = talk.hops_sent(["distribution"])["distribution"]
    for member in members:
        talk.tell(member, "distribution", f"{verb} {group} {key(side, root)}")
    talk.watch(JOIN_SECS)
    return set(newer(talk.hops_sent(["distribution"])["distribution"], before))


@dataclass(frozen=True)
class Members:
    """A random root, and the servers that join, in random order."""

    share: float
    root: int
    members: list[int]

    @classmethod
    def draw(cls, servers: int, share: float, seed: int) -> Members:
        draws = random.Random(f"{share}/{seed}")  # noqa: S311 - the same for a seed
        every = list(range(servers))
        draws.shuffle(every)
        return cls(share, draws.randrange(servers), every[: max(round(share * servers), 1)])


def look_up(talk: Talk, server_keys: list[tuple[int, str]], how: str = "") -> list[int]:
    """Number of hops of lookups, all of which are sent before waiting for the first answer."""
    for server, name in server_keys:
        talk.tell(server, "cache", f"hops {name} {how}".rstrip())
    answers = talk.answers("cache", len(server_keys))
    wrong = [answer.text for answer in answers if not answer.text.startswith("HOPS ")]
    if wrong:
        raise ProblemError(503, "cannot-measure", f"A lookup found nothing: {wrong[0]}")
    return [int(answer.text.split()[-1]) for answer in answers]


def store(talk: Talk, names: list[str]) -> None:
    """Stores values for these keys, through any server."""
    servers = list(talk.network.servers)
    for at, name in enumerate(names):
        talk.tell(servers[at % len(servers)], "cache", f"set {name} value")
    talk.answers("cache", len(names))


def at_paper_size(lab: Lab, figure: str, seeds: int = 1) -> Json:
    """The flow engine's own figure, with 8,000 servers."""
    return orjson.loads(lab.engine.figure_json(figure, seeds))


def at_this_size(lab: Lab, figure: str, side: int, seeds: int = 3) -> Json:
    """The flow engine's figure of a torus with `side` servers along each axis."""
    return orjson.loads(lab.engine.figure_json(figure, seeds, torus_side=side))


def value(document: Json, name: str) -> float:
    """The value of the row with this name."""
    return next(row["ours"] for row in document["rows"] if row["name"] == name)


SEEDS = 20
"""Number of the models' seeds, whose spread gives the bands."""
MODEL_SEED = 1000
"""First seed of the models, which differs from that of the measurement."""
SPREAD = 3.0
"""Width of a band on each side of the mean, in standard deviations over seeds."""


def spread(values: Iterable[float], others: Iterable[float] | None = None) -> tuple[float, float]:
    """The band of a model's results for several seeds; with `others`, from the lower end of one
    model to the upper end of the other."""
    of, to = list(values), list(values if others is None else others)
    return mean(of) - SPREAD * pstdev(of), mean(to) + SPREAD * pstdev(to)


@dataclass(frozen=True)
class LookedUp:
    """The model's results for lookups: hops of each, by the routing service and by the cache
    service."""

    base: list[int]
    own: list[int]

    @property
    def ratio(self) -> float:
        return mean(self.own) / mean(self.base)


def looked_up(
    lab: Lab, side: int, lookups: int, *, keys: int, exponent: float, batch: int, first_way: bool
) -> list[LookedUp]:
    """The model's results for each seed. `first_way`: packets take the first of several links, as
    they do if all are free."""

    def of(seed: int) -> LookedUp:
        question = {
            "keys": keys, "exponent": exponent, "lookups": lookups, "batch": batch, "first_way": first_way, "seed": seed,
        }  # fmt: skip
        result = lab.engine.torus_services(torus(side), {"lookups": question})["lookups"]
        hops = {
            name: [hop for hop, count in enumerate(counts) for _ in range(count)] for name, counts in result.items()
        }
        return LookedUp(hops["routing_service"], hops["cache_service"])

    return [of(seed) for seed in range(SEEDS)]


def within(name: str, unit: str, ours: float, first: list[float], drawn: list[float], why: str) -> Row:
    """A number whose band is the model's spread: between packets that always take the first of
    several links, and packets that take a random one because the first is busy."""
    low, high = spread(first)
    if mean(drawn) != mean(first):
        ends = (*spread(drawn), low, high)
        low, high = min(ends), max(ends)
    return told(
        name,
        unit,
        ours,
        low,
        high,
        f"the model: {mean(first):.3g} by first links, {mean(drawn):.3g} by drawn ones. {why}",
    )


@dataclass(frozen=True)
class Joined:
    """The model's results for trees of the same joins: links of each tree."""

    own: list[int]
    base: list[int]

    @property
    def saved(self) -> float:
        """Share of links that the service's own protocol saves, as mean over the trees."""
        return mean(1 - own / base for own, base in zip(self.own, self.base, strict=True))

    @property
    def ratio(self) -> float:
        return mean(self.own) / mean(self.base)


def joined(lab: Lab, side: int, drawn: list[Members]) -> tuple[Joined, list[Joined]]:
    """The model's trees for these joins: for the base, joins take the first of several links; for
    the others, random ones, with several seeds."""
    request = [
        {"root": item.root, "members": item.members, "seed": seed * len(drawn) + at}
        for seed in range(SEEDS)
        for at, item in enumerate(drawn)
    ]
    joins = lab.engine.torus_services(torus(side), {"joins": request})["joins"]
    samples = [joins[begin : begin + len(drawn)] for begin in range(0, len(joins), len(drawn))]

    def trees(sample: list[Json], base: str) -> Joined:
        return Joined([len(item["own"]) for item in sample], [len(item[base]) for item in sample])

    return trees(samples[0], "base"), [trees(sample, "base_drawn") for sample in samples]


def around(first: float, drawn: list[float]) -> list[float]:
    """The exact value for first links, plus the deviations of random links: joins skip links that
    are busy with another join."""
    return [first + item - mean(drawn) for item in drawn]


def told(name: str, unit: str, ours: float | None, low: float, high: float, why: str) -> Row:
    """A number that the paper does not have for this size."""
    return Row(name, unit, None, ours, low, high, reason=why)


def lines_of(document: Json, what: str) -> list[Json]:
    """The document's computed lines, renamed with `what`."""
    return [{**item, "name": f"{item['name']}, {what}"} for item in document["series"] if not item["paper"]]


def cumulative(name: str, values: list[float]) -> Json:
    """The share of values up to each value."""
    ordered = sorted(values)
    return line(name, ordered, [(at + 1) / len(ordered) for at in range(len(ordered))])
