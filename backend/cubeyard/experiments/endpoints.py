"""`/api/v1/experiments` and `/api/v1/predict`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request, Response

from cubeyard.catalog.endpoints import EngineOf
from cubeyard.experiments import schemas
from cubeyard.experiments.engines import ENGINES
from cubeyard.experiments.question import ExperimentCreate, PredictRequest, SimulateRequest
from cubeyard.experiments.results import Prediction, Simulation
from cubeyard.experiments.service import ExperimentService
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import PATTERN, Id
from cubeyard.kit.responses import json_bytes
from cubeyard.kit.routing import api_router
from cubeyard.kit.text import PlainText
from cubeyard.kit.unit_of_work import UnitOfWork
from cubeyard.kit.waiting import while_connected

MAX_REFERENCE_SERVERS = 65_536
router = api_router(tags=["experiments"])
experiments = api_router("/experiments", tags=["experiments"])


def get_service(request: Request, session: UnitOfWork, engine: EngineOf) -> ExperimentService:
    return ExperimentService(session, engine, request.app.state.outliners)


Service = Annotated[ExperimentService, Depends(get_service)]


@router.get(
    "/engines", operation_id="list_engines", summary="The engines that answer experiments", responses=responses()
)
def list_engines() -> schemas.EngineList:
    """The requirements of each engine, the fault kinds that it supports, and the frames of its
    runs."""
    fields = schemas.EngineDescription.model_fields
    return schemas.EngineList(
        items=[
            schemas.EngineDescription.model_validate({name: getattr(engine, name) for name in fields})
            for engine in ENGINES.values()
        ]
    )


@router.get(
    "/fault-kinds",
    operation_id="list_fault_kinds",
    summary="The kinds of faults, in the order of menus",
    responses=responses(),
)
def list_fault_kinds(engine: EngineOf) -> schemas.FaultKindList:
    """The targets and parameters of each kind, and the engines that support it. The list changes
    only with the program's version."""
    return schemas.FaultKindList(
        items=[schemas.FaultKind.model_validate(fault_kind) for fault_kind in engine.fault_kinds]
    )


@experiments.get("", operation_id="list_experiments", summary="Experiments, the latest first", responses=responses())
def list_experiments(
    service: Service,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    plan: Annotated[str | None, Query(pattern=PATTERN, description="Experiments of this saved plan.")] = None,
    kind: Annotated[schemas.ExperimentKind | None, Query()] = None,
    content_hash: Annotated[
        str | None, Query(pattern="^[0-9a-f]{64}$", description="Experiments with this `content_hash`: the same setup.")
    ] = None,
    q: Annotated[PlainText, Query(max_length=200, description="Words of the name.")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> schemas.ExperimentList:
    return service.page(cursor=cursor, plan_id=plan, kind=kind, content_hash=content_hash, q=q, limit=limit)


@experiments.post(
    "",
    operation_id="create_experiment",
    summary="Write down what is to be predicted",
    status_code=201,
    responses=responses(404),
)
def create_experiment(service: Service, request: ExperimentCreate) -> schemas.Experiment:
    """An experiment never changes. With `axes` it is a sweep: topology x failure ratio x seed."""
    return service.create(request)


@experiments.post(
    "/estimate",
    operation_id="estimate_experiment",
    summary="How much an experiment is to compute, and about how long it takes here",
    responses=responses(404),
)
def estimate_experiment(service: Service, request: ExperimentCreate) -> schemas.ExperimentEstimate:
    """Refuses what creating it would refuse; saves nothing. Takes a second or two: it measures."""
    return service.estimate(request)


@experiments.get("/{id}", operation_id="read_experiment", summary="An experiment", responses=responses(404))
def read_experiment(service: Service, id: Id) -> schemas.Experiment:
    return service.read(id)


@router.post(
    "/predict",
    operation_id="predict",
    summary="What a plan carries, at once and without saving anything",
    response_model=Prediction,
    responses=responses(404),
)
async def predict(service: Service, http: Request, request: PredictRequest) -> Response:
    """For predictions of a few seconds at most. A 422 `too-long` advises to create an experiment
    and run that instead. Closing the connection ends the computation."""
    secs = http.app.state.settings.predict_secs
    return json_bytes(await while_connected(http, lambda left: service.predict(request, secs, left)))


@router.post(
    "/simulate",
    operation_id="simulate",
    summary="A workload packet by packet, at once and without saving anything",
    response_model=Simulation,
    responses=responses(404),
)
async def simulate(service: Service, http: Request, request: SimulateRequest) -> Response:
    """For simulations of a few seconds at most. A 422 `too-long` advises to create an experiment
    and run that instead. Closing the connection ends the computation."""
    secs = http.app.state.settings.predict_secs
    return json_bytes(await while_connected(http, lambda left: service.simulate(request, secs, left)))


@router.get(
    "/predict/reference",
    operation_id="read_reference_network",
    summary="The smallest fat-tree for as many servers, to compare with",
    responses=responses(),
)
def read_reference_network(
    service: Service, servers: Annotated[int, Query(ge=2, le=MAX_REFERENCE_SERVERS)]
) -> schemas.ReferenceNetwork:
    """A network of three layers; servers fill whole edge groups, so there can be a few more than
    requested."""
    return service.reference(servers)
