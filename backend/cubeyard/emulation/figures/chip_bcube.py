"""Two TCP connections between two servers of a BCube over two relays, which forward by the tables
of a switching chip, in the kernel and in user space. `[serverswitch §6.2]`

CPU cost of the chip in user space: that of the relays' processes. In the kernel: the additional CPU
of the machine if data crosses the relays, compared with the same amount of data on a path without
them; both are measured several times in turn, and the median difference is used. [ours]
"""

from __future__ import annotations

import os
import statistics

from cubeyard.emulation.figures.lab import Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line, near

SPEC: Json = {"family": "bcube", "n": 4, "k": 1}
SOURCE, DESTINATION, RELAYS = "01", "10", ("00", "11")
ACROSS = [(SOURCE, DESTINATION)] * 2
BESIDE = [(SOURCE, relay) for relay in RELAYS]
LINK_BITS_PER_SEC = 1e9
MTU = 1500
ROUNDS = 5
SECS = 3.0
CHIP, SOFTWARE = "chip in the kernel", "chip in user space"
DATAPLANES = {CHIP: "serverswitch", SOFTWARE: "serverswitch-software"}
PAPER_GBPS = 1.7
PAPER_CORES = 4
PAPER_CPU = {CHIP: 0.0, SOFTWARE: 15.0}
NO_CARD = "the chip is a program in the kernel here and no card of its own: it takes the machine's processors, as little as forwarding can"
ALL_IN_ONE = (
    "another machine: a quad core of 2.8 GHz for each relay there; here both ends and both relays share the cores"
)
BUSY = "the machine was too busy with other work for the difference to be seen: measure again on a quiet one"


def _trial(name: str, pairs: list[tuple[str, str]], dataplane: str, brevity: float) -> Trial:
    emulation = {
        "slice": {"servers": [SOURCE, *RELAYS, DESTINATION]},
        "seconds": max(SECS * brevity, 1.0),
        "settle_secs": 1.5,
        "calibrate_secs": 0.0,
        "mtu": MTU,
        "dataplane": dataplane,
    }
    entries = [[source, destination, 1.0] for source, destination in pairs]
    return Trial(name, SPEC, {"kind": "matrix", "entries": entries}, LINK_BITS_PER_SEC, emulation)


def _rounds(brevity: float) -> range:
    return range(ROUNDS if brevity >= 1 else 1)


def _beside(number: int) -> str:
    return f"{CHIP}, round {number + 1}, not relayed"


def _across(number: int) -> str:
    return f"{CHIP}, round {number + 1}"


def trials(brevity: float) -> list[Trial]:
    matches = []
    for number in _rounds(brevity):
        matches.append(_trial(_across(number), ACROSS, DATAPLANES[CHIP], brevity))
        matches.append(_trial(_beside(number), BESIDE, DATAPLANES[CHIP], brevity))
    return [*matches, _trial(SOFTWARE, ACROSS, DATAPLANES[SOFTWARE], brevity)]


def measure(lab: Lab) -> Outcome:
    result = lab.measure(trials(lab.brevity))
    rounds = [(result[_across(number)], result[_beside(number)]) for number in _rounds(lab.brevity)]
    chip = sorted((across for across, _ in rounds), key=lambda across: across.goodput_bits_per_sec)[len(rounds) // 2]
    middle = {CHIP: chip, SOFTWARE: result[SOFTWARE]}
    cpu = {
        CHIP: _positive(statistics.median(_more_cores(*pair) for pair in rounds)),
        SOFTWARE: sum(result[SOFTWARE].node_cpu(relay) for relay in RELAYS) / len(RELAYS),
    }
    rows: list[Row] = []
    for kind, measured in middle.items():
        item, other = relayed(measured)
        rows += [
            near(f"both connections, {kind}", "Gb/s", PAPER_GBPS, measured.goodput_bits_per_sec / 1e9, 0.1, ALL_IN_ONE),
            Row(
                f"busier relay over the other, {kind}",
                "times",
                1.0,
                max(item, other) / max(min(item, other), 1.0),
                1.0,
                1.1,
                0.1,
                ALL_IN_ONE,
            ),
            _cpu_row(kind, cpu[kind], measured),
        ]
    return Outcome(
        rows=rows,
        series=[line(kind, [0, 1], [bits / 1e9 for bits in relayed(measured)]) for kind, measured in middle.items()]
        + [line("paper", [0, 1], [PAPER_GBPS / 2] * 2, paper=True)],
        axes=("relay (00, 11)", "relayed (Gb/s)"),
        choices=[
            f"links of 1 Gb/s, as there, and an MTU of {MTU} bytes; {SOURCE}, {DESTINATION} and their relays of a BCube_1 of 16 servers",
            "CPU is told in percent of four cores, as there, for one relay and for 1.7 Gb/s in all",
            f"in the kernel: what the machine takes more when the connections cross the relays than when as much ends there; the median "
            f"of {len(rounds)} rounds",
        ],
    )


def relayed(measured: Measured) -> list[float]:
    """Rate that each relay forwarded, in bits per second."""
    of = {server["server"]: float(server["relayed_bits_per_sec"]) for server in measured.report["per_server"]}
    return [of[relay] for relay in RELAYS]


def _cpu_row(kind: str, cores: float | None, measured: Measured) -> Row:
    goodput = measured.goodput_bits_per_sec
    percent = None if cores is None or not goodput else 100 * cores / PAPER_CORES * PAPER_GBPS * 1e9 / goodput
    paper = PAPER_CPU[kind]
    reason = BUSY if percent is None else NO_CARD if kind == CHIP else ALL_IN_ONE
    return Row(
        f"CPU of a relay for 1.7 Gb/s, {kind}", "% of four cores", paper, percent, paper / 2, paper * 2, 1.0, reason
    )


def _more_cores(across: Measured, beside: Measured) -> float:
    """CPU cores of one relay: half of the additional CPU compared with the same goodput on the
    other path."""
    as_much = across.goodput_bits_per_sec / beside.goodput_bits_per_sec if beside.goodput_bits_per_sec else 1.0
    more = across.report["total"]["cpu"] - as_much * beside.report["total"]["cpu"]
    return more * (os.cpu_count() or 1) / len(RELAYS)


def _positive(cores: float) -> float | None:
    """None if the value is below the machine's noise."""
    return cores if cores > 0 else None
