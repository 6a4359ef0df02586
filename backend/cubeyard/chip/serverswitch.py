"""ServerSwitch's API for a program in a container of its own, beside a server of a run: the paper's
calls over the server's socket.

This file needs Python 3.11 and its standard library alone, so that it can be copied into any
container:

    from serverswitch import Action, ServerSwitch

    chip = ServerSwitch.connect()
    chip.SetUDLK(1, "(B0-5)")
    chip.SetVIfTable(3, "001F29D417E8", None, 2)
    chip.SetLookupTable("TCAM", 1, 1, "000001020001", "FFFFFF000000", Action("REDIRECT_VIF", vif=3))

`cubeyard.chip.model.ModelSwitch` has the same calls without a run. The wire is described in
`emulator/crates/chip/src/api.rs`.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, Self

SOCKET = "/run/cubeyard/chip.sock"
MAX_MESSAGE_BYTES = 64 * 1024
HEAD = struct.Struct("<BI")
KEPT = 1024
"""Packets kept while waiting for a reply; if there are more, the oldest are lost."""

CALLS, READ, WRITE, SEND, LISTEN, TABLES, TRACE, TAKE = range(1, 9)
DONE, REFUSED, PACKET = 128, 129, 130

Table = Literal["TCAM", "EM_MAC", "EM_IPV4", "EM_MPLS", "LPM_IPV4"]
Act = Literal["REDIRECT_VIF", "REDIRECT_PORT", "DISCARD", "DUPLICATE", "MIRROR", "TO_CPU"]


class ChipError(Exception):
    """The chip refused a call: a stable code, and a sentence with the value, the limit and the
    fix."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Action:
    """The action of an entry on a packet."""

    act: Act
    vif: int | None = None
    port: int | None = None
    ports: Sequence[int] | None = None
    mirror: int | None = None
    dscp: int | None = None
    mpls: Literal["PUSH", "POP", "SWAP"] | None = None
    label: int | None = None
    tunnel: Literal["PUSH", "POP"] | None = None
    src: str | None = None
    dst: str | None = None
    count: str | None = None

    def __str__(self) -> str:
        fields: list[str] = [f"act={self.act}"]
        for name in ("vif", "port", "mirror", "dscp", "mpls", "label", "tunnel", "count"):
            value = getattr(self, name)
            if value is not None:
                fields.append(f"{name}={value}")
        if self.ports is not None:
            fields.append(f"ports=({', '.join(map(str, self.ports))})")
        fields += [f'{name}="{value}"' for name, value in (("src", self.src), ("dst", self.dst)) if value is not None]
        return "{" + ", ".join(fields) + "}"


class Channel(Protocol):
    """The transport of messages to and from the chip."""

    def send(self, message: bytes) -> None: ...

    def receive(self, timeout_secs: float | None) -> bytes:
        """The next message without its length. Raises TimeoutError if none arrived in time,
        ConnectionError if the connection has ended."""
        ...

    def close(self) -> None: ...


class SocketChannel:
    """Messages over a Unix socket."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._come = bytearray()

    def send(self, message: bytes) -> None:
        self._stream.settimeout(None)
        self._stream.sendall(message)

    def receive(self, timeout_secs: float | None) -> bytes:
        self._fill(4, timeout_secs)
        (length,) = struct.unpack_from("<I", self._come)
        if not HEAD.size <= length <= MAX_MESSAGE_BYTES:
            raise ConnectionError(f"the chip's answer has {length} bytes")
        self._fill(4 + length, None)
        message = bytes(self._come[4 : 4 + length])
        del self._come[: 4 + length]
        return message

    def close(self) -> None:
        self._stream.close()

    def _fill(self, count: int, timeout_secs: float | None) -> None:
        self._stream.settimeout(timeout_secs)
        while len(self._come) < count:
            try:
                read = self._stream.recv(1 << 16)
            except BlockingIOError as error:
                raise TimeoutError("nothing has come yet") from error
            if not read:
                raise ConnectionError("the server has gone")
            self._come += read


def framed(kind: int, tag: int, body: bytes) -> bytes:
    """A message preceded by its length."""
    length = HEAD.size + len(body)
    if length > MAX_MESSAGE_BYTES:
        limit = f"at most {MAX_MESSAGE_BYTES}. Send less at once."
        raise ChipError("message-length", f"The request has {length} bytes, but must have {limit}")
    return struct.pack("<I", length) + HEAD.pack(kind, tag) + body


def answered(message: bytes) -> bytes:
    """The body of a reply. Raises ChipError if the call was refused."""
    kind, _ = HEAD.unpack_from(message)
    body = message[HEAD.size :]
    if kind == REFUSED:
        code, _, sentence = body.decode(errors="replace").partition("\n")
        raise ChipError(code, sentence)
    return body


class ServerSwitch:
    """The chip of the server, with the paper's calls. Not thread-safe."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._tag = 0
        self._listens = False
        self._batch: list[str] | None = None
        self._packets: deque[tuple[bytes, int]] = deque(maxlen=KEPT)
        self.lost_packets = 0
        """Packets lost because too many were waiting."""

    @classmethod
    def connect(cls, path: str | Path = SOCKET) -> Self:
        """Connects to the server's chip. Raises OSError if there is none."""
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            stream.connect(str(path))
        except OSError:
            stream.close()
            raise
        return cls(SocketChannel(stream))

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def SetUDLK(self, i: int, udlk: str | Sequence[str]) -> None:  # noqa: N802 - the paper's name, as all of these
        """Sets a lookup key of fields such as `(INPORT, B30-33)`."""
        self._call(f"SetUDLK({i}, {udlk if isinstance(udlk, str) else '(' + ', '.join(udlk) + ')'});")

    def SetLookupTable(  # noqa: N802 - the paper's arguments in the paper's order
        self,
        type: Table,
        i: int,
        iudlk: int,
        value: str | bytes,
        mask: str | bytes | None,
        action: Action,
    ) -> None:
        """Sets an entry. Value and mask are bytes or hexadecimal digits; `iudlk` applies only to
        the TCAM."""
        self._call(f"SetLookupTable({type}, {i}, {iudlk}, {_quoted(value)}, {_quoted(mask)}, {action});")

    def ClearLookupTable(self, type: Table, i: int) -> None:  # noqa: N802
        """Clears an entry set by a call; the entry of the server's own program takes effect
        again."""
        self._call(f"ClearLookupTable({type}, {i});")

    def SetVIfTable(self, i: int, dmac: str | bytes | None, smac: str | bytes | None, oport: int) -> None:  # noqa: N802
        """Sets an entry of the interface table; None keeps a packet's MAC."""
        self._call(f"SetVIfTable({i}, {_quoted(dmac)}, {_quoted(smac)}, {oport});")

    def ClearVIfTable(self, i: int) -> None:  # noqa: N802
        """Clears an interface entry set by a call."""
        self._call(f"ClearVIfTable({i});")

    def ReadRegister(self, regname: str) -> int:  # noqa: N802
        """Reads a register, for example `OUTPUT_QUEUE_BYTES_PORT0`."""
        return int.from_bytes(self._ask(READ, regname.encode()), "little")

    def WriteRegister(self, regname: str, value: int) -> None:  # noqa: N802
        """Clears a counter, or turns a switch of the chip on or off."""
        self._ask(WRITE, value.to_bytes(8, "little") + regname.encode())

    def SendPacket(self, pkt: bytes, oport: int) -> bool:  # noqa: N802
        """Sends a packet out of an external port, or into the chip by port 4 to 7. False if the
        chip discarded it."""
        return self._ask(SEND, bytes([oport]) + pkt)[:1] == b"\0"

    def RecvPacket(self, timeout_secs: float | None = None) -> tuple[bytes, int] | None:  # noqa: N802
        """The next packet that an entry set by calls sends to the CPU, and its ingress port; None
        after the timeout. Packets are kept from the first call on: call it with a timeout of 0
        before setting the entries."""
        if not self._listens:
            self._ask(LISTEN, b"\1")
            self._listens = True
        while not self._packets:
            try:
                message = self._channel.receive(timeout_secs)
            except TimeoutError:
                return None
            if message[0] == PACKET:
                self._keep(message)
        return self._packets.popleft()

    def begin(self) -> None:
        """Starts collecting calls that set tables, until `commit`."""
        self._batch = self._batch or []

    def commit(self) -> None:
        """Applies all collected calls at once, or none of them."""
        calls, self._batch = self._batch, None
        if calls:
            self._ask(CALLS, "\n".join(calls).encode())

    def execute(self, calls: str) -> None:
        """Executes several calls given as text, all at once or none."""
        self._ask(CALLS, calls.encode())

    def tables(self, *, as_json: bool = False) -> str:
        """The content of the tables: the program as text, or rows with their hits as JSON."""
        return read_tables(self._ask, as_json=as_json)

    def trace(self, pkt: bytes, iport: int) -> str:
        """The steps that a packet would take, as JSON. Nothing is sent or counted."""
        return self._ask(TRACE, bytes([iport]) + pkt).decode()

    def _call(self, text: str) -> None:
        if self._batch is None:
            self._ask(CALLS, text.encode())
        else:
            self._batch.append(text)

    def _ask(self, kind: int, body: bytes) -> bytes:
        self._tag = (self._tag + 1) % (1 << 32)
        self._channel.send(framed(kind, self._tag, body))
        while True:
            message = self._channel.receive(None)
            if message[0] == PACKET:
                self._keep(message)
            elif HEAD.unpack_from(message)[1] == self._tag:
                return answered(message)

    def _keep(self, message: bytes) -> None:
        body = message[HEAD.size :]
        self.lost_packets = int.from_bytes(body[:8], "little")
        self._packets.append((body[9:], body[8]))


class Ask(Protocol):
    """Sends a request and returns the body of the reply."""

    def __call__(self, kind: int, body: bytes, /) -> bytes: ...


def read_tables(ask: Ask, *, as_json: bool) -> str:
    """The tables, part by part."""
    whole, total = bytearray(), 1
    while len(whole) < total:
        part = ask(TABLES, struct.pack("<IB", len(whole), as_json))
        (total,) = struct.unpack_from("<I", part)
        if len(part) == struct.calcsize("<I"):
            break
        whole += part[4:]
    return whole.decode()


def _quoted(value: str | bytes | None) -> str:
    if value is None:
        return "NULL"
    return f'"{value.hex() if isinstance(value, bytes) else value}"'
