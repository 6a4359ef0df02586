"""Packets of several sizes over one relay, forwarded by the tables of a switching chip in the
kernel and in user space; and access to the chip's registers. `[serverswitch §6.1, Fig. 9]`

Sizes are of frames without BCube's header. The relay's delay is half of the difference between the
round-trip times over the relay and between neighbours. [ours]
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import numpy as np

from cubeyard.emulation.figures.lab import Json, Lab, Measured, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line, near
from cubeyard.emulation.figures.talk import Talk, Watched

SPEC: Json = {"family": "bcube", "n": 4, "k": 1}
SOURCE, RELAY, DESTINATION = "01", "00", "10"
SIZES = (64, 256, 512, 1514)
HEADERS = 42
"""Length of a frame's Ethernet, IP and UDP headers."""
LINK_BITS_PER_SEC = 1e9
MTU = 1600
"""The largest frame with BCube's header."""
OFFERED_PER_SEC = (20_000, 40_000, 80_000, 160_000)
"""Rates offered by the source: up to about the rate that a core of this machine can carry end to
end over the chip. A source in user space that is offered far more than it can send would send
nothing."""
WATCH_SECS, LEAST_WATCH_SECS = 1.0, 0.6
ASK_SECS, LEAST_ASK_SECS = 0.6, 0.5
ROUNDS = 3
REGISTER = "OUT_BYTES_PORT1"
REGISTER_TIMES = 2000
CHIP, SOFTWARE = "chip", "user space"
DATAPLANES = {CHIP: "serverswitch", SOFTWARE: "serverswitch-software"}
PAPER_LINE_MPPS = 5.95
"""The paper's maximum: four links of 1 Gb/s, full of 64-byte frames, which take 20 more bytes each
on the wire."""
PAPER_SOFTWARE_MPPS = 1.73
PAPER_LOSSY_BYTES = 512
PAPER_SOFTWARE_CPU, PAPER_CORES = 65.6, 4
LOSSY_PERCENT = 1.0
"""Losses below this are within the error of ticks."""
PAPER_DELAY_MICROS = {64: 4.3, 1514: 15.6}
PAPER_NANOS_A_BYTE, PAPER_FIXED_MICROS = 7.7, 4.2
PAPER_REGISTER_MICROS = {"read": 6.94, "write": 4.61}
NO_WIRE = (
    "the card sends a packet on once all of it has come over a wire of 1 Gb/s, 8 ns a byte; a shaped link of this machine passes a "
    "packet at once when it is idle, and copies none of it"
)
ONE_MACHINE = "another machine: four links and four cores of 2.8 GHz for the relay alone there; here both ends and the relay share the cores"
ENDS_FIRST = (
    "the ends are the limit, not the relay: of 160,000 packets a second in user space a source sent 94,000 to its neighbour without a relay and "
    "86,000 over one, whose process took 0.46 of a core (apart, at load 20); over the chip the ends share the two cores too"
)
SOURCE_FIRST = "the source forwards in user space too here, and loses what it cannot send before the relay has to"
IN_MEMORY = "a register of the card is behind several accesses of PCI Express; here it is a counter in memory, behind a call of the kernel"


@dataclass(frozen=True)
class Load:
    """A relay under load; rates are packets per second."""

    came: float
    left: float
    cpu: float
    """CPU of the relay's process as a share of a core."""

    @property
    def loss_percent(self) -> float:
        """Percentage of the received packets that were lost."""
        return 100 * max(1 - self.left / self.came, 0.0) if self.came else 0.0


def _emulation(dataplane: str, **more: object) -> Json:
    return {
        "slice": {"servers": [RELAY, SOURCE, DESTINATION]},
        "protocol": "udp",
        "settle_secs": 0.7,
        "calibrate_secs": 0.0,
        "mtu": MTU,
        "dataplane": dataplane,
        **more,
    }


def sent(to: Talk, watched: Watched, server: str, level: int) -> int:
    """Packets that a server sent by its port of this level."""
    node = to.network.id_of[server]
    ways = zip(to.network.links, watched.packets, strict=True)
    return sum(
        packets[link.b[0] == node] for link, packets in ways if link.level == level and node in (link.a[0], link.b[0])
    )


def load_trial(kind: str, size: int, offered: int, brevity: float, loads: list[Load]) -> Trial:
    """Adds the results to `loads`."""
    secs = max(WATCH_SECS * brevity, LEAST_WATCH_SECS)

    def talk(to: Talk) -> None:
        watched = to.watch(secs)
        came, left = sent(to, watched, SOURCE, 0), sent(to, watched, RELAY, 1)
        row = list(to.network.servers.values()).index(RELAY)
        loads.append(Load(came / watched.secs, left / watched.secs, watched.cpu[row]))

    payload = size - HEADERS
    emulation = _emulation(
        DATAPLANES[kind],
        seconds=4 * secs + 5,
        datagram_bytes=payload,
        flow_bits_per_sec=float(offered * payload * 8),
    )
    workload = {"kind": "matrix", "entries": [[SOURCE, DESTINATION, 1.0]]}
    name = f"{kind}, {size} bytes, {offered} a second"
    return Trial(name, SPEC, workload, LINK_BITS_PER_SEC, emulation, expect_secs=secs, talk=talk)


def delay_trial(kind: str, size: int, number: int, over_relay: bool, brevity: float) -> Trial:
    """Measures the round-trip time of single packets that return with their original size."""
    payload, secs = size - HEADERS, max(ASK_SECS * brevity, LEAST_ASK_SECS)
    workload = {
        "kind": "requests",
        "servers": [DESTINATION if over_relay else RELAY],
        "clients": [SOURCE],
        "request_bytes": payload,
        "response_bytes": payload,
    }
    emulation = _emulation(DATAPLANES[kind], seconds=secs)
    return Trial(delay_name(kind, size, number, over_relay), SPEC, workload, LINK_BITS_PER_SEC, emulation)


def delay_name(kind: str, size: int, number: int, over_relay: bool) -> str:
    return f"delay, {kind}, {size} bytes, round {number + 1}{'' if over_relay else ', not relayed'}"


def measure(lab: Lab) -> Outcome:
    sizes = SIZES if lab.brevity >= 1 else (SIZES[0], SIZES[-1])
    rounds = range(ROUNDS if lab.brevity >= 1 else 1)
    offers = OFFERED_PER_SEC if lab.brevity >= 1 else (OFFERED_PER_SEC[0], OFFERED_PER_SEC[-1])
    loads: dict[tuple[str, int], list[Load]] = {(kind, size): [] for kind in DATAPLANES for size in sizes}
    delays: dict[tuple[str, int], list[float]] = {place: [] for place in loads}
    registers: dict[str, float] = {}
    all_of: list[Trial] = []
    for number in rounds:
        for (kind, size), of_place in loads.items():
            if number == 0:
                all_of += [load_trial(kind, size, offered, lab.brevity, of_place) for offered in offers]
            all_of += [delay_trial(kind, size, number, over, lab.brevity) for over in (True, False)]
    all_of.append(register_trial(registers))
    result = lab.measure(all_of)
    for number in rounds:
        for (kind, size), halves in delays.items():
            there, beside = (_median_micros(result[delay_name(kind, size, number, over)]) for over in (True, False))
            if there is not None and beside is not None:
                halves.append((there - beside) / 2)
    most = {place: max(of_place, key=lambda item: item.left) for place, of_place in loads.items()}
    micros = {place: statistics.median(halves) for place, halves in delays.items() if halves}
    return Outcome(
        rows=[*_load_rows(most, loads, sizes), *_delay_rows(micros, sizes), *_register_rows(registers)],
        series=[
            *(
                line(f"throughput, {kind} (10,000 packets/s)", sizes, [most[kind, size].left / 1e4 for size in sizes])
                for kind in DATAPLANES
            ),
            *(line(f"delay, {kind} (µs)", sizes, [micros.get((kind, size)) for size in sizes]) for kind in DATAPLANES),
            line("paper: delay, chip (µs)", list(PAPER_DELAY_MICROS), list(PAPER_DELAY_MICROS.values()), paper=True),
        ],
        axes=("frame (bytes)", "10,000 packets/s, µs"),
        choices=[
            f"{SOURCE} sends datagrams over {RELAY} to {DESTINATION} of a BCube_1 of 16 servers, by links of 1 Gb/s; frames are told "
            "without BCube's header of 36 bytes",
            f"{', '.join(f'{offer:,}' for offer in offers)} packets a second are offered to either, in bursts of 5 ms, and the most that "
            "the relay sent on counts; the testbed's were offered 4 links' full rate",
            "chip: tables in the kernel (serverswitch); user space: the same tables in the relay's process (serverswitch-software)",
            "a loss is what came to the relay and did not leave it; the source forwards as the relay does, and in user space falls behind first",
            f"a delay is half of what a packet's way there and back over {RELAY} takes longer than to {RELAY} alone, one packet at a time; "
            f"the median of {len(rounds)} rounds",
            "a register is read or written by the process that drives the chip, without the way there",
        ],
    )


def _median_micros(measured: Measured) -> float | None:
    """The median latency, interpolated within its bucket by the share of smaller latencies."""
    latency_distribution = measured.report["latency_distribution"]
    if not latency_distribution["share"]:
        return None
    return float(np.interp(0.5, latency_distribution["share"], latency_distribution["secs"])) * 1e6


def _load_rows(
    most: dict[tuple[str, int], Load], loads: dict[tuple[str, int], list[Load]], sizes: tuple[int, ...]
) -> list[Row]:
    least, largest = sizes[0], sizes[-1]
    chip, software = most[CHIP, least], most[SOFTWARE, least]
    lost = {place: max(item.loss_percent for item in of_place) for place, of_place in loads.items()}
    lossy = [size for size in sizes if lost[SOFTWARE, size] > LOSSY_PERCENT]
    return [
        Row(
            f"packets a second at {least} bytes, chip over user space",
            "times",
            round(PAPER_LINE_MPPS / PAPER_SOFTWARE_MPPS, 1),
            chip.left / software.left if software.left else None,
            3.0,
            30.0,
            0.1,
            ENDS_FIRST,
        ),
        Row(
            "most packets lost at any size, chip",
            "%",
            0.0,
            max(lost[CHIP, size] for size in sizes),
            0.0,
            LOSSY_PERCENT,
            0.1,
            ONE_MACHINE,
        ),
        Row(
            "largest frames of which some are lost, user space",
            "bytes",
            float(PAPER_LOSSY_BYTES),
            float(max(lossy, default=0)),
            256.0,
            1024.0,
            reason=SOURCE_FIRST,
        ),
        near(
            f"most packets a second at {least} bytes, user space",
            "Mpackets/s",
            PAPER_SOFTWARE_MPPS,
            software.left / 1e6,
            0.5,
            ONE_MACHINE,
        ),
        near(
            f"CPU of the relay at {largest} bytes, user space",
            "% of four cores",
            PAPER_SOFTWARE_CPU,
            100 * most[SOFTWARE, largest].cpu / PAPER_CORES,
            0.5,
            ONE_MACHINE,
        ),
    ]


def _delay_rows(micros: dict[tuple[str, int], float], sizes: tuple[int, ...]) -> list[Row]:
    chip = [micros.get((CHIP, size)) for size in sizes]
    slope, fixed, share = line_through(sizes, chip)
    at_least, at_most = (micros.get((CHIP, size)) for size in (sizes[0], sizes[-1]))
    over = micros.get((SOFTWARE, sizes[0])), at_least
    return [
        near(f"delay at {sizes[0]} bytes, chip", "µs", PAPER_DELAY_MICROS[64], at_least, 0.5, NO_WIRE),
        near(f"delay at {sizes[-1]} bytes, chip", "µs", PAPER_DELAY_MICROS[1514], at_most, 0.5, NO_WIRE),
        near(
            "delay by size, slope, chip",
            "ns/byte",
            PAPER_NANOS_A_BYTE,
            None if slope is None else 1e3 * slope,
            0.5,
            NO_WIRE,
        ),
        near("delay by size, at no bytes, chip", "µs", PAPER_FIXED_MICROS, fixed, 0.5, NO_WIRE),
        Row("delay by size, R² of the line, chip", "share", None, share, 0.98, 1.0, reason=NO_WIRE),
        Row(
            f"delay at {sizes[0]} bytes, user space over chip",
            "times",
            None,
            over[0] / over[1] if over[0] is not None and over[1] else None,
            2.0,
            1000.0,
            reason=ONE_MACHINE,
        ),
    ]


def line_through(sizes: tuple[int, ...], micros: list[float | None]) -> tuple[float | None, float | None, float | None]:
    """Least-squares line: slope, value at 0 and R²."""
    if any(micro is None for micro in micros):
        return None, None, None
    x, y = np.array(sizes, float), np.array(micros, float)
    slope, fixed = np.polyfit(x, y, 1)
    whole = float(((y - y.mean()) ** 2).sum())
    rest = float(((y - slope * x - fixed) ** 2).sum())
    return float(slope), float(fixed), 1 - rest / whole if whole else None


def register_trial(micros: dict[str, float]) -> Trial:
    """The trial that fills in the microseconds of reading and writing a register."""

    def talk(to: Talk) -> None:
        for what in PAPER_REGISTER_MICROS:
            micros[what] = (
                statistics.median(
                    to.register_nanos(to.network.id_of[RELAY], REGISTER, what == "write") for _ in range(REGISTER_TIMES)
                )
                / 1e3
            )

    emulation = _emulation(DATAPLANES[CHIP], seconds=60.0, flow_bits_per_sec=1e6)
    workload = {"kind": "matrix", "entries": [[SOURCE, DESTINATION, 1.0]]}
    return Trial("registers", SPEC, workload, LINK_BITS_PER_SEC, emulation, expect_secs=3.0, talk=talk)


def _register_rows(micros: dict[str, float]) -> list[Row]:
    return [
        Row(f"register, {what}", "µs", paper, micros.get(what), 0.01, paper, reason=IN_MEMORY)
        for what, paper in PAPER_REGISTER_MICROS.items()
    ]
