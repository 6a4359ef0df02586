"""A minimal fabric for tests of the session alone: it speaks the protocol over a real socket, and
sends frames as the test instructs."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

from cubeyard.engine import binding_build

Json = dict[str, Any]
TICK_SECS = 0.02


class Scripted:
    """Flows carry `rate(now_secs, faults)` of their ideal. Calls are recorded; `fails` names calls
    that are refused."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Json]] = []
        self.rate: Callable[[float, dict[str, Json]], float] = lambda _now, faults: 0.4 if faults else 1.0
        self.fails: set[str] = set()
        self.delays: dict[str, float] = {}
        """Duration of calls, by name."""
        self.dies_at_secs: float | None = None
        self.silent_from: int | None = None
        """From this frame on, no frames are sent."""
        self.lost: set[int] = set()
        """Numbers of frames that are counted but not sent."""
        self.told = 0
        """The number of the latest frame."""
        self.ahead_nanos = 0
        """How far the fabric's clock is ahead of ours."""
        self.build = binding_build()
        self.runs: list[Json] = []
        self.probed: Json = {}
        self.inspected: Json = {}
        self.captured: Json = {"pcapng": "", "interface": "p0", "packets": 0, "missed": 0, "end": "secs"}
        self.parts: list[bytes] = []
        """Messages before the final response to a capture in parts."""
        self.programs: Json = {"program": None, "servers": 0, "micros": 0}
        """The response to the call `program`."""
        self.chip: Callable[[bytes], bytes] = lambda _request: b""
        """Response of a server's chip. Request and response have no length prefix."""
        self.registers: Json = {"registers": {}, "nanos": 500}
        """Response to the call `registers`: the same registers by name for every server's chip."""
        self.deaf: set[int] = set()
        """Servers that no message reaches."""
        self.on_tell: Callable[[Json], None] = lambda _params: None
        """Called for each message to a service."""
        self.network: Json = {}
        self.flows: list[Json] = []
        self.faults: dict[str, Json] = {}
        self.started = self.framed = 0.0
        """When flows began; and how long after that the latest frame was sent."""
        self.even = False
        """Whether each frame carries the bytes of exactly one tick, even if it is late."""
        self.changed = threading.Condition()

    def answer(self, method: str, params: Json) -> Json:
        self.calls.append((method, params))
        time.sleep(self.delays.get(method, 0.0))
        if method in self.fails:
            raise ValueError(f"{method} is not possible now")
        self._write(params)
        if method == "prepare":
            self.network = params["network"]
            return {
                "servers": [
                    {"id": server["id"], "mount": f"/run/x/{server['id']}"} for server in self.network["servers"]
                ]
            }
        if method == "workload":
            self.flows = params["flows"]
        if method == "start":
            self.started, self.framed = time.monotonic(), 0.0
        if method == "tell":
            self.tell(params)
        if method == "inject":
            self.faults[params["fault"]["id"]] = params["fault"]
        if method == "recover" and self.faults.pop(params["fault"], None) is None:
            raise ValueError(f"there is no fault {params['fault']}")
        scripted = {
            "probe": {"version": self.build, **self.probed}, "inspect": self.inspected, "capture": self.captured, "program": self.programs,
            "registers": self.registers,
        } | self._chip(params)  # fmt: skip
        if method in scripted:
            return scripted[method]
        if method == "host":
            now = time.monotonic_ns() + self.ahead_nanos
            return {"version": self.build, "at_nanos": now, "cores": 2, "memory_free_bytes": 2**40}
        return {"runs": self.runs, "at_nanos": time.monotonic_ns()}

    def _chip(self, params: Json) -> Json:
        if "request" not in params:
            return {}
        return {"chip": {"server": params["server"], "answer": self.chip(bytes.fromhex(params["request"])).hex()}}

    def _write(self, params: Json) -> None:
        """Applies the values that a call writes into registers."""
        if "value" in params:
            self.registers["registers"][params["register"]] = params["value"]

    def parts_of(self, method: str, params: Json) -> list[bytes]:
        """The messages before the response."""
        return self.parts if params.get("parts") and method not in self.fails else []

    def tell(self, params: Json) -> None:
        if params["server"] in self.deaf:
            raise ValueError(f"the node of server {params['server']} does not answer")
        self.on_tell(params)

    def frame(self, number: int) -> Json:
        now = time.monotonic() - self.started
        # In proportion to the elapsed time, however late this machine is.
        secs = TICK_SECS if self.even else max(now - self.framed, 0.0)
        each = 1e8 / 8 * secs * self.rate(now, self.faults)
        self.framed = now
        links, servers = len(self.network["links"]), len(self.network["servers"])
        return {
            "tick": number,
            "at_secs": now,
            "links": {
                "tx": [int(each)] * links,
                "rx": [int(each)] * links,
                "packets": [8] * 2 * links,
                "drops": [0] * links,
                "queue": [0] * links,
            },
            "servers": {"relayed": [0] * servers, "own": [int(each)] * servers, "cpu": [0.01] * servers},
            "flows": {
                "bytes": [int(each)] * len(self.flows),
                "retransmits": [0] * len(self.flows),
            },
            "drops": {},
            "host": {"cpu": 0.25},
            "events": [],
        }

    def frames(self) -> Iterator[Json]:
        """The frames of a subscriber, tick by tick, until the fabric dies."""
        for number in count(1):
            time.sleep(TICK_SECS)
            frame = self.frame(number)
            if self.dies_at_secs is not None and frame["at_secs"] > self.dies_at_secs:
                return
            if self.silent_from is None or number < self.silent_from:
                self.told = number
                if number not in self.lost:
                    yield frame


@contextmanager
def scripted(socket: Path) -> Iterator[Scripted]:
    script = Scripted()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(BrokenPipeError):  # the caller gave up
                for line in self.rfile:
                    request = json.loads(line)
                    try:
                        for part in script.parts_of(request["method"], request["params"]):
                            self._say({"part": part.hex()})
                        self._say({"id": request["id"], "result": script.answer(request["method"], request["params"])})
                    except ValueError as error:
                        self._say(
                            {"id": request["id"], "error": {"code": "refused", "message": str(error), "fix": "Wait."}}
                        )
                    if request["method"] == "subscribe":
                        self._stream(request["params"]["run"])
                        return

        def _say(self, message: Json) -> None:
            self.wfile.write(json.dumps(message).encode() + b"\n")

        def _stream(self, run: str) -> None:
            for frame in script.frames():
                try:
                    self._say({"stream": run, "frame": frame})
                except OSError:
                    return

    class Server(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True

    socket.parent.mkdir(parents=True, exist_ok=True)
    with Server(str(socket), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield script
        finally:
            server.shutdown()
