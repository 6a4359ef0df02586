"""Write a CamCube service in Python. Belongs to the template: nothing here needs to be changed.
Standard library only.

A service is a class derived from `Service` in a separate file. `cubeyard service test FILE` tries
it in virtual time, `cubeyard service run FILE` on real packets. It runs as a process next to each
server: this file is its main program, reads calls from a socket and answers each call with the
actions that the service requests. The form of both is described in
`emulator/crates/sandbox/src/process`.
"""

# pyright: reportPrivateUsage=false
# `_Instance` is the other half of `Server`, whose private names authors need not see.

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import struct
import sys
import traceback
import types
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

Key = tuple[int, int, int]
"""A coordinate."""
PASS, ROUTE, CONSUMED, DROP = range(4)
"""Results of `Service.packet`."""
LOCAL = 255
"""In `Packet.port`: the packet comes from this server itself."""

_CALL_CPU_SECS = 1.0
_MEMORY_BYTES = 512 << 20
_NOBODY = 65534
_PACKETS_IN_A_CALL = 64
_TRACEBACKS = 5
_DIES_WITH_PARENT = 1
_LONGEST_CALL = 1 << 18
_HEADER = struct.Struct("<BIIQBIQ")
_KEYED = struct.Struct("<BHB")


class Packet:
    """A packet of the service. `payload` and `colour` may be changed."""

    def __init__(self, key: Key, payload: bytes, colour: int = 0, port: int = LOCAL, hops: int = 0) -> None:
        self.key = key
        """The key coordinate that it is routed to."""
        self.payload = payload
        self.colour = colour
        """A number that the service chooses, 16 bits."""
        self.port = port
        """That it came by."""
        self.hops = hops
        """That it has taken."""


class Service:
    """An instance on one server. A service needs `F`; override other methods as you like."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def init(self) -> None:
        """Once, before anything else."""

    def F(self, at: Key, packet: Packet) -> Iterable[Key]:
        """The next key coordinates; the packet goes to one of them. None: it is delivered here."""
        return ()

    def classify(self, packet: Packet) -> int:
        """The queue of a packet, 0 to 15."""
        return 0

    def queue(self, number: int) -> tuple[int, int]:
        """The longest wait in a queue, in milliseconds, and its weight."""
        return 1000, 1

    def deliver(self, at: Key, packet: Packet) -> None:
        """A packet is at its end."""

    def packet(self, packet: Packet) -> int:
        """A packet arrived, at each hop: PASS, ROUTE (F chooses the server of the key), CONSUMED
        or DROP."""
        return PASS

    def message(self, message: bytes) -> None:
        """A message from people or programs outside."""

    def timer(self) -> None:
        """The time of `Server.set_timer` has come."""

    def neighbour(self, port: int, up: bool) -> None:
        """A neighbour lives or died."""


class Server:
    """The server of an instance: its data and actions. Distances are hops and ignore failures."""

    def __init__(self) -> None:
        self.here: Key = (0, 0, 0)
        self.size: Key = (1, 1, 1)
        """Servers along each axis."""
        self.name = ""
        """The service's."""
        self.max_payload = 0
        self.now_ms = 0
        self.waiting = 0
        """Packets of this service that wait here."""
        self._free = 0
        self._random = 1
        self._neighbours: list[Key | None] = [None] * 6
        self._servers: list[tuple[Key | None, bool]] | None = None
        self._asks: list[tuple[int, object]] = []

    def neighbour(self, port: int) -> Key | None:
        """The coordinate at a port 0 to 5, if its server lives."""
        return self._neighbours[port]

    def reachable(self, server: Key) -> bool:
        index = self._index(server)
        return index is not None and (self._servers is None or self._servers[index][1])

    def root_of(self, key: Key) -> Key | None:
        """The server that answers for a key."""
        index = self._index(key)
        if index is None:
            return None
        return _key(key) if self._servers is None else self._servers[index][0]

    def responsible(self, key: Key) -> bool:
        return self.root_of(key) == self.here

    def dist_axis(self, a: Key, b: Key, axis: int) -> int:
        apart = abs(a[axis] - b[axis])
        return min(apart, self.size[axis] - apart)

    def dist(self, a: Key, b: Key) -> int:
        return sum(self.dist_axis(a, b, axis) for axis in range(3))

    def neighbour_key(self, key: Key, axis: int, up: bool) -> Key:
        beside = list(key)
        beside[axis] = (key[axis] + (1 if up else -1)) % self.size[axis]
        return beside[0], beside[1], beside[2]

    def random(self) -> int:
        """64 bits, the same in each trial of a seed (SplitMix64)."""
        mask = (1 << 64) - 1
        self._random = (self._random + 0x9E3779B97F4A7C15) & mask
        mixed = self._random
        mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & mask
        mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & mask
        return mixed ^ mixed >> 31

    def route(self, payload: bytes, key: Key, colour: int = 0) -> None:
        """Hands a packet to the routing service, which calls F for this server's coordinate."""
        self._asks.append((_ROUTE, Packet(_key(key), bytes(payload), colour)))

    def transmit(self, payload: bytes, *keys: Key, colour: int = 0) -> None:
        """Sends a packet to a key, or to one of several, without calling F here."""
        packet = Packet((0, 0, 0), bytes(payload), colour)
        self._asks.append((_TRANSMIT, (packet, [_key(key) for key in keys])))

    def send(self, port: int, payload: bytes, colour: int = 0) -> bool:
        """Sends a packet one hop by a port; False if its link is not free."""
        if not (0 <= port < 8 and self._free >> port & 1):
            return False
        self._free &= ~(1 << port)
        self._asks.append((_SEND, (port, Packet((0, 0, 0), bytes(payload), colour))))
        return True

    def answer(self, text: bytes | str) -> None:
        """Answers the client outside the network, with at most 4,096 bytes."""
        self._asks.append((_ANSWER, (text.encode() if isinstance(text, str) else bytes(text))[:4096]))

    def set_timer(self, millis: int) -> None:
        """One timer; the latest call counts."""
        self._asks.append((_TIMER, struct.pack("<I", millis)))

    def count(self, counter: int, by: int = 1) -> None:
        """Adds to one of the counters 0 to 7, which the inspector shows."""
        self._asks.append((_COUNT, struct.pack("<BI", counter, by)))

    def _index(self, key: Key) -> int | None:
        x, y, z = key
        width, depth, height = self.size
        inside = 0 <= x < width and 0 <= y < depth and 0 <= z < height
        return x + width * (y + depth * z) if inside else None


_FORWARD, _TRANSMIT, _SEND, _ANSWER, _TIMER, _COUNT, _QUEUE, _DELIVERED = range(8)
_ROUTE = 255
_DONE, _DROPPED, _FAILED = range(3)


def _key(key: Key) -> Key:
    x, y, z = key
    return x, y, z


class _Instance:
    """An instance of a service, and the answers to its calls."""

    def __init__(self, make: _Maker) -> None:
        self._make = make
        self._server = Server()
        self._service: Service | None = None
        self._actions: list[bytes] = []
        self._packets = 0

    def call(
        self, kind: int, body: bytes, now_ms: int, free: int, waiting: int, random: int
    ) -> tuple[int, list[bytes]]:
        """The result of the call, and the requested actions."""
        server = self._server
        server.now_ms, server._free, server.waiting = now_ms, free, waiting
        server._random ^= random
        server._asks.clear()
        self._actions, self._packets = [], 0
        outcome = _DONE
        if kind == 0:
            self._init(body)
        elif kind == 1:
            self._network(body)
        elif self._service is None:
            raise RuntimeError("its start failed")
        elif kind == 2:
            outcome = self._packet(body)
        elif kind == 3:
            self._service.message(body)
        elif kind == 4:
            self._service.timer()
        elif kind == 5:
            self._service.neighbour(body[0], bool(body[1]))
        self._carry_out()
        return outcome, self._actions

    def _init(self, body: bytes) -> None:
        server = self._server
        server.here = (body[0], body[1], body[2])
        *server_size, server.max_payload = struct.unpack_from("<HHHI", body, 3)
        server.size = (server_size[0], server_size[1], server_size[2])
        server.name = body[13:].decode()
        self._service = self._make.service(server)
        self._service.init()
        for queue in range(16):
            millis, weight = self._service.queue(queue)
            self._act(_QUEUE, struct.pack("<BII", queue, millis, weight))

    def _network(self, body: bytes) -> None:
        def coordinate(at: int) -> Key:
            return body[at], body[at + 1], body[at + 2]

        server = self._server
        server._neighbours = [coordinate(at + 1) if body[at] else None for at in range(0, 24, 4)]
        server._servers = None
        if not body[24]:
            server._servers = [
                (coordinate(at + 1) if body[at] & 1 else None, bool(body[at] & 2)) for at in range(25, len(body), 4)
            ]

    def _packet(self, body: bytes) -> int:
        assert self._service is not None
        port, hops, flags = body[0], body[1], body[2]
        packet = Packet((body[3], body[4], body[5]), body[8:], body[6] | body[7] << 8, port, hops)
        mine, one_hop = flags & 1, flags & 2
        action = self._service.packet(packet)
        self._carry_out()
        if action == CONSUMED:
            return _DONE
        if action not in (PASS, ROUTE) or (one_hop and action == PASS):
            return _DROPPED
        if action == PASS and not mine:
            self._keyed(_FORWARD, packet, [packet.key])
        else:
            self._route(_FORWARD, packet.key if mine and not one_hop else self._server.here, packet)
        return _DONE

    def _route(self, kind: int, at: Key, packet: Packet) -> None:
        """To the keys that F returns, or to the packet's end."""
        assert self._service is not None
        self._packets += 1
        if self._packets > _PACKETS_IN_A_CALL:
            raise RuntimeError(f"more than {_PACKETS_IN_A_CALL} packets are routed in one call")
        keys = [_key(key) for key in self._service.F(at, packet) or ()]
        self._carry_out()
        if keys:
            self._keyed(kind, packet, keys)
            return
        self._service.deliver(at, packet)
        self._act(_DELIVERED, b"")
        self._carry_out()

    def _keyed(self, kind: int, packet: Packet, keys: list[Key]) -> None:
        assert self._service is not None
        head = _KEYED.pack(self._service.classify(packet), packet.colour & 0xFFFF, len(keys))
        self._act(kind, head + bytes(number for key in keys for number in key) + packet.payload)

    def _carry_out(self) -> None:
        """The actions requested so far, in order; F may request more."""
        assert self._service is not None or not self._server._asks
        asks, self._server._asks = self._server._asks, []
        for kind, request in asks:
            if kind == _ROUTE:
                self._route(_TRANSMIT, self._server.here, request)  # type: ignore[arg-type]
            elif kind == _TRANSMIT:
                packet, keys = request  # type: ignore[misc]
                self._keyed(_TRANSMIT, packet, keys)
            elif kind == _SEND:
                port, packet = request  # type: ignore[misc]
                queue = self._service.classify(packet)  # type: ignore[union-attr]
                self._act(_SEND, struct.pack("<BBH", port, queue, packet.colour & 0xFFFF) + packet.payload)
            else:
                self._act(kind, request)  # type: ignore[arg-type]

    def _act(self, kind: int, body: bytes) -> None:
        self._actions.append(struct.pack("<BI", kind, len(body)) + body)


class _Maker:
    """Makes services from a file: each has separate copies of the file's names, as in a separate
    process."""

    def __init__(self, path: str) -> None:
        self._code = Path(path).read_bytes()
        self._path = path

    def service(self, server: Server) -> Service:
        module = types.ModuleType("service")
        module.__file__ = self._path
        # Looked up by name, for example by dataclasses.
        sys.modules["service"] = module
        exec(compile(self._code, self._path, "exec"), module.__dict__)  # noqa: S102 - it is its user's own file
        matches = [
            var
            for var in vars(module).values()
            if isinstance(var, type) and issubclass(var, Service) and var.__module__ == "service"
        ]
        if len(matches) != 1:
            raise TypeError(f"{self._path} has {len(matches)} classes derived from Service; it needs one")
        if matches[0].F is Service.F:
            raise TypeError(f"{matches[0].__name__} has no F, which chooses where packets go")
        return matches[0](server)


def _confine(parent: int) -> None:
    """Ends with the process that started it, has little memory, and has no privileges even if root
    starts it."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Nodes and the fabric have priority.
    os.nice(5)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    # After the change of user, which would reset it.
    ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def _serve(connection: socket.socket, make: _Maker) -> None:
    """Answers calls until the other side disconnects. A call that takes too long ends the process,
    by the kernel."""
    instances: dict[int, _Instance] = {}
    shown = 0
    while call := connection.recv(_LONGEST_CALL):
        kind, instance, number, now_ms, free, waiting, random = _HEADER.unpack_from(call)
        if kind == 0:
            instances[instance] = _Instance(make)
        signal.setitimer(signal.ITIMER_PROF, _CALL_CPU_SECS)
        try:
            outcome, actions = instances[instance].call(kind, call[_HEADER.size :], now_ms, free, waiting, random)
        except Exception:
            # Exceptions of a service are counted as its errors.
            outcome, actions = _FAILED, []
            if shown < _TRACEBACKS:
                traceback.print_exc()
            shown += 1
        signal.setitimer(signal.ITIMER_PROF, 0)
        answer = struct.pack("<IB", number, outcome) + b"".join(actions)
        try:
            connection.send(answer)
        except OSError as error:
            if shown < _TRACEBACKS:
                print(f"an answer of {len(answer)} bytes: {error}", file=sys.stderr)
            shown += 1
            connection.send(struct.pack("<IB", number, _FAILED))


def main() -> None:
    """`cubeyard_service.py FILE DESCRIPTOR PARENT`, as the command line starts it."""
    path, descriptor, parent = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    sys.modules["cubeyard_service"] = sys.modules["__main__"]
    sys.path[0] = str(Path(path).parent)
    make = _Maker(path)
    connection = socket.socket(fileno=descriptor)
    _confine(parent)
    # The other side may disconnect.
    with suppress(ConnectionError):
        _serve(connection, make)


if __name__ == "__main__":
    main()
