"""Communicates with the servers of a trial during its measurement: messages to services, their
responses, and counters of links and servers.

A talk runs in a separate thread; the session ends with it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cubeyard.emulation.fabric.client import FabricClient, FabricError, FabricGoneError, Remote
from cubeyard.emulation.measure.events import kebab
from cubeyard.emulation.network.network import Network
from cubeyard.kit.errors import ProblemError

Json = dict[str, Any]

ANSWER_SECS = 20.0
"""Time limit for an expected answer: more than any service needs, even on a busy machine."""
SILENCE_SECS = 5.0
"""A fabric that sends no frame for this long is gone."""
WAIT_SECS = 0.03
"""A frame that arrives sooner was already waiting, since there are ten per second."""
END_SECS = 10.0


@dataclass(frozen=True)
class Answer:
    """A response of a server's service."""

    server: int
    text: str


@dataclass
class Watched:
    """The fabric's counters over some time."""

    secs: float
    links: list[tuple[int, int]]
    """[link] Bytes from its end a to b, and back."""
    packets: list[tuple[int, int]]
    cpu: list[float]
    """[server] Mean CPU share of a core of the server's process."""


class Talk:
    """Calls and frames of one run. All methods raise FabricError or FabricGoneError if the run ends
    meanwhile."""

    def __init__(self, place: Path | Remote, run_id: str, network: Network) -> None:
        self.network = network
        self.run_id = run_id
        self._place = place
        self._calls = FabricClient(place)
        self._stream = FabricClient(place)
        self._stream.subscribe(run_id)
        self._frames = self._stream.frames(SILENCE_SECS)
        self._neighbour: dict[tuple[int, int], int] = {}
        for link in network.links:
            self._neighbour[link.a] = link.b[0]
            self._neighbour[link.b] = link.a[0]

    def close(self) -> None:
        self._calls.close()
        self._stream.close()

    def tell(self, server: int, service: str, message: str) -> None:
        self._calls.call("tell", run=self.run_id, server=server, service=service, message=message)

    def answers(self, service: str, wanted: int, secs: float = ANSWER_SECS) -> list[Answer]:
        """The next `wanted` responses of a service. Raises a 503 with the received responses if
        they do not arrive in time."""
        matches: list[Answer] = []
        until = time.monotonic() + secs
        while len(matches) < wanted:
            if time.monotonic() > until:
                message = "; ".join(answer.text for answer in matches[:3]) or "nothing"
                detail = f"Of {wanted} answers of {service} {len(matches)} came within {secs:g} s: {message}."
                raise ProblemError(503, "cannot-measure", detail)
            matches += [answer for name, answer in _said(self._frame()) if name == service]
        return matches

    def answers_of(self, wanted: dict[str, int], secs: float = ANSWER_SECS) -> None:
        """Waits until each service has sent the given number of responses. Raises a 503 that names
        the missing ones."""
        left = dict(wanted)
        until = time.monotonic() + secs
        while any(count > 0 for count in left.values()):
            if time.monotonic() > until:
                missing = ", ".join(f"{count} of {service}" for service, count in left.items() if count > 0)
                raise ProblemError(503, "cannot-measure", f"Answers did not come within {secs:g} s: {missing}.")
            for service, _ in _said(self._frame()):
                if service in left:
                    left[service] -= 1

    @property
    def hops(self) -> list[tuple[int, int]]:
        """All links in both directions, as pairs of nodes."""
        links = [(link.a[0], link.b[0]) for link in self.network.links]
        return links + [(other, item) for item, other in links]

    def ask(self, server: int, service: str, message: str) -> str:
        """Sends a message and returns its answer. Raises a 503 if the answer is an error."""
        self.tell(server, service, message)
        (answer,) = self.answers(service, 1)
        if answer.text.startswith("error"):
            raise ProblemError(503, "cannot-measure", f"{service} refuses {message!r}: {answer.text}")
        return answer.text

    def watch(self, secs: float) -> Watched:
        """The counters of the next `secs` seconds."""
        self._catch_up()
        began = self._frame()["at_secs"]
        links = [[0, 0] for _ in self.network.links]
        packets = [[0, 0] for _ in self.network.links]
        cpu: list[list[float]] = []
        at_secs = began
        while at_secs - began < secs:
            frame = self._frame()
            at_secs = frame["at_secs"]
            columns = frame.get("links") or {}
            forth, back = (columns.get(name) or [] for name in ("tx", "rx"))
            for link, ways in enumerate(zip(forth, back, strict=True)):
                for way, count in enumerate(ways):
                    links[link][way] += int(count or 0)
            both = columns.get("packets") or []
            for place, count in enumerate(both):
                packets[place % len(links)][place // len(links)] += int(count or 0)
            cpu.append([float(item or 0.0) for item in (frame.get("servers") or {}).get("cpu") or []])
        longest = max((len(item) for item in cpu), default=0)
        means = [sum(item[row] for item in cpu if row < len(item)) / len(cpu) for row in range(longest)]
        pairs = [(forth, back) for forth, back in links], [(forth, back) for forth, back in packets]
        return Watched(at_secs - began, *pairs, means)

    def rows(self, server: int, section: str) -> list[list[Any]]:
        """The rows of a section of a server's state."""
        sections = self._calls.call("inspect", run=self.run_id, server=server)["sections"]
        return next(item["rows"] for item in sections if item["name"] == section)

    def register_nanos(self, server: int, register: str, clears: bool) -> float:
        """How long the fabric took to read a register of a server's chip in the kernel, or to clear
        it."""
        value = {"value": 0} if clears else {}
        return float(self._calls.call("registers", run=self.run_id, server=server, register=register, **value)["nanos"])

    def fabric_cpu_secs(self) -> float:
        """The CPU time of the fabric's process so far, over all its threads. Raises a 503 for a
        fabric on another machine."""
        if isinstance(self._place, Remote):
            raise ProblemError(503, "cannot-measure", "The fabric is on another machine: measure on its own.")
        # The name in parentheses can contain anything. After it, the two times are the twelfth and
        # thirteenth word.
        user, system = Path(f"/proc/{self._calls.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def chip_socket(self, server: int) -> Path:
        """The path at which programs find the chip of a server."""
        runs = self._calls.call("runs")["runs"]
        mounts = [
            item["mount"]
            for run in runs
            if run["run"] == self.run_id
            for item in run["servers"]
            if item["id"] == server
        ]
        if not mounts:
            raise FabricGoneError("The run has no network now.")
        return Path(mounts[0]) / "chip.sock"

    def hops_sent(self, services: Iterable[str]) -> dict[str, dict[tuple[int, int], int]]:
        """Packets that each server has sent to each neighbour since the start of the run, by
        service."""
        result: dict[str, dict[tuple[int, int], int]] = {service: {} for service in services}
        for server in self.network.servers:
            for service, port, _, packets, _ in self.rows(server, "service-links"):
                if service in result:
                    hop = (server, self._neighbour[server, port])
                    result[service][hop] = result[service].get(hop, 0) + packets
        return result

    def counter(self, server: int, service: str, name: str) -> int:
        """A counter of a server's service; 0 if it has never counted."""
        rows = self.rows(server, "services")
        return next((row[3] for row in rows if (row[0], row[2]) == (service, name)), 0)

    def _catch_up(self) -> None:
        """Skips the frames that arrived while nobody read them, so that the next frame is a new
        one."""
        waited = 0.0
        while waited < WAIT_SECS:
            request = time.monotonic()
            self._frame()
            waited = time.monotonic() - request

    def _frame(self) -> Json:
        frame = next(self._frames, None)
        if frame is None:
            raise FabricGoneError(f"cubeyard-fabric sent no frame for {SILENCE_SECS:g} s.")
        return frame


def _said(frame: Json) -> Iterable[tuple[str, Answer]]:
    for event in frame.get("events") or []:
        if kebab(event.get("kind")) == "reported" and event.get("what") == "service-answer":
            cells = {cell["name"]: cell["value"] for cell in event["cells"]}
            yield str(cells["service"]), Answer(event["server"], str(cells["answer"]))


class Talking:
    """A talk that runs in a thread."""

    def __init__(self, talk: Callable[[Talk], None], begin: Callable[[], Talk]) -> None:
        self._talk = talk
        self._begin = begin
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._done = threading.Event()

    def begin(self) -> None:
        self._thread = threading.Thread(target=self._run, name="talk", daemon=True)
        self._thread.start()

    def over(self) -> bool:
        """Whether the talk has ended. Raises the talk's exception."""
        if self._error is not None:
            raise self._error
        return self._done.is_set()

    def end(self) -> None:
        """Waits for the thread, whose calls fail once the run is gone. Raises the talk's exception,
        unless it is only that failure."""
        if self._thread is not None:
            self._thread.join(END_SECS)
        if self._error is not None and not isinstance(self._error, FabricError | FabricGoneError):
            raise self._error

    def _run(self) -> None:
        try:
            talk = self._begin()
            try:
                self._talk(talk)
            finally:
                talk.close()
        except Exception as error:
            self._error = error
        else:
            self._done.set()


def newer(after: dict[tuple[int, int], int], before: dict[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """The increase of packets by hop between two readings, without hops that have none."""
    return {hop: count - before.get(hop, 0) for hop, count in after.items() if count > before.get(hop, 0)}
