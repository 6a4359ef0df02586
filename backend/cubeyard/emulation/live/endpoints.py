"""Endpoints of `/api/v1/emulation`, and requests to a live run."""

from __future__ import annotations

from typing import Annotated

from fastapi import BackgroundTasks, Depends, Path, Request, Response

from cubeyard.catalog.endpoints import EngineOf
from cubeyard.emulation.deploy.probe import probe, refuse_impossible, with_workers
from cubeyard.emulation.deploy.schemas import Machine
from cubeyard.emulation.fabric.hosts import Hosts
from cubeyard.emulation.live import schemas
from cubeyard.emulation.live.captures import make_in_background
from cubeyard.emulation.live.elsewhere import live_hosts
from cubeyard.emulation.live.fitting import fitted
from cubeyard.emulation.live.programs import commit
from cubeyard.emulation.live.service import SessionService
from cubeyard.emulation.live.services import exchange
from cubeyard.emulation.setup.upgrade_options import upgrades_of
from cubeyard.experiments.checks import refused_by_field
from cubeyard.experiments.service import ExperimentService
from cubeyard.kit.ear import signs
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import Id
from cubeyard.kit.responses import NotJson, download
from cubeyard.kit.routing import api_router
from cubeyard.kit.unit_of_work import UnitOfWork
from cubeyard.settings import Settings

router = api_router(tags=["emulation"])

FaultId = Annotated[
    str, Path(pattern="^[fl][0-9]{1,6}$", description="As the list of faults names it.", examples=["f1"])
]

SwitchName = Annotated[str, Path(max_length=64, description="As the plan names it.", examples=["<0,00>"])]
ServerName = Annotated[str, Path(max_length=64, description="As the plan names it.", examples=["00"])]

ServiceName = Annotated[str, Path(max_length=64, description="As the list of services names it.", examples=["cache"])]


FILE = {
    "description": "The file.",
    "content": {"application/x-pcapng": {"schema": {"type": "string", "format": "binary"}}},
}


def get_service(session: UnitOfWork, engine: EngineOf) -> SessionService:
    return SessionService(session, engine)


Service = Annotated[SessionService, Depends(get_service)]


def get_settings(request: Request) -> Settings:
    return request.app.state.settings


SettingsOf = Annotated[Settings, Depends(get_settings)]


def _hosts(request: Request) -> Hosts:
    settings = request.app.state.settings
    return live_hosts(settings, request.app.state.database)


@router.get(
    "/emulation",
    operation_id="read_emulation",
    summary="Whether this machine can run plans with real packets",
    responses=responses(),
)
def read_emulation(settings: SettingsOf, session: UnitOfWork) -> Machine:
    """Each required or optional capability: whether it exists, why not, and how to fix it; and how
    many workers can emulate now."""
    return with_workers(probe(settings), signs(session))


@router.post(
    "/emulation/profile",
    operation_id="read_emulation_profile",
    summary="What of a topology can be emulated, and how",
    responses=responses(),
)
def read_emulation_profile(engine: EngineOf, request: schemas.ProfileRequest) -> schemas.EmulationProfile:
    """Protocols with their forwardings, headers and settings. Nothing is stored."""
    with refused_by_field("body.spec"):
        return schemas.EmulationProfile.model_validate(engine.emulation_profile(request.spec))


@router.post(
    "/emulation/fit",
    operation_id="fit_emulation",
    summary="What of a plan this machine can run with real packets",
    responses=responses(404),
)
def fit_emulation(session: UnitOfWork, engine: EngineOf, request: schemas.FitRequest) -> schemas.FittedEmulation:
    """The experiment as it is if it can be run. Else with a slice of the plan, a small plan of the
    same family, or a part of a custom network, and with a workload that fits. Nothing is stored."""
    return fitted(ExperimentService(session, engine), engine, request.experiment, request.servers)


@router.post(
    "/emulation/upgrades",
    operation_id="list_upgrades",
    summary="What a plan can become while packets flow",
    responses=responses(),
)
def list_upgrades(engine: EngineOf, request: schemas.UpgradeQuestion) -> schemas.UpgradeList:
    """Each with the planner's work order as steps, for `emulation.upgrade`. Nothing is stored."""
    with refused_by_field("body.spec"):
        result = upgrades_of(engine, request.spec, request.to)
    return schemas.UpgradeList(upgrades=[schemas.UpgradeOption.model_validate(item) for item in result])


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
def inject_fault(service: Service, settings: SettingsOf, id: Id, request: schemas.LiveFault) -> schemas.Order:
    """The run's worker injects it at its next tick; a `fault` frame in the run's stream confirms
    it."""
    refuse_impossible(settings, [("body.kind", request.kind)])
    return service.inject(id, request)


@router.post(
    "/runs/{id}/faults/preview",
    operation_id="preview_fault",
    summary="What a fault would cut, and what would be left",
    responses=responses(404, 409),
)
def preview_fault(service: Service, settings: SettingsOf, id: Id, request: schemas.LiveFault) -> schemas.BlastRadius:
    refuse_impossible(settings, [("body.kind", request.kind)])
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
    """The traffic continues. A `stop-all` frame confirms that all faults are recovered."""
    return service.stop_all(id)


@router.post(
    "/runs/{id}/upgrade",
    operation_id="upgrade_run",
    summary="Carry out the planned upgrade, switch by switch",
    status_code=202,
    responses=responses(404, 409),
)
def upgrade(service: Service, id: Id) -> schemas.Order:
    """The steps of the work order are in the run's `network` frame; an `upgrade` frame confirms
    each step. The traffic continues."""
    return service.upgrade(id)


@router.post(
    "/runs/{id}/captures",
    operation_id="start_capture",
    summary="Capture the packets of a link or port",
    status_code=202,
    responses=responses(404, 409),
)
def start_capture(
    service: Service, request: Request, after: BackgroundTasks, id: Id, asked: schemas.CaptureRequest
) -> schemas.Capture:
    """It begins at once and ends at the first limit that is reached, or when the link goes down."""
    made, target, limits = service.capture(id, _hosts(request), asked)
    # Its thread begins after the commit, and fills the row.
    after.add_task(make_in_background, request.app.state.database, made.id, target, made.run_id, limits)
    return made


@router.get(
    "/runs/{id}/captures",
    operation_id="list_captures",
    summary="A run's packet captures, the latest first",
    responses=responses(404, 409),
)
def list_captures(service: Service, id: Id) -> schemas.CaptureList:
    return service.list_captures(id)


@router.get(
    "/runs/{id}/captures/{capture}/file",
    operation_id="read_capture",
    summary="The pcapng file of a capture",
    response_class=NotJson,
    responses={200: FILE, **responses(404, 409)},
)
def read_capture(service: Service, id: Id, capture: Id) -> Response:
    content, name, size_bytes = service.captures.file(id, capture)
    return download(content, "application/x-pcapng", name, headers={"content-length": str(size_bytes)})


@router.delete(
    "/runs/{id}/captures/{capture}",
    operation_id="delete_capture",
    summary="Delete a packet capture",
    status_code=204,
    responses=responses(404),
)
def delete_capture(service: Service, id: Id, capture: Id) -> None:
    service.captures.delete(id, capture)


@router.get(
    "/runs/{id}/servers/{name}",
    operation_id="inspect_server",
    summary="What one server knows while its packets flow",
    responses=responses(404, 409, 503),
)
def inspect_server(service: Service, request: Request, id: Id, name: ServerName) -> schemas.ServerState:
    """Its neighbours, the paths of its flows, links that were reported down, and counters of
    dropped and relayed packets."""
    return service.server(id, name, _hosts(request))


@router.get(
    "/runs/{id}/services",
    operation_id="list_services",
    summary="The services that a run's servers host",
    responses=responses(404, 409),
)
def list_services(service: Service, id: Id) -> schemas.ServiceList:
    """Each with the messages that it understands. Empty where the servers' protocol hosts none."""
    return service.services(id)


@router.post(
    "/runs/{id}/services/{service}/messages",
    operation_id="send_service_message",
    summary="Send a message to a service and wait for its answers",
    responses=responses(404, 409),
)
def send_service_message(
    engine: EngineOf, request: Request, id: Id, service: ServiceName, asked: schemas.ServiceMessage
) -> schemas.ServiceExchange:
    """The message and all responses are events in the run's stream and replay, including later
    responses."""
    database = request.app.state.database
    with database.session() as session:
        message = SessionService(session, engine).message(id, service, asked)
    return exchange(database, _hosts(request), message, asked)


@router.get(
    "/runs/{id}/chip-program",
    operation_id="read_chip_program",
    summary="The program that the switching chips of a run's servers run",
    responses=responses(404, 409, 503),
)
def read_chip_program(service: Service, request: Request, id: Id) -> schemas.ChipProgramState:
    return service.running_program(id, _hosts(request))


@router.post(
    "/runs/{id}/chip-program",
    operation_id="commit_chip_program",
    summary="Put a program into the switching chips of a run's servers",
    responses=responses(404, 409, 503),
)
def commit_chip_program(
    engine: EngineOf, request: Request, id: Id, asked: schemas.ChipProgramCommit
) -> schemas.ChipCommitted:
    """While packets flow: at each server every packet meets wholly the program before or wholly
    this one."""
    with request.app.state.database.session() as session:
        result = SessionService(session, engine).program(id, asked)
    return commit(_hosts(request), result)


@router.get(
    "/runs/{id}/switches/{name}",
    operation_id="inspect_switch",
    summary="The routes of one switch while packets flow",
    responses=responses(404, 409, 503),
)
def inspect_switch(service: Service, request: Request, id: Id, name: SwitchName) -> schemas.SwitchState:
    """Its routes and the groups of weighted next hops that they share, as they are in the kernel;
    none for a bridge."""
    return service.switch(id, name, _hosts(request))
