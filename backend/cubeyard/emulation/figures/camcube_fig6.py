"""The CPU cost of the extended routing service for a server whose six links are full.
`[camcube §6, Fig. 6]`

The six neighbours of one server fill their links to it. It returns each packet: directly, or by the
extended routing service with one to three keys in the packet.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles

from cubeyard.emulation.figures.lab import Lab
from cubeyard.emulation.figures.rows import Outcome, Row, line
from cubeyard.emulation.figures.talk import Talk
from cubeyard.emulation.figures.torus import TESTBED, WIRE_BYTES, key, told, trial

CENTRE = 13
"""The server with address (1,1,1)."""
LINK_BITS_PER_SEC = 50e6
PAYLOAD = 8900
"""Jumbo frames, as in the paper."""
ETHERNET_BYTES = 14
MODES = ("bounce", "keys-1", "keys-2", "keys-3")
NAMES = {"bounce": "base", "keys-1": "|K| = 1", "keys-2": "|K| = 2", "keys-3": "|K| = 3"}
ROUNDS = 10
WATCH_SECS = 3.0
START_SECS = 0.5
"""Time until all six neighbours fill their links."""
LINKS = 12
"""Number of directions of six links."""
PAPER_GBPS = 11.88
PAPER_CPU = (22.01, 25.35)
MORE = (
    "the node is another program than the testbed's runtime: the kernel's work for its sockets, which is the same for both, is most of "
    "a packet's CPU"
)


@dataclass(frozen=True)
class Round:
    """One mode in one round."""

    gbps: float
    """Throughput, scaled to the testbed's links."""
    micros: float
    """CPU time of the server's process per packet that it received and returned."""


def rounds_of(lab: Lab) -> dict[str, list[Round]]:
    """Runs all modes in turn, round by round, so that other load on the machine affects all of them
    equally."""
    rounds = max(round(ROUNDS * lab.brevity), 1)
    watch_secs = max(WATCH_SECS * lab.brevity, 0.8)
    result: dict[str, list[Round]] = {mode: [] for mode in MODES}

    def talk(to: Talk) -> None:
        for _ in range(rounds):
            for mode in MODES:
                result[mode].append(_round(to, mode, watch_secs))

    expect_secs = rounds * len(MODES) * (START_SECS + watch_secs + 0.5)
    lab.measure([trial("six full links", TESTBED, talk, expect_secs, LINK_BITS_PER_SEC)])
    return result


def best_of(found: dict[str, list[Round]]) -> tuple[dict[str, float], dict[str, float]]:
    """The highest throughput and the lowest CPU cost of each mode: other load on the machine only
    makes both worse."""
    throughput = {mode: max(item.gbps for item in rounds) for mode, rounds in found.items()}
    return throughput, {mode: min(item.micros for item in rounds) for mode, rounds in found.items()}


def over_base(rounds: dict[str, list[Round]], mode: str) -> list[float]:
    """A mode's CPU cost per packet relative to the base in the same round. Other load on the
    machine increases both about equally within a round, so the median of these ratios is stable,
    unlike the ratio of minima from different times."""
    return [item.micros / base.micros for item, base in zip(rounds[mode], rounds["bounce"], strict=True)]


def measure(lab: Lab) -> Outcome:
    result = rounds_of(lab)
    best, least = best_of(result)
    ratios = {mode: over_base(result, mode) for mode in MODES}
    low, _, high = quantiles(ratios["keys-3"], n=4) if len(ratios["keys-3"]) > 1 else 3 * ratios["keys-3"]
    lost = 100 * (1 - best["keys-3"] / best["bounce"])
    return Outcome(
        rows=[
            Row("base: throughput of twelve links", "Gb/s", PAPER_GBPS, best["bounce"], 0.97 * LINKS, LINKS, 0.01),
            Row("throughput lost with |K| = 3", "%", 0.9, lost, -2.0, 2.0, reason="the paper: less than 0.9 %"),
            Row(
                "CPU of a packet, |K| = 3 over base",
                "x",
                round(PAPER_CPU[1] / PAPER_CPU[0], 3),
                median(ratios["keys-3"]),
                1.05,
                1.6,
                0.01,
                f"the median of {len(ratios['keys-3'])} rounds, half of them from {low:.2f} to {high:.2f}; {MORE}",
            ),
            *(
                told(
                    f"CPU of a packet, {NAMES[mode]}: at most",
                    "µs",
                    least[mode],
                    0.0,
                    100.0,
                    f"a bound for machines that the figure is worth measuring on; median of the rounds {median(item.micros for item in result[mode]):.1f} µs; the paper has shares of a processor: "
                    f"{PAPER_CPU[0]:g} % base, {PAPER_CPU[1]:g} % with three keys",
                )
                for mode in MODES
            ),
        ],
        series=[
            line("CPU of a packet over base", [0.0, 1.0, 2.0, 3.0], [median(ratios[mode]) for mode in MODES]),
            line("throughput over base", [0.0, 1.0, 2.0, 3.0], [best[mode] / best["bounce"] for mode in MODES]),
            line("paper: CPU over base", [0.0, 3.0], [1.0, PAPER_CPU[1] / PAPER_CPU[0]], paper=True),
        ],
        axes=("keys in a packet (0: base)", "over base (x)"),
        choices=[
            f"links of {LINK_BITS_PER_SEC / 1e6:g} Mb/s for the testbed's 1 Gb/s, packets of {PAYLOAD:,} bytes; throughput is told as of "
            "the testbed's links, without Ethernet headers, from the links' counters",
            "without failures one key alone maps onto a neighbour, its own coordinate: a packet with several keys has it several times. The "
            "routing service looks at each of them all the same",
            f"the most throughput and the least CPU of {len(result[MODES[0]])} rounds of all modes in turn: other work on the machine only makes both worse. "
            "Ratios of CPU are of one round each, and their median is told. CPU "
            "is of the server's process in its container, the kernel's work in its calls with it",
            "the flow engine has no CPU; that no link is lost to |K| is also checked in virtual time",
        ],
    )


def _round(talk: Talk, mode: str, watch_secs: float) -> Round:
    neighbours = [server for link in talk.network.links for server in _other_end(link.a[0], link.b[0])]
    millis = round(1000 * (START_SECS + watch_secs + 0.7))
    for server in neighbours:
        talk.tell(server, "benchmark", f"flood {key(TESTBED, CENTRE)} {mode} {millis} {PAYLOAD}")
    talk.watch(START_SECS)
    seen = talk.watch(watch_secs)
    talk.answers("benchmark", len(neighbours))
    ours = [at for at, link in enumerate(talk.network.links) if CENTRE in (link.a[0], link.b[0])]
    # Computed from the packets' length: links only count the packets of applications.
    wire_bytes = sum(sum(seen.links[at]) for at in ours)
    packets = wire_bytes / (PAYLOAD + WIRE_BYTES)
    bits = 8 * (wire_bytes - ETHERNET_BYTES * packets)
    row = list(talk.network.servers).index(CENTRE)
    # Each packet is counted when it arrives and when it departs.
    micros = 1e6 * seen.cpu[row] * seen.secs / max(packets / 2, 1.0)
    return Round(bits / seen.secs / LINK_BITS_PER_SEC, micros)


def _other_end(server: int, other: int) -> list[int]:
    return [other] if server == CENTRE else [server] if other == CENTRE else []
