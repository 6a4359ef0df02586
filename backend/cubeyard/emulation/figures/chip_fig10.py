"""A cache at a relay of a BCube: how much upstream traffic it saves and its CPU cost, by the share
of requests that it answers. Compares the chip's exact match with every packet through the CPU, and
chips in the kernel with chips in user space. `[serverswitch §6.1, Fig. 10]`

Client and server are programs on two other servers: they send and receive by the paper's calls to
the servers' chips, so that packets have the same sizes and IDs as in the testbed.
"""

from __future__ import annotations

import hashlib
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cubeyard.chip.cache import IP, SERVICE_PORT, UDP, checksum, response_packet
from cubeyard.chip.relayed_cache import (
    FROM_CPU_BIT,
    ID_AT,
    INNER_AT,
    INTO_CHIP,
    KEY_BYTES,
    RESPONSES,
    UDP_PROTOCOL,
    RelayedCache,
    behind,
    port_key,
)
from cubeyard.chip.serverswitch import Action, ServerSwitch
from cubeyard.emulation.figures.lab import Json, Lab, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line, near
from cubeyard.emulation.figures.talk import Talk, Watched
from cubeyard.kit.errors import ProblemError

SPEC: Json = {"family": "bcube", "n": 4, "k": 1}
CLIENT, RELAY, SERVER = "01", "00", "10"
LINK_BITS_PER_SEC = 100e6
MTU = 1600
HEADERS = 42
REQUEST_BYTES, RESPONSE_BYTES = 128, 1514
"""Length of frames without BCube's header."""
CLIENT_PORT = 9096
RATIOS = (0.0, 0.25, 0.5, 0.75, 1.0)
KEY, PORTS_AND_ID = "(INPORT, B30-33, B42-45)", "B70-73, B78-81"
KEPT = 16
"""Number of contents that are requested repeatedly; all others are requested once."""
PER_SEC = 50
"""Requests per second. With 150, the calls by which the cache sets entries of a chip in the kernel
took more time than the fabric gives to programs, and a third of the requests was not answered.
`[measured]`"""
SECS, LEAST_SECS = 5.0, 1.5
LEAST_ANSWERED = 98.0
"""The smallest percentage of requests that must be answered."""
QUIET_SECS = 1.0
LAST_SECS = 0.3
"""Time to wait for the last responses."""
FLOW_BITS_PER_SEC = 8000.0
"""Rate of the two flows from which the programs learn headers."""
LEARN_SECS = 20.0
SPARE_SECS = 0.7
"""How much longer than the measurement requests continue, because a tick can be late."""
POINTS = 3.0
KERNEL, USER_SPACE = "serverswitch", "serverswitch-software"
WHERE = {KERNEL: "chip in the kernel", USER_SPACE: "chip in user space"}
CHIP, ALONE = "chip and CPU", "CPU alone"
PAPER_CPU, PAPER_GBPS, PAPER_CORES = 14.0, 1.9, 4
COPIES = (
    "what takes most here is an entry of the chip for each new copy (the lines of the fabric and of the relay's process), and the more hits there "
    "are the fewer copies are new"
)
ENTRIES = (
    "an entry for each new copy takes the fabric more in the kernel than the relay's process in user space: it looks at the whole program for it. At "
    "so few requests that outweighs what the kernel's chip saves by packets"
)
LOST = "a request that is lost on a busy machine saves nothing"
SLOW_CACHE = (
    "the cache is a program in Python here, which gets each response by a socket and sets an entry for it by another message; the "
    "testbed's was part of the driver, in the kernel"
)


@dataclass(frozen=True)
class Point:
    """The measurement at one share of hits."""

    upstream_bits_per_sec: float
    of_node: float
    """CPU of the relay's node as a share of a core, like the next two values."""
    of_cache: float
    of_fabric: float
    """CPU of the fabric above its idle level."""
    answered: int
    hits: int
    asked: int
    passed_on: int
    """Requests that reached the CPU without a copy in the cache."""

    @property
    def cpu(self) -> float:
        """Sum of all three CPU shares."""
        return self.of_node + self.of_cache + self.of_fabric


class End:
    """A program that uses a server's chip."""

    def __init__(self, to: Talk, name: str) -> None:
        self.chip = ServerSwitch.connect(to.chip_socket(to.network.id_of[name]))
        self.header = b""
        """Headers of Ethernet and BCube for packets to the other end."""
        self.addresses = b""
        """Source and destination address of the packets after these headers."""

    def learn(self) -> None:
        """Learns the header of the server's own packets to the other end. Raises a 503 if no packet
        arrives."""
        value, mask = bytearray(KEY_BYTES), bytearray(KEY_BYTES)
        value[0] = mask[0] = FROM_CPU_BIT
        mask[5] = 0xFF
        self.chip.RecvPacket(0.0)
        self.chip.SetLookupTable("TCAM", RESPONSES, 2, bytes(value), bytes(mask), Action("TO_CPU"))
        until = time.monotonic() + LEARN_SECS
        while not self.header:
            result = self.chip.RecvPacket(1.0)
            if result is not None and len(result[0]) > ID_AT and result[0][INNER_AT + 9] == UDP_PROTOCOL:
                self.header, self.addresses = result[0][:INNER_AT], result[0][INNER_AT + 12 : INNER_AT + 20]
            elif time.monotonic() > until:
                raise ProblemError(503, "cannot-measure", f"No packet of the run's own came within {LEARN_SECS:g} s.")
        self.chip.ClearLookupTable("TCAM", RESPONSES)

    def take(self, source: int | None, destination: int | None) -> None:
        """Sends packets from outside with these UDP ports to this program."""
        self.chip.SetLookupTable("TCAM", RESPONSES, 2, *port_key(source, destination), Action("TO_CPU"))


def content_of(number: int) -> bytes:
    """Payload of a response: its ID, followed by bytes that depend on it."""
    identity = struct.pack(">I", number)
    return identity + hashlib.shake_256(identity).digest(RESPONSE_BYTES - HEADERS - len(identity))


def request_packet(addresses: bytes, number: int) -> bytes:
    """The IPv4 packet that requests a content."""
    payload = struct.pack(">I", number).ljust(REQUEST_BYTES - HEADERS, b"?")
    total = IP + UDP + len(payload)
    head = b"\x45\0" + struct.pack(">H", total) + bytes(4) + b"\x40\x11\0\0" + addresses
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    return head + struct.pack(">HHHH", CLIENT_PORT, SERVICE_PORT, UDP + len(payload), 0) + payload


def numbers(ratio: float, first: int, count: int) -> Iterator[int]:
    """The numbers to request: repeated contents have the given share and are evenly distributed
    among the others."""
    for at in range(count):
        again = int((at + 1) * ratio) > int(at * ratio)
        yield at % KEPT if again else first + at


@contextmanager
def working(work: Callable[[], object]) -> Iterator[threading.Thread]:
    """Repeats `work` in a thread while the context lasts. Raises the thread's exception."""
    over, errors = threading.Event(), []

    def run() -> None:
        try:
            while not over.is_set():
                work()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        over.set()
        thread.join(5.0)
        if errors:  # later errors can be consequences of the first
            raise errors[0]


def answer(server: End) -> None:
    """Answers one request at the server, if one has arrived."""
    result = server.chip.RecvPacket(0.05)
    if result is not None and len(result[0]) >= ID_AT + 4:
        request = result[0]
        (number,) = struct.unpack_from(">I", request, ID_AT)
        response = response_packet(request[INNER_AT:], content_of(number))
        server.chip.SendPacket(behind(server.header, response), INTO_CHIP)


def ask(client: End, wanted: Iterator[int]) -> tuple[int, int]:
    """Sends requests at a steady rate. Returns how many were sent, and how many were answered with
    the right content. Raises a 503 for a wrong content."""
    request = answered = 0
    began = time.monotonic()
    due = began
    number = next(wanted, None)
    while number is not None or time.monotonic() < due + LAST_SECS:
        now = time.monotonic()
        if number is not None and now >= due:
            client.chip.SendPacket(behind(client.header, request_packet(client.addresses, number)), INTO_CHIP)
            request += 1
            due = began + request / PER_SEC
            number = next(wanted, None)
            continue
        result = client.chip.RecvPacket(max(due - now, 0.001) if number is not None else LAST_SECS)
        if result is not None and len(result[0]) >= ID_AT + 4:
            payload = result[0][ID_AT:]
            if payload != content_of(int.from_bytes(payload[:4], "big")):
                raise ProblemError(503, "cannot-measure", "A response has not the content that was asked for.")
            answered += 1
    return request, answered


def cpu_secs(thread: threading.Thread) -> float:
    """CPU time of a thread so far."""
    return time.clock_gettime(time.pthread_getcpuclockid(thread.ident or 0))


def cache_program(bcube: str) -> str:
    """BCube's program with space in the second key for inner ports and IDs: the same as
    `bcube-cache.chip`."""
    return bcube.replace(KEY, f"{KEY[:-1]}, {PORTS_AND_ID})")


def _upstream_bits_per_sec(to: Talk, watched: Watched) -> float:
    """Traffic between the relay and the server in both directions."""
    node = to.network.id_of[RELAY]
    links = zip(to.network.links, watched.links, strict=True)
    there = (ways for link, ways in links if link.level == 1 and node in (link.a[0], link.b[0]))
    return sum(sum(ways) for ways in there) * 8 / watched.secs


Points = dict[tuple[str, str, float], Point]
"""Measurements by dataplane, kind and share of hits."""


@dataclass(frozen=True)
class Quiet:
    """The measurement without requests, as baseline."""

    upstream_bits_per_sec: float
    fabric_cpu: float
    """CPU of the fabric as a share of a core."""


def _quiet(to: Talk) -> Quiet:
    taken, began = to.fabric_cpu_secs(), time.monotonic()
    upstream = _upstream_bits_per_sec(to, to.watch(QUIET_SECS))
    return Quiet(upstream, (to.fabric_cpu_secs() - taken) / (time.monotonic() - began))


def trial(dataplane: str, program: str, brevity: float, points: Points) -> Trial:
    """The trial of a network: adds the measurements at each share of hits to `points`, with the
    baseline subtracted."""
    secs = max(SECS * brevity, LEAST_SECS)

    def talk(to: Talk) -> None:
        client, server = End(to, CLIENT), End(to, SERVER)
        relay = ServerSwitch.connect(to.chip_socket(to.network.id_of[RELAY]))
        with client.chip, server.chip, relay:
            client.learn()
            server.learn()
            client.take(SERVICE_PORT, None)
            server.take(None, SERVICE_PORT)
            quiet = _quiet(to)
            with working(lambda: answer(server)):
                for kind in (CHIP, ALONE):
                    cache = RelayedCache(relay, by_cpu_alone=kind == ALONE)
                    with working(lambda cache=cache: cache.work(0.05)) as thread:
                        ask(client, iter(range(KEPT)))
                        for place, ratio in enumerate(RATIOS):
                            first = 1_000_000 * (place + 1) + (500_000 if kind == ALONE else 0)
                            points[dataplane, kind, ratio] = _point(
                                to, client, cache, thread, ratio, first, secs, quiet
                            )
                    cache.close()

    workload = {"kind": "matrix", "entries": [[CLIENT, SERVER, 1.0], [SERVER, CLIENT, 1.0]]}
    expect_secs = 2 * (len(RATIOS) * (secs + 1.0) + 1.0) + QUIET_SECS + 3.0
    emulation = {
        "slice": {"servers": [RELAY, CLIENT, SERVER]},
        "protocol": "udp",
        "flow_bits_per_sec": FLOW_BITS_PER_SEC,
        "datagram_bytes": 100,
        "seconds": 3 * expect_secs + LEARN_SECS,
        "settle_secs": 1.0,
        "calibrate_secs": 0.0,
        "mtu": MTU,
        "dataplane": dataplane,
        "chip_program": program,
    }
    return Trial(f"cache-{dataplane}", SPEC, workload, LINK_BITS_PER_SEC, emulation, expect_secs=expect_secs, talk=talk)


def _point(
    to: Talk,
    client: End,
    cache: RelayedCache,
    thread: threading.Thread,
    ratio: float,
    first: int,
    secs: float,
    quiet: Quiet,
) -> Point:
    """Measures the network while a thread sends requests."""
    counted: list[tuple[int, int]] = []
    hits, passed_on = cache.counts.hits, cache.counts.passed_on
    taken, of_fabric, began = cpu_secs(thread), to.fabric_cpu_secs(), time.monotonic()
    asking = threading.Thread(
        target=lambda: counted.append(ask(client, numbers(ratio, first, int(PER_SEC * (secs + SPARE_SECS)))))
    )
    asking.start()
    watched = to.watch(secs)
    lasted = time.monotonic() - began
    taken, of_fabric = cpu_secs(thread) - taken, to.fabric_cpu_secs() - of_fabric
    asking.join()
    if not counted:
        raise ProblemError(503, "cannot-measure", "Who asks has failed.")
    row = list(to.network.servers.values()).index(RELAY)
    shares = watched.cpu[row], taken / lasted, max(of_fabric / lasted - quiet.fabric_cpu, 0.0)
    upstream = _upstream_bits_per_sec(to, watched) - quiet.upstream_bits_per_sec
    passed_on = cache.counts.passed_on - passed_on
    return Point(upstream, *shares, counted[0][1], cache.counts.hits - hits, counted[0][0], passed_on)


def measure(lab: Lab) -> Outcome:
    result: Points = {}
    program = cache_program(lab.engine.chip_bcube(SPEC))
    for dataplane in WHERE:
        lab.measure([trial(dataplane, program, lab.brevity, result)])
    kinds = [(dataplane, kind) for dataplane in WHERE for kind in (CHIP, ALONE)]
    saved = {kind: [100 * (1 - _upstream(result, *kind, ratio)) for ratio in RATIOS] for kind in kinds}
    percents = [100 * ratio for ratio in RATIOS]
    return Outcome(
        rows=[*_saved_rows(saved), *_cpu_rows(result)],
        series=[
            *(line(f"upstream traffic saved, {WHERE[item]} (%)", percents, saved[item, CHIP]) for item in WHERE),
            *(
                line(
                    f"CPU, {kind}, {WHERE[dataplane]} (% of a core)",
                    percents,
                    [100 * result[dataplane, kind, ratio].cpu for ratio in RATIOS],
                )
                for dataplane, kind in kinds
            ),
            *(
                line(f"CPU of the {part}, chip and CPU, {WHERE[dataplane]} (% of a core)", percents, parts)
                for dataplane in WHERE
                for part, parts in _parts(result, dataplane).items()
            ),
            line("paper: saved (%)", [0.0, 100.0], [0.0, 100.0], paper=True),
        ],
        axes=("requests that hit (%)", "%"),
        choices=[
            f"{CLIENT} asks {SERVER} over {RELAY} of a BCube_1: {PER_SEC} requests a second of {REQUEST_BYTES} bytes, responses of "
            f"{RESPONSE_BYTES}, as frames without BCube's header; the testbed had 83,600 on each of two links",
            f"hits are of {KEPT} contents that were asked for before, all other contents are asked for once; every response is compared "
            "with its content",
            "chip and CPU: the chip matches IDs and hits alone go to the CPU; CPU alone: every request goes there; responses go there in both, "
            "to be kept",
            "chips are in the kernel (serverswitch) or in user space (serverswitch-software), with the same program and the same cache beside "
            "them. CPU is of the relay's process, of the cache, and of the fabric, which sets the kernel's tables, less what the fabric takes "
            "without requests; what the kernel forwards is charged to whoever sent it and is not in it",
            "upstream traffic is all between the relay and who answers, less what the network carries without requests",
        ],
    )


def _parts(found: Points, dataplane: str) -> dict[str, list[float]]:
    """CPU of node, fabric and program by share of hits, in % of a core."""
    points = [found[dataplane, CHIP, ratio] for ratio in RATIOS]
    return {
        "relay's process": [100 * point.of_node for point in points],
        "cache": [100 * point.of_cache for point in points],
        "fabric": [100 * point.of_fabric for point in points],
    }


def _saved_rows(saved: dict[tuple[str, str], list[float]]) -> list[Row]:
    rows = []
    for dataplane, where in WHERE.items():
        for ratio, percent in zip(RATIOS, saved[dataplane, CHIP], strict=True):
            paper = 100 * ratio
            if ratio:
                name = f"upstream traffic saved at {paper:g} % hits, {where}"
                rows.append(Row(name, "points", paper, percent, paper - POINTS, paper + POINTS, 1.0, LOST))
    return rows


def _cpu_rows(points: Points) -> list[Row]:
    none, every = (points[KERNEL, CHIP, ratio] for ratio in (RATIOS[0], RATIOS[-1]))
    carried = PER_SEC * RESPONSE_BYTES * 8
    cpu = 100 * none.cpu / PAPER_CORES * PAPER_GBPS * 1e9 / carried
    name = "CPU without a hit for 1.9 Gb/s of responses, chip in the kernel and CPU"
    rows = [
        near(name, "% of four cores", PAPER_CPU, cpu, 0.5, SLOW_CACHE),
        Row(
            "CPU at 100 % hits over CPU without, chip in the kernel and CPU",
            "times",
            None,
            every.cpu / none.cpu,
            1.0,
            10.0,
            reason=COPIES,
        ),
    ]
    for ratio in (0.0, 0.5):
        here = points[KERNEL, CHIP, ratio].cpu
        alone, in_user_space = points[KERNEL, ALONE, ratio].cpu, points[USER_SPACE, ALONE, ratio].cpu
        name = f"CPU at {100 * ratio:g} % hits, chip in the kernel and CPU over CPU alone"
        rows += [
            Row(name, "times", None, here / alone, 0.05, 0.95, reason=SLOW_CACHE),
            Row(f"{name}, in user space", "times", None, here / in_user_space, 0.05, 0.95, reason=ENTRIES),
        ]
    rows += [
        Row(
            f"requests that are answered, the least at any share of hits, {where}",
            "%",
            None,
            min(100 * point.answered / point.asked for (item, _, _), point in points.items() if item == dataplane),
            LEAST_ANSWERED,
            100.0,
            reason=LOST,
        )
        for dataplane, where in WHERE.items()
    ]
    missed = sum(points[KERNEL, CHIP, ratio].passed_on for ratio in RATIOS)
    rows.append(
        Row("requests that miss and come to user space, chip in the kernel", "requests", None, float(missed), 0.0, 0.0)
    )
    return rows


def _upstream(points: Points, dataplane: str, kind: str, ratio: float) -> float:
    """Upstream traffic relative to that without hits."""
    upstream = points[dataplane, kind, ratio].upstream_bits_per_sec
    return upstream / points[dataplane, kind, RATIOS[0]].upstream_bits_per_sec
