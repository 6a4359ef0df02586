"""In-network caching on ServerSwitch's API `[serverswitch §6.1]`: a program for the CPU of a chip
between clients and servers.

The chip matches the ID of a request exactly. A hit goes to the CPU, which replies from its copy; a
miss is forwarded. Responses are forwarded too, and the chip mirrors them to the CPU, which stores a
copy and sets the entry of its ID. Requests and responses are UDP packets to and from one port,
whose payload begins with an ID of 4 bytes. Like `serverswitch.py`, this file needs only the
standard library.

Ports 0 and 1 lead to clients, 2 and 3 to servers, as in the paper; copies older than `max_age_secs`
are deleted, because no message informs a cache that content has changed. `[ours]`
"""

from __future__ import annotations

import struct
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from cubeyard.chip.serverswitch import Action, ServerSwitch

SERVICE_PORT = 9095
"""UDP port of the service."""
ACROSS = {0: 2, 1: 3, 2: 0, 3: 1}
"""The port on the other side."""
FIRST_COPY = 1000
MOST_COPIES = 1024
ETHERNET, IP, UDP = 14, 20, 8
ID_AT = ETHERNET + IP + UDP
KEY = "(INPORT, B34-37, B42-45)"
"""The lookup key: ingress port, UDP ports and ID."""
EXPIRE_SECS = 0.1
"""The interval between checks for old copies."""


def _key(
    in_port: int | None, source: int | None, destination: int | None, content: bytes | None
) -> tuple[bytes, bytes]:
    """Value and mask of an entry; None matches anything."""
    parts = [
        (1, None if in_port is None else bytes([in_port])),
        (2, None if source is None else struct.pack(">H", source)),
        (2, None if destination is None else struct.pack(">H", destination)),
        (4, content),
    ]
    value = b"".join(part or bytes(length) for length, part in parts)
    mask = b"".join(b"\0" * length if part is None else b"\xff" * length for length, part in parts)
    return value, mask


def checksum(header: bytes) -> int:
    """The checksum of an IPv4 header whose checksum field is 0."""
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def response_packet(request: bytes, payload: bytes) -> bytes:
    """The IPv4 response packet to a request, as the server would send it."""
    total = IP + UDP + len(payload)
    head = (
        b"\x45"
        + request[1:2]
        + struct.pack(">H", total)
        + request[4:8]
        + b"\x40\x11\0\0"
        + request[16:20]
        + request[12:16]
    )
    head = head[:10] + struct.pack(">H", checksum(head)) + head[12:]
    source, destination = struct.unpack_from(">HH", request, IP)
    return head + struct.pack(">HHHH", destination, source, UDP + len(payload), 0) + payload


def response_to(request: bytes, payload: bytes) -> bytes:
    """The Ethernet frame of the response to a request."""
    return request[6:12] + request[:6] + request[12:14] + response_packet(request[ETHERNET:], payload)


@dataclass
class _Copy:
    entry: int
    payload: bytes
    kept_at: float


class Copies:
    """Copies of responses by ID, each with the index of its entry; the oldest are replaced."""

    def __init__(self, max_age_secs: float, clock: Callable[[], float], clear: Callable[[int], None]) -> None:
        """`clear` removes an entry from the chip."""
        self._max_age_secs, self._clock, self._clear = max_age_secs, clock, clear
        self._copies: OrderedDict[bytes, _Copy] = OrderedDict()
        self._free = list(range(FIRST_COPY + MOST_COPIES - 1, FIRST_COPY - 1, -1))
        self._looked_at = clock()

    def get(self, content: bytes) -> bytes | None:
        """The copy, if there is one."""
        copy = self._copies.get(content)
        return None if copy is None else copy.payload

    def keep(self, content: bytes, payload: bytes) -> int | None:
        """Stores a copy. Returns the index of the entry to set for its ID; None if the ID already
        has one."""
        copy = self._copies.pop(content, None)
        if copy is None and not self._free:
            self._forget()
        entry = copy.entry if copy is not None else self._free.pop()
        # The latest is inserted at the end, so that the first is the oldest.
        self._copies[content] = _Copy(entry, payload, self._clock())
        return entry if copy is None else None

    def expire(self) -> None:
        """Deletes copies that are too old; checks only at intervals."""
        now = self._clock()
        if now - self._looked_at < EXPIRE_SECS:
            return
        self._looked_at = now
        while self._copies and next(iter(self._copies.values())).kept_at <= now - self._max_age_secs:
            self._forget()

    def forget_all(self) -> None:
        """Removes all entries."""
        while self._copies:
            self._forget()

    def _forget(self) -> None:
        _, copy = self._copies.popitem(last=False)
        self._clear(copy.entry)
        self._free.append(copy.entry)


class Cache:
    """The CPU's part. The owner calls `work` in a loop."""

    def __init__(
        self, chip: ServerSwitch, *, max_age_secs: float = 60.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Sets the chip's tables: everything is forwarded, responses are mirrored. Raises ChipError
        if the key is used for another purpose."""
        self._chip = chip
        self._copies = Copies(max_age_secs, clock, lambda entry: chip.ClearLookupTable("TCAM", entry))
        self.hits = 0
        """Requests answered from a copy."""
        self.kept = 0
        """Responses that were stored."""
        chip.begin()
        chip.SetUDLK(1, KEY)
        for port, other in ACROSS.items():
            chip.SetLookupTable("TCAM", port, 1, *_key(port, None, None, None), Action("REDIRECT_PORT", port=other))
        for port in (2, 3):
            passes = Action("REDIRECT_PORT", port=ACROSS[port], mirror=4 + port)
            chip.SetLookupTable("TCAM", 10 + port, 1, *_key(port, SERVICE_PORT, None, None), passes)
        chip.commit()

    def work(self, timeout_secs: float | None = None) -> bool:
        """Handles one packet for the CPU; False if none arrived."""
        self._copies.expire()
        result = self._chip.RecvPacket(timeout_secs)
        if result is None:
            return False
        packet, cpu_port = result
        content, port = packet[ID_AT : ID_AT + 4], cpu_port - 4
        if len(content) < 4:
            return True
        if port in {2, 3}:
            self._keep(content, packet[ID_AT:])
        elif (copy := self._copies.get(content)) is not None:
            self.hits += 1
            self._chip.SendPacket(response_to(packet, copy), port)
        else:
            # The copy was deleted while the request was on its way to the CPU.
            self._chip.SendPacket(packet, ACROSS[port])
        return True

    def _keep(self, content: bytes, payload: bytes) -> None:
        entry = self._copies.keep(content, payload)
        self.kept += 1
        if entry is not None:
            self._chip.SetLookupTable("TCAM", entry, 1, *_key(None, None, SERVICE_PORT, content), Action("TO_CPU"))
