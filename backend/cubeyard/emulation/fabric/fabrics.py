"""The fabrics of all hosts of a run, behind one interface."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

from cubeyard.emulation.fabric.client import ANSWER_SECS, FabricClient, FabricError, FabricSilentError, is_away
from cubeyard.emulation.fabric.hosts import Host
from cubeyard.emulation.fabric.merging import merged
from cubeyard.kit.errors import ProblemError

Json = dict[str, Any]
T = TypeVar("T")

CLOCK_TRIES = 5
SILENT = "cubeyard-fabric has sent nothing for {secs:g} s. If the machine is too busy for it, take slower links or fewer servers."
CLOCK_SECS = 10.0
"""The interval of comparing the hosts' clocks."""
MOST_TICKS_WAITING = 5
"""If more ticks than this wait to be read, they are merged: a slow reader gets current data less
often."""


def on_every(hosts: Sequence[Host], work: Callable[[int], T]) -> list[T]:
    """Runs `work(host)` for all hosts in parallel. When all have ended, raises the first failure,
    with the host's name."""
    if len(hosts) == 1:
        return [_named(hosts[0], lambda: work(0))]
    with ThreadPoolExecutor(len(hosts)) as pool:
        doing = [pool.submit(_named, host, lambda number=number: work(number)) for number, host in enumerate(hosts)]
    return [item.result() for item in doing]


def _named(host: Host, work: Callable[[], T]) -> T:
    try:
        return work()
    except ProblemError as error:
        error.detail = host.said(error.detail)
        error.args = (error.detail,)
        raise


def _client(host: Host) -> FabricClient:
    return _named(host, lambda: FabricClient(host.socket, looks=bool(host.name)))


class Fabrics:
    """A connection to each host's fabric. Not thread-safe."""

    def __init__(self, hosts: Sequence[Host]) -> None:
        self.hosts = hosts
        with ExitStack() as opened:
            self._clients = [_client(host) for host in hosts]
            for client in self._clients:
                opened.callback(client.close)
            self._opened = opened.pop_all()

    def close(self) -> None:
        self._opened.close()

    def on(self, host: int, method: str, **params: Any) -> Json:
        """Calls one host."""
        return _named(self.hosts[host], lambda: self._clients[host].call(method, **params))

    def call(self, method: str, **params: Any) -> list[Json]:
        """Makes the same call to every host, in parallel."""
        return self.each(method, lambda _: params)

    def each(self, method: str, params: Callable[[int], Json]) -> list[Json]:
        """Calls every host, each with its own parameters."""
        return on_every(self.hosts, lambda host: self._clients[host].call(method, **params(host)))

    def inject(self, run_id: str, fault: Json) -> None:
        """Injects a fault on every host, or on none: if one host refuses or fails, all hosts
        recover it."""
        try:
            self.call("inject", run=run_id, fault=fault)
        except FabricError:
            for client in self._clients:
                with suppress(FabricError):
                    client.call("recover", run=run_id, fault=fault["id"])
            raise

    def offsets_nanos(self) -> list[int]:
        """The difference of each host's monotonic clock to this process's; 0 on this machine.

        Uses the exchange with the shortest round trip: the host's clock was read at its midpoint,
        to half the round trip.
        """
        return [
            _named(host, lambda client=client: _offset(client)) if host.name else 0
            for host, client in zip(self.hosts, self._clients, strict=True)
        ]

    @contextmanager
    def stream(self, run_id: str) -> Iterator[Stream]:
        """Subscribes to the run's frames."""
        with ExitStack() as opened:
            clients = []
            for host in self.hosts:
                client = opened.enter_context(_client(host))
                _named(host, lambda client=client: client.subscribe(run_id))
                clients.append(client)
            yield Stream(self, clients)


def _offset(client: FabricClient) -> int:
    best: tuple[int, int] | None = None
    for _ in range(CLOCK_TRIES):
        request = time.monotonic_ns()
        there = int(client.call("host", ANSWER_SECS)["at_nanos"])
        answered = time.monotonic_ns()
        result = (answered - request, there - (request + answered) // 2)
        best = result if best is None else min(best, result)
    assert best is not None
    return best[1]


class Stream:
    """Merges the frames of all hosts into one frame per tick."""

    def __init__(self, fabrics: Fabrics, clients: list[FabricClient]) -> None:
        self._fabrics = fabrics
        self._clients = clients

    def frames(self, silent_secs: float, heartbeat: Callable[[], None]) -> Iterator[Json]:
        """Yields a tick when all hosts have sent their part of it. Meanwhile calls `heartbeat`,
        which can raise.

        A late host delays the tick, and its next tick covers more time; the same applies after a
        late reader. Raises FabricSilentError with a host's name if it is silent for longer than
        `silent_secs`, or for ANSWER_SECS and does not answer either.
        """
        hosts = self._fabrics.hosts
        waiting: list[list[Json]] = [[] for _ in hosts]
        numbers: list[int | None] = [None] * len(hosts)
        heard = [time.monotonic()] * len(hosts)
        looked = list(heard)
        offsets, compared = self._fabrics.offsets_nanos(), time.monotonic()
        with selectors.DefaultSelector() as selector:
            for host, client in enumerate(self._clients):
                selector.register(client, selectors.EVENT_READ, host)
            while True:
                heartbeat()
                for key, _ in selector.select(min(silent_secs, 0.5)):
                    host = key.data
                    frames = _named(hosts[host], self._clients[host].arrived)
                    if frames:
                        numbers[host] = _mark_missed(frames, numbers[host])
                        waiting[host] += frames
                        heard[host] = looked[host] = time.monotonic()
                now = time.monotonic()
                for number, host in enumerate(hosts):
                    silent = now - heard[number]
                    away = False
                    if host.name and now - looked[number] > ANSWER_SECS:
                        looked[number], away = now, is_away(host.socket)
                    if away or silent > silent_secs:
                        raise FabricSilentError(host.said(SILENT.format(secs=min(silent, silent_secs))))
                if all(waiting):
                    yield from _ticks(waiting, offsets)
                    waiting = [[] for _ in hosts]
                if now - compared > CLOCK_SECS:
                    offsets, compared = self._fabrics.offsets_nanos(), now


def _mark_missed(frames: list[Json], last: int | None) -> int:
    """Adds to each frame the number of frames lost before it. Returns the last frame's number."""
    for frame in frames:
        if last is not None and (missed := frame["tick"] - last - 1) > 0:
            frame["missed"] = missed
        last = frame["tick"]
    assert last is not None
    return last


def _ticks(waiting: list[list[Json]], offsets: list[int]) -> Iterator[Json]:
    """Merges waiting frames into ticks. With one host every frame is a tick, unless too many wait;
    with several hosts, the frames that arrived together become one tick."""
    if len(waiting) == 1 and len(waiting[0]) <= MOST_TICKS_WAITING:
        yield from (merged([[frame]], offsets) for frame in waiting[0])
    else:
        yield merged(waiting, offsets)
