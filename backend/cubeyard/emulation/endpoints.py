"""`/api/v1/emulation`, and what may be asked of a run while its packets flow."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request

from cubeyard.catalog.endpoints import EngineOf
from cubeyard.emulation import schemas
from cubeyard.emulation.hosts import Hosts
from cubeyard.emulation.place import Place
from cubeyard.emulation.probe import probe
from cubeyard.emulation.service import SessionService
from cubeyard.kit.db import UnitOfWork
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import Id

router = APIRouter(tags=["emulation"])

FaultId = Annotated[
    str, Path(pattern="^[fl][0-9]{1,6}$", description="As the list of faults names it.", examples=["f1"])
]

ServerName = Annotated[str, Path(max_length=64, description="As the plan names it.", examples=["00"])]


def get_service(session: UnitOfWork, engine: EngineOf) -> SessionService:
    return SessionService(session, engine)


Service = Annotated[SessionService, Depends(get_service)]


@router.get(
    "/emulation",
    operation_id="read_emulation",
    summary="Whether this machine can run plans with real packets",
    responses=responses(),
)
def read_emulation(request: Request) -> schemas.Machine:
    """Each thing that is needed or useful, whether it is there, why not, and what to do about it."""
    return probe(request.app.state.settings)


@router.get("/runs/{id}/faults", operation_id="list_faults", summary="A run's faults", responses=responses(404, 409))
def list_faults(service: Service, id: Id) -> schemas.FaultList:
    return service.faults(id)


@router.post(
    "/runs/{id}/faults",
    operation_id="inject_fault",
    summary="Break something in a run that is under way",
    status_code=202,
    responses=responses(404, 409),
)
def inject_fault(service: Service, id: Id, request: schemas.LiveFault) -> schemas.Order:
    """The run's worker does it with its next tick; the run's stream says so in a `fault` frame."""
    return service.inject(id, request)


@router.post(
    "/runs/{id}/faults/preview",
    operation_id="preview_fault",
    summary="What a fault would cut, and what would be left",
    responses=responses(404, 409),
)
def preview_fault(service: Service, id: Id, request: schemas.LiveFault) -> schemas.BlastRadius:
    return service.preview(id, request)


@router.post(
    "/runs/{id}/faults/{fault}/recover",
    operation_id="recover_fault",
    summary="Mend one fault",
    status_code=202,
    responses=responses(404, 409),
)
def recover_fault(service: Service, id: Id, fault: FaultId) -> schemas.Order:
    return service.recover(id, fault)


@router.post(
    "/runs/{id}/stop-all",
    operation_id="stop_all",
    summary="Mend everything at once and cancel what is to come",
    status_code=202,
    responses=responses(404, 409),
)
def stop_all(service: Service, id: Id) -> schemas.Order:
    """The traffic goes on. A `stop-all` frame confirms that everything is mended."""
    return service.stop_all(id)


@router.get(
    "/runs/{id}/servers/{name}",
    operation_id="inspect_server",
    summary="What one server knows while its packets flow",
    responses=responses(404, 409, 503),
)
def inspect_server(service: Service, request: Request, id: Id, name: ServerName) -> schemas.ServerState:
    """Its neighbours, the paths of its flows, links it was told are down, and what it dropped and relayed."""
    settings = request.app.state.settings
    return service.server(id, name, Hosts.of(settings, Place.of(settings)))
