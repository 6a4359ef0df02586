"""Reads the blocks of a pcapng file as they arrive. `[draft-ietf-opsawg-pcapng]`"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

ENHANCED_PACKET = 6
OUTBOUND = 2
LEAST_BYTES = 12
"""The size of an empty block: its type, and its length twice."""
FLAGS = 2


@dataclass(frozen=True)
class Packet:
    """A packet in the file."""

    at_nanos: int
    """Time in nanoseconds since 1970."""
    size_bytes: int
    """Size of the packet on the link."""
    kept: bytes
    """The captured bytes, starting with the Ethernet header."""
    outgoing: bool
    """Whether the interface sent it."""


class Blocks:
    """Splits bytes into blocks; an incomplete block waits for more bytes."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yields the blocks that are complete now. Raises ValueError if the bytes are no blocks."""
        self._held += data
        while len(self._held) >= LEAST_BYTES:
            (size,) = struct.unpack_from("<I", self._held, 4)
            if size < LEAST_BYTES or size % 4:
                raise ValueError(f"a block of {size} bytes: at least {LEAST_BYTES}, and a multiple of 4")
            if len(self._held) < size:
                return
            block = bytes(self._held[:size])
            del self._held[:size]
            yield block


def packet_of(block: bytes) -> Packet | None:
    """The packet of a block; None if it is a block of another kind."""
    (kind,) = struct.unpack_from("<I", block)
    if kind != ENHANCED_PACKET:
        return None
    high, low, kept, size = struct.unpack_from("<4I", block, 12)
    start = 28
    options = start + (kept + 3) // 4 * 4
    return Packet((high << 32) | low, size, block[start : start + kept], _flags(block, options) & 3 == OUTBOUND)


def _flags(block: bytes, at: int) -> int:
    """The value of the option with the direction; 0 without it."""
    while at + 4 <= len(block) - 4:
        kind, size = struct.unpack_from("<2H", block, at)
        if kind == 0:
            break
        if kind == FLAGS and size == 4:
            return struct.unpack_from("<I", block, at + 4)[0]
        at += 4 + (size + 3) // 4 * 4
    return 0
