"""Calls of one server's chip through the fabric of its host."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import orjson
from anyio.to_thread import run_sync
from pydantic import ValidationError

from cubeyard.chip import serverswitch
from cubeyard.chip.schemas import ChipTrace
from cubeyard.chip.serverswitch import Action, ChipError
from cubeyard.emulation.fabric.client import FabricClient, FabricError, FabricGoneError
from cubeyard.emulation.fabric.hosts import Host, Hosts
from cubeyard.emulation.live.chips import registers, schemas
from cubeyard.emulation.live.elsewhere import LiveClient
from cubeyard.emulation.live.inspection import server_of
from cubeyard.emulation.network.network import Network
from cubeyard.kit.errors import FieldError, ProblemError
from cubeyard.kit.sse import KEEPALIVE, event

ANSWER_SECS = 3.0
POLL_SECS = 0.2
POLLS_PER_KEEPALIVE = 50


@dataclass(frozen=True)
class ServerChip:
    """The chip of one server of a live run. Every call raises a 404 if the server is not in the
    run, a 409 if it does not respond or has no chip, a 422 if the chip refuses the call, and a 503
    without a fabric."""

    hosts: Hosts
    network: Network
    run_id: str
    name: str
    in_user_space: bool

    def state(self) -> schemas.ChipState:
        with self._readable():
            rows = orjson.loads(serverswitch.read_tables(self._ask, as_json=True))
            return schemas.ChipState.model_validate({"run_id": self.run_id, "server": self.name, **rows})

    def text(self) -> schemas.ChipText:
        with self._readable():
            return schemas.ChipText(program=serverswitch.read_tables(self._ask, as_json=False))

    def execute(self, calls: str) -> None:
        self._ask(serverswitch.CALLS, calls.encode())

    def set_entry(self, table: schemas.TableName, i: int, change: schemas.ChipEntryChange) -> schemas.ChipEntry:
        value, mask = _quoted(change.value), _quoted(change.mask)
        action = Action(**change.action.model_dump(exclude_none=True))
        self.execute(f"SetLookupTable({table}, {i}, {change.iudlk}, {value}, {mask}, {action});")
        return next(entry for entry in self.state().entries if (entry.table, entry.i) == (table, i))

    def clear_entry(self, table: schemas.TableName, i: int) -> None:
        self.execute(f"ClearLookupTable({table}, {i});")

    def set_vif(self, i: int, change: schemas.ChipVifChange) -> schemas.ChipVif:
        self.execute(f"SetVIfTable({i}, {_quoted(change.dmac)}, {_quoted(change.smac)}, {change.oport});")
        return next(vif for vif in self.state().vifs if vif.i == i)

    def clear_vif(self, i: int) -> None:
        self.execute(f"ClearVIfTable({i});")

    def registers(self) -> schemas.ChipRegisters:
        result = self.state().registers if self.in_user_space else registers.read_all(*self._place(), self.run_id)
        return schemas.ChipRegisters(server=self.name, registers=result)

    def register(self, name: str) -> schemas.ChipRegister:
        if self.in_user_space:
            value = int.from_bytes(self._ask(serverswitch.READ, name.encode()), "little")
        else:
            value = registers.read(*self._place(), self.run_id, name)
        return schemas.ChipRegister(server=self.name, name=name, value=value)

    def set_register(self, name: str, value: int) -> schemas.ChipRegister:
        if self.in_user_space:
            self._ask(serverswitch.WRITE, value.to_bytes(8, "little") + name.encode())
            return self.register(name)
        written = registers.write(*self._place(), self.run_id, name, value)
        return schemas.ChipRegister(server=self.name, name=name, value=written)

    def send(self, asked: schemas.ChipPacket) -> schemas.ChipSent:
        result = self._ask(serverswitch.SEND, bytes([asked.port]) + _bytes(asked.packet))
        return schemas.ChipSent(sent=result[:1] == b"\0", reason=result[1:].decode(errors="replace") or None)

    def trace(self, asked: schemas.ChipPacket) -> ChipTrace:
        result = self._ask(serverswitch.TRACE, bytes([asked.port]) + _bytes(asked.packet))
        with self._readable():
            return ChipTrace.model_validate_json(result)

    def take(self) -> list[schemas.ChipPunt]:
        """Packets for the CPU since the last call."""
        waiting, at, punts = self._ask(serverswitch.TAKE, b""), 0, []
        while at + 3 <= len(waiting):
            length, port = struct.unpack_from("<HB", waiting, at)
            punts.append(schemas.ChipPunt(port=port, packet=waiting[at + 3 : at + 3 + length].hex()))
            at += 3 + length
        return punts

    async def punts(self) -> AsyncGenerator[bytes]:
        """Yields packets for the CPU as events `packet`, until the reader or the server
        disconnects; then `end` with the reason."""
        idle = 0
        while True:
            try:
                packets = await run_sync(self.take)
            except ProblemError as error:
                yield event("end", orjson.dumps({"detail": error.detail}).decode())
                return
            for packet in packets:
                yield event("packet", packet.model_dump_json())
            idle = 0 if packets else idle + 1
            if idle and idle % POLLS_PER_KEEPALIVE == 0:
                yield KEEPALIVE
            await asyncio.sleep(POLL_SECS)

    def socket(self) -> str:
        """The path of the server's socket for programs on its host."""
        host, server = self._place()
        with FabricClient(host.socket) as fabric:
            try:
                runs = fabric.call("runs", ANSWER_SECS)["runs"]
            except (FabricError, FabricGoneError) as error:
                raise self._silent(host.said(error.detail)) from error
        mounts = [
            item["mount"]
            for run in runs
            if run["run"] == self.run_id
            for item in run["servers"]
            if item["id"] == server
        ]
        if not mounts:
            raise self._silent("the run has no network now")
        return f"{mounts[0]}/chip.sock"

    def _place(self) -> tuple[Host, int]:
        server = server_of(self.network, self.run_id, self.name)
        spread = self.hosts.spread(self.network)
        return spread.hosts[spread.host_of[server]], server

    def _ask(self, kind: int, body: bytes, /) -> bytes:
        host, server = self._place()
        request = serverswitch.framed(kind, 1, body)[4:].hex()
        with LiveClient(host) as fabric:
            try:
                result = fabric.call("chip", ANSWER_SECS, run=self.run_id, server=server, request=request)
            except (FabricError, FabricGoneError) as error:
                raise self._silent(host.said(error.detail)) from error
        try:
            return serverswitch.answered(bytes.fromhex(result["answer"]))
        except ChipError as error:
            raise ProblemError(
                422, "chip-refuses", str(error), errors=[FieldError(field=f"body ({error.code})", message=str(error))]
            ) from error
        except (ValueError, KeyError, TypeError, struct.error) as error:
            raise self._silent("its answer is none") from error

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Raises a 409 if the data of a node cannot be read: a node may send anything."""
        try:
            yield
        except (ValidationError, ValueError, KeyError, TypeError, struct.error) as error:
            why = f"{type(error).__name__} {str(error).splitlines()[0]}"[:200]
            raise self._silent(f"its answer cannot be read: {why}") from error

    def _silent(self, why: str) -> ProblemError:
        return ProblemError(409, "chip-silent", f"The chip of server {self.name} does not answer: {why}")


def _quoted(value: str | None) -> str:
    return "NULL" if value is None else f'"{value}"'


def _bytes(digits: str) -> bytes:
    """Decodes hexadecimal digits. Raises a 422 for an odd number of them."""
    try:
        return bytes.fromhex("".join(digits.replace(":", " ").replace("-", " ").split()))
    except ValueError as error:
        detail = "packet has an odd number of hexadecimal digits, but must have two a byte: add or remove one."
        raise ProblemError(
            422, "chip-refuses", detail, errors=[FieldError(field="body.packet", message=detail)]
        ) from error
