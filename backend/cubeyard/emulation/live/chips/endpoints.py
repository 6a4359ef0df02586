"""`/api/v1/runs/{id}/servers/{name}/chip`: the chip of one server while its packets flow."""

from __future__ import annotations

from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import Depends, Path, Request, Response

from cubeyard.catalog.endpoints import EngineOf
from cubeyard.chip.schemas import ChipTrace
from cubeyard.emulation.live.chips import schemas
from cubeyard.emulation.live.chips.calls import ServerChip
from cubeyard.emulation.live.elsewhere import live_hosts
from cubeyard.emulation.live.service import SessionService
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import Id
from cubeyard.kit.responses import NotJson
from cubeyard.kit.routing import api_router
from cubeyard.kit.sse import MEDIA_TYPE, EventStream
from cubeyard.kit.unit_of_work import mark_caller

router = api_router("/runs/{id}/servers/{name}/chip", tags=["emulation"])

ServerName = Annotated[str, Path(max_length=64, description="As the plan names it.", examples=["00"])]
Index = Annotated[int, Path(ge=0, le=32767, description="From 0.")]
RegisterName = Annotated[
    str, Path(max_length=64, description="As the list of registers names it.", examples=["OUTPUT_QUEUE_BYTES_PORT0"])
]
RESPONSES = responses(404, 409, 503)
EVENTS = {
    "description": "Events `packet`, then `end`.",
    "content": {MEDIA_TYPE: {"schema": schemas.ChipPunt.model_json_schema()}},
}


def get_chip(request: Request, engine: EngineOf, id: Id, name: ServerName) -> ServerChip:
    """A call waits for a server: the database's session is not held meanwhile."""
    state = request.app.state
    with state.database.session() as session:
        mark_caller(session, request)
        return SessionService(session, engine).chip(id, name, live_hosts(state.settings, state.database))


Chip = Annotated[ServerChip, Depends(get_chip)]


@router.get("", operation_id="read_chip", summary="All that is in a server's chip, with hits", responses=RESPONSES)
def read_chip(chip: Chip) -> schemas.ChipState:
    """Tables, interfaces, keys and registers, as they are while packets flow."""
    return chip.state()


@router.get("/text", operation_id="read_chip_text", summary="A server's chip as a program", responses=RESPONSES)
def read_chip_text(chip: Chip) -> schemas.ChipText:
    """Its text reads like the paper's Fig. 6, loops written out."""
    return chip.text()


@router.post("/calls", operation_id="call_chip", summary="Call a server's chip", status_code=204, responses=RESPONSES)
def call_chip(chip: Chip, asked: schemas.ChipCalls) -> None:
    """Calls as text, over the server's program: all of them are in effect at once, or none. They
    stay when a neighbour changes, and are gone with the next whole program."""
    chip.execute(asked.calls)


@router.patch(
    "/tables/{table}/{i}", operation_id="set_chip_entry", summary="Set an entry of a table", responses=RESPONSES
)
def set_chip_entry(chip: Chip, table: schemas.TableName, i: Index, asked: schemas.ChipEntryChange) -> schemas.ChipEntry:
    return chip.set_entry(table, i, asked)


@router.delete(
    "/tables/{table}/{i}",
    operation_id="clear_chip_entry",
    summary="Take back an entry that a call has set",
    status_code=204,
    responses=RESPONSES,
)
def clear_chip_entry(chip: Chip, table: schemas.TableName, i: Index) -> None:
    """The entry of the server's program is in effect again."""
    chip.clear_entry(table, i)


@router.patch("/vif/{i}", operation_id="set_chip_vif", summary="Set a virtual interface", responses=RESPONSES)
def set_chip_vif(chip: Chip, i: Index, asked: schemas.ChipVifChange) -> schemas.ChipVif:
    return chip.set_vif(i, asked)


@router.delete(
    "/vif/{i}",
    operation_id="clear_chip_vif",
    summary="Take back an interface that a call has set",
    status_code=204,
    responses=RESPONSES,
)
def clear_chip_vif(chip: Chip, i: Index) -> None:
    chip.clear_vif(i)


@router.get(
    "/registers", operation_id="list_chip_registers", summary="The registers of a server's chip", responses=RESPONSES
)
def list_chip_registers(chip: Chip) -> schemas.ChipRegisters:
    """Packets and bytes by port, queued bytes, discards by reason, and switches; for a chip in the
    kernel or in user space."""
    return chip.registers()


@router.get("/registers/{register}", operation_id="read_chip_register", summary="Read a register", responses=RESPONSES)
def read_chip_register(chip: Chip, register: RegisterName) -> schemas.ChipRegister:
    return chip.register(register)


@router.put(
    "/registers/{register}",
    operation_id="write_chip_register",
    summary="Write a register",
    responses=RESPONSES | responses(412),
)
def write_chip_register(chip: Chip, register: RegisterName, asked: schemas.ChipRegisterValue) -> schemas.ChipRegister:
    """Counters can be cleared, switches turned until the next commit of a program; queues are read
    only."""
    return chip.set_register(register, asked.value)


@router.post("/packets", operation_id="send_chip_packet", summary="Send a packet", responses=RESPONSES)
def send_chip_packet(chip: Chip, asked: schemas.ChipPacket) -> schemas.ChipSent:
    """As its CPU: out of an external port, or into the chip."""
    return chip.send(asked)


@router.get(
    "/packets",
    operation_id="watch_chip_packets",
    summary="Packets that a server's chip sends to the CPU",
    response_class=NotJson,
    responses={200: EVENTS, **RESPONSES},
)
async def watch_chip_packets(chip: Chip) -> Response:
    """Server-sent events: packets of entries that calls have set. Each packet goes to one
    reader."""
    await run_sync(chip.register, "MISS_TO_CPU")
    return EventStream(chip.punts())


@router.post(
    "/trace", operation_id="trace_live_chip", summary="Step a packet through a server's chip", responses=RESPONSES
)
def trace_live_chip(chip: Chip, asked: schemas.ChipPacket) -> ChipTrace:
    """By the tables as they are now. Nothing is sent and nothing counted."""
    return chip.trace(asked)
