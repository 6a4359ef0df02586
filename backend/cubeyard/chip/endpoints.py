"""`/api/v1/chip`: programs of the switching chip, without a run."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from cubeyard.chip import schemas
from cubeyard.chip.service import ChipService
from cubeyard.kit.errors import responses
from cubeyard.kit.routing import api_router

router = api_router("/chip", tags=["chip"])


def get_service(request: Request) -> ChipService:
    return ChipService(request.app.state.engine)


Service = Annotated[ChipService, Depends(get_service)]


@router.post("/check", operation_id="check_chip_program", summary="What is in a chip program", responses=responses())
def check_chip_program(service: Service, request: schemas.ProgramCheck) -> schemas.Checked:
    return service.check(request)


@router.post(
    "/trace",
    operation_id="trace_chip_packet",
    summary="Step a packet through a chip with a program",
    responses=responses(),
)
def trace_chip_packet(service: Service, request: schemas.PacketTrace) -> schemas.ChipTrace:
    return service.trace(request)


@router.post(
    "/portland",
    operation_id="try_portland",
    summary="Send a packet through PortLand on the chips of a fat-tree",
    responses=responses(),
)
def try_portland(service: Service, request: schemas.PortlandQuestion) -> schemas.PortlandTrial:
    """20 switches of four ports, each a chip with its CPU, and a fabric manager, in virtual time:
    ARP, forwarding by PMAC, and the detours around failures. Each visit has the chip's steps."""
    return service.portland(request)
