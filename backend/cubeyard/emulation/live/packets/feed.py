"""A capture in parts, from the fabric of the link's host: bytes of a pcapng file as soon as packets
have arrived."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import orjson

from cubeyard.emulation.fabric.client import FabricError, FabricGoneError, open_streams
from cubeyard.emulation.live.captures import Target
from cubeyard.emulation.live.packets.schemas import StreamRequest

Json = dict[str, Any]

LINE_BYTES = 2 * 2**20
"""Longest line of the fabric: a part of 64 KiB plus one packet, with two digits per byte."""


@dataclass(frozen=True)
class Ended:
    """Why a capture ended, and its counters."""

    end: str
    """Reason: `bytes`, `secs`, `interface-down` or `caller-gone`."""
    packets: int
    missed: int
    """Packets lost because they arrived faster than they were read."""


async def feed(target: Target, run_id: str, asked: StreamRequest) -> AsyncGenerator[bytes | Ended]:
    """Yields the file in parts of whole blocks, starting with its header; then how the capture
    ended. Closing the generator ends the capture.

    Raises FabricError, FabricGoneError.
    """
    reader, writer = await open_streams(target.host.socket, LINE_BYTES)
    try:
        params = {"run": run_id, "target": target.for_fabric, "limits": asked.for_fabric(), "parts": True}
        writer.write(orjson.dumps({"id": 1, "method": "capture", "params": params}) + b"\n")
        await writer.drain()
        while True:
            message = await _line(reader)
            if "part" in message:
                yield bytes.fromhex(message["part"])
                continue
            if message.get("error") is not None:
                raise FabricError(message["error"])
            result = message["result"]
            yield bytes.fromhex(result["pcapng"])
            yield Ended(result["end"], result["packets"], result["missed"])
            return
    except OSError as error:
        raise FabricGoneError(f"The connection to cubeyard-fabric broke: {error}.") from error
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def _line(reader: asyncio.StreamReader) -> Json:
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise FabricGoneError("cubeyard-fabric went away.")
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise FabricGoneError(f"cubeyard-fabric said something that is not JSON: {error}.") from error
