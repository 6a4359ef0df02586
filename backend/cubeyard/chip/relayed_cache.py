"""In-network caching at a relay of a running BCube `[serverswitch §6.1, §5.1]`: requests and
responses are UDP packets of applications, each after BCube's header, and the relay's chip matches
the ID of a request exactly.

The server runs `bcube-cache.chip`, whose second key holds the inner UDP ports and the ID. A hit
goes to the CPU, which replies; a miss is forwarded by BCube's entries. Responses pass through the
CPU, which stores a copy and returns them to the chip, so that BCube's entries forward them over
live neighbours; the paper's card mirrors them instead. The reply to a hit uses the header of the
last response to the same client, because only the source chooses a source route. `[ours]`
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cubeyard.chip.cache import ETHERNET, FIRST_COPY, IP, SERVICE_PORT, UDP, Copies, checksum, response_packet
from cubeyard.chip.serverswitch import Action, ServerSwitch

HEADER = 36
"""Bytes of BCube's header and the path's number after it."""
INNER_AT = ETHERNET + HEADER
ID_AT = INNER_AT + IP + UDP
PROTOCOL, IP_IN_IP_DATA = 253, 0
UDP_PROTOCOL = 17
PLAIN_IP = 0x45
INTO_CHIP = 4
"""The CPU's port: packets from it match no entry of this program."""
KEY_BYTES = 17
FROM_CPU_BIT = 0x04
"""A bit of the ingress port: ports 0 to 3 are outside, 4 to 7 lead to the CPU."""
RESPONSES = FIRST_COPY - 1
"""The entry that sends responses to the CPU."""
REQUESTS = FIRST_COPY - 2
"""The entry that sends all requests to the CPU."""
MOST_CLIENTS = 1024
"""Most clients whose headers are stored."""


def _key(source: int | None, destination: int | None, content: bytes | None) -> tuple[bytes, bytes]:
    """Value and mask of `(INPORT, B30-33, B42-45, B70-73, B78-81)` for data from outside; None
    matches anything."""
    value, mask = bytearray(KEY_BYTES), bytearray(KEY_BYTES)
    mask[0] = FROM_CPU_BIT
    value[5], mask[5] = IP_IN_IP_DATA, 0xFF
    for at, part in ((9, source), (11, destination)):
        if part is not None:
            value[at : at + 2], mask[at : at + 2] = struct.pack(">H", part), b"\xff\xff"
    if content is not None:
        value[13:17], mask[13:17] = content, b"\xff" * 4
    return bytes(value), bytes(mask)


def port_key(source: int | None, destination: int | None) -> tuple[bytes, bytes]:
    """Value and mask of the same key for UDP packets from outside, by source and destination port;
    None matches anything."""
    return _key(source, destination, None)


@dataclass
class Counts:
    """Counters of the cache."""

    hits: int = 0
    """Requests answered from a copy."""
    missed: int = 0
    """Responses that passed, each to a forwarded request."""
    kept: int = 0
    """The number of these responses that were stored."""
    passed_on: int = 0
    """Packets at the CPU that were not for it and were forwarded."""
    saved_request_bytes: int = 0
    """Bytes of request frames that did not continue to the server."""
    saved_response_bytes: int = 0
    """Bytes of response frames that did not have to come from the server."""


@dataclass
class RelayedCache:
    """The CPU's part. The owner calls `work` in a loop, and `close` at the end."""

    chip: ServerSwitch
    max_age_secs: float = 60.0
    clock: Callable[[], float] = time.monotonic
    service_port: int = SERVICE_PORT
    by_cpu_alone: bool = False
    """Every request goes to the CPU, even without a copy: a baseline for the chip's match."""
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        """Sets the entry for responses. Raises ChipError if the server's program does not have this
        key."""
        self._headers: dict[bytes, bytes] = {}
        self._copies = Copies(self.max_age_secs, self.clock, self._clear)
        self.chip.RecvPacket(0.0)
        self.chip.SetLookupTable("TCAM", RESPONSES, 2, *port_key(self.service_port, None), Action("TO_CPU"))
        if self.by_cpu_alone:
            self.chip.SetLookupTable("TCAM", REQUESTS, 2, *port_key(None, self.service_port), Action("TO_CPU"))

    def work(self, timeout_secs: float | None = None) -> bool:
        """Handles one packet for the CPU; False if none arrived."""
        self._copies.expire()
        result = self.chip.RecvPacket(timeout_secs)
        if result is None:
            return False
        frame = result[0]
        if not self._is_ours(frame):
            self.counts.passed_on += 1
            self.chip.SendPacket(frame, INTO_CHIP)
            return True
        source, _ = struct.unpack_from(">HH", frame, INNER_AT + IP)
        content = frame[ID_AT : ID_AT + 4]
        if source == self.service_port:
            self.chip.SendPacket(frame, INTO_CHIP)
            self._keep(frame, content)
        elif not self._answer(frame, content):
            self.counts.passed_on += 1
            self.chip.SendPacket(frame, INTO_CHIP)
        return True

    def close(self) -> None:
        """Removes all entries, so that packets are forwarded as before."""
        self._copies.forget_all()
        self._clear(RESPONSES)
        if self.by_cpu_alone:
            self._clear(REQUESTS)

    def _is_ours(self, frame: bytes) -> bool:
        """Whether this is an unfragmented UDP packet without options that has an ID, after BCube's
        header."""
        inner = frame[INNER_AT : INNER_AT + IP]
        is_plain = len(frame) >= ID_AT + 4 and frame[ETHERNET + 9] == PROTOCOL and inner[0] == PLAIN_IP
        return is_plain and inner[9] == UDP_PROTOCOL and int.from_bytes(inner[6:8], "big") & 0x3FFF == 0

    def _keep(self, frame: bytes, content: bytes) -> None:
        self.counts.missed += 1
        client = frame[INNER_AT + 16 : INNER_AT + 20]
        self._headers.pop(client, None)
        if len(self._headers) >= MOST_CLIENTS:
            del self._headers[next(iter(self._headers))]
        self._headers[client] = frame[:INNER_AT]
        inner_bytes = int.from_bytes(frame[INNER_AT + 2 : INNER_AT + 4], "big")
        entry = self._copies.keep(content, frame[ID_AT : INNER_AT + inner_bytes])
        self.counts.kept += 1
        if entry is not None:
            key = _key(None, self.service_port, content)
            self.chip.SetLookupTable("TCAM", entry, 2, *key, Action("TO_CPU"))

    def _answer(self, frame: bytes, content: bytes) -> bool:
        """Replies to a request; returns whether there was a copy and a header for this client."""
        payload, header = self._copies.get(content), self._headers.get(frame[INNER_AT + 12 : INNER_AT + 16])
        if payload is None or header is None:
            return False
        answer = behind(header, response_packet(frame[INNER_AT:], payload))
        self.counts.hits += 1
        self.counts.saved_request_bytes += len(frame)
        self.counts.saved_response_bytes += len(answer)
        self.chip.SendPacket(answer, INTO_CHIP)
        return True

    def _clear(self, entry: int) -> None:
        self.chip.ClearLookupTable("TCAM", entry)


def behind(header: bytes, packet: bytes) -> bytes:
    """A frame of the Ethernet and BCube headers of another packet, followed by this packet."""
    outer = bytearray(header[ETHERNET : ETHERNET + IP])
    outer[2:4] = struct.pack(">H", HEADER + len(packet))
    outer[10:12] = bytes(2)
    outer[10:12] = struct.pack(">H", checksum(bytes(outer)))
    return header[:ETHERNET] + bytes(outer) + header[ETHERNET + IP :] + packet
