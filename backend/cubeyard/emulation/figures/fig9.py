"""One server forwards for four others, by MTU: in the kernel by eBPF, and in user space.
`[bcube §7.4, Fig. 9]`

CPU cost of the user-space engine: that of its process. The kernel forwards in the context of a
packet's arrival, so its cost is the additional CPU of the machine if data crosses the server,
compared with the same amount of data that ends there: a few hundredths of a core. Both are measured
several times in turn, and the median difference is used. [ours]
"""

from __future__ import annotations

import os
import statistics

from cubeyard.emulation.figures.lab import Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line, near

SPEC: Json = {"family": "bcube", "n": 2, "k": 3}
CENTRE = "0000"
SERVERS = [CENTRE, "0001", "0010", "0100", "1000"]
ACROSS = [("0001", "0100"), ("0100", "0001"), ("0010", "1000"), ("1000", "0010")]
BESIDE = [("0001", CENTRE), (CENTRE, "0001"), ("0010", CENTRE), (CENTRE, "0010")]
MTUS = (1500, 3000, 6000, 9000)
ROUNDS = 5
SECS = 2.0
LINK_BITS_PER_SEC = 1e9
PAPER_GBPS, PAPER_CORES = 4.0, 2
PAPER_CPU = {1500: 36.0, 9000: 7.6}
WHOLE = (
    "TCP's super-packets cross a server whole: the cost follows bytes, not packets, and hardly falls as the MTU grows"
)
BUSY = "the machine was too busy with other work for the difference to be seen: measure again on a quiet one"
OLDER = "another machine: a dual core of 2.0 GHz with four network cards there; here all five servers and both ends share the cores"


def _trial(name: str, pairs: list[tuple[str, str]], mtu: int, dataplane: str, brevity: float) -> Trial:
    emulation = {
        "slice": {"servers": SERVERS},
        "seconds": max(SECS * brevity, 1.0),
        "settle_secs": 0.7,
        "calibrate_secs": 0.0,
        "mtu": mtu,
        "dataplane": dataplane,
    }
    entries = [[source, destination, 1.0] for source, destination in pairs]
    return Trial(name, SPEC, {"kind": "matrix", "entries": entries}, LINK_BITS_PER_SEC, emulation)


def trials(brevity: float) -> list[Trial]:
    mtus = MTUS if brevity >= 1 else (MTUS[0], MTUS[-1])
    matches = []
    for mtu in mtus:
        for number in range(_rounds(brevity)):
            matches += [
                _trial(_across(mtu, number), ACROSS, mtu, "kernel", brevity),
                _trial(_beside(mtu, number), BESIDE, mtu, "kernel", brevity),
            ]
        matches.append(_trial(_user_space(mtu), ACROSS, mtu, "software", brevity))
    return matches


def _rounds(brevity: float) -> int:
    return ROUNDS if brevity >= 1 else 1


def _across(mtu: int, number: int) -> str:
    return f"eBPF {mtu}, round {number + 1}"


def _beside(mtu: int, number: int) -> str:
    return f"{_across(mtu, number)}, not relayed"


def _user_space(mtu: int) -> str:
    return f"user space {mtu}"


def measure(lab: Lab) -> Outcome:
    every = trials(lab.brevity)
    result = lab.measure(every)
    mtus = sorted({trial.emulation["mtu"] for trial in every})
    rounds = range(_rounds(lab.brevity))
    pairs = {mtu: [(result[_across(mtu, item)], result[_beside(mtu, item)]) for item in rounds] for mtu in mtus}
    user = [result[_user_space(mtu)] for mtu in mtus]
    gbps = {
        "eBPF": [statistics.median(_forwarded(across) for across, _ in pairs[mtu]) / 1e9 for mtu in mtus],
        "user space": [_forwarded(item) / 1e9 for item in user],
    }
    cpu = {"eBPF": [_kernel_cpu(pairs[mtu]) for mtu in mtus], "user space": [_process_cpu(item) for item in user]}
    rows = []
    for kind in ("eBPF", "user space"):
        for mtu, paper in PAPER_CPU.items():
            at = mtus.index(mtu)
            rows += [
                near(f"forwards at MTU {mtu}, {kind}", "Gb/s", PAPER_GBPS, gbps[kind][at], 0.1, OLDER),
                _cpu_row(f"CPU for 4 Gb/s at MTU {mtu}, {kind}", paper, cpu[kind][at]),
            ]
        least, most = cpu[kind][-1], cpu[kind][0]
        ratio = most / least if least and most else None
        reason = BUSY if ratio is None else WHOLE if kind == "eBPF" else OLDER
        rows.append(near(f"CPU at MTU 1500 over CPU at 9000, {kind}", "times", 4.7, ratio, 0.35, reason))
    return Outcome(
        rows=rows,
        series=[
            *(line(f"forwards, {kind} (Gb/s)", mtus, values) for kind, values in gbps.items()),
            *(
                line(
                    f"CPU for 4 Gb/s, {kind} (tenths of two cores)",
                    mtus,
                    [None if value is None else value / 10 for value in values],
                )
                for kind, values in cpu.items()
            ),
            line("paper: forwards (Gb/s)", list(PAPER_CPU), [PAPER_GBPS] * 2, paper=True),
            line("paper: CPU (tenths)", list(PAPER_CPU), [item / 10 for item in PAPER_CPU.values()], paper=True),
        ],
        axes=("MTU (bytes)", "forwarded (Gb/s), CPU (tenths)"),
        choices=[
            f"links of 1 Gb/s, as there; {' '.join(SERVERS)} of a BCube_3, four TCP connections across {CENTRE}",
            "CPU is told for 4 Gb/s on two cores: cores for each Gb/s forwarded, times four, over two",
            f"eBPF: what the machine takes more when the four connections cross {CENTRE} than when as much ends there; the median "
            f"of {len(rounds)} rounds",
            f"user space: the CPU of {CENTRE}'s own process while it forwards as fast as it can",
        ],
    )


def _cpu_row(name: str, paper: float, ours: float | None) -> Row:
    return near(name, "% of two cores", paper, ours, 0.5, BUSY if ours is None else OLDER)


def _forwarded(measured: Measured) -> float:
    """Rate that the middle server forwarded, in bits per second."""
    return float(
        next(server["relayed_bits_per_sec"] for server in measured.report["per_server"] if server["server"] == CENTRE)
    )


def _percent(cores: float, forwarded_bits_per_sec: float) -> float | None:
    if forwarded_bits_per_sec <= 0:
        return None
    return 100 * cores * (PAPER_GBPS * 1e9 / forwarded_bits_per_sec) / PAPER_CORES


def _kernel_cpu(pairs: list[tuple[Measured, Measured]]) -> float | None:
    """None if the difference is below the machine's noise."""
    result = statistics.median(
        _more_cores(*pair) / _forwarded(pair[0]) if _forwarded(pair[0]) else 0.0 for pair in pairs
    )
    return _percent(result * 1e9, 1e9) if result > 0 else None


def _more_cores(across: Measured, beside: Measured) -> float:
    """Additional CPU cores compared with the same goodput on the other path."""
    as_much = across.goodput_bits_per_sec / beside.goodput_bits_per_sec if beside.goodput_bits_per_sec else 1.0
    return (across.report["total"]["cpu"] - as_much * beside.report["total"]["cpu"]) * (os.cpu_count() or 1)


def _process_cpu(measured: Measured) -> float | None:
    return _percent(measured.node_cpu(CENTRE), _forwarded(measured))
