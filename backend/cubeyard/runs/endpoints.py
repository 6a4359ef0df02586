"""`/api/v1/runs`, and starting one from an experiment."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from fastapi import Depends, Header, Query, Request, Response
from starlette.responses import StreamingResponse

from cubeyard.catalog.endpoints import EngineOf
from cubeyard.experiments.endpoints import Service as Experiments
from cubeyard.experiments.flow_times import POINT_COLUMNS, Format, as_csv, as_parquet
from cubeyard.experiments.scenario import junit
from cubeyard.experiments.scenario.endpoints import FILE, YamlResponse, file_of
from cubeyard.experiments.scenario.verdict import RunVerdict
from cubeyard.kit.asgi import CSV_MEDIA_TYPE, JSON_MEDIA_TYPE
from cubeyard.kit.errors import ProblemError, responses
from cubeyard.kit.ids import PATTERN, Id
from cubeyard.kit.responses import NotJson, download, json_bytes
from cubeyard.kit.routing import api_router
from cubeyard.kit.sse import EventStream
from cubeyard.kit.text import PlainText
from cubeyard.kit.unit_of_work import UnitOfWork
from cubeyard.runs import results, schemas, verdicts
from cubeyard.runs.flow_times import refuse_without, tables
from cubeyard.runs.models import RunRow
from cubeyard.runs.repository import FINISHED
from cubeyard.runs.service import RunService

router = api_router(tags=["runs"])

Seq = Annotated[int, Query(ge=0, le=2_147_483_647)]
LastEventId = Annotated[
    int | None,
    Header(alias="Last-Event-ID", ge=0, le=2_147_483_647, description="The number of the last frame received."),
]
EVENTS = {
    200: {
        "description": "The frames as server-sent events.",
        "content": {"text/event-stream": {"schema": schemas.RunEvent.model_json_schema()}},
    },
    204: {"description": "The run is over and every frame was received: do not connect again."},
}
PARQUET = "application/vnd.apache.parquet"
CSV = {CSV_MEDIA_TYPE: {"schema": {"type": "string"}}}
TABLES = {**CSV, PARQUET: {"schema": {"type": "string", "format": "binary"}}}


def get_service(request: Request, session: UnitOfWork) -> RunService:
    return RunService(session, request.app.state.run_queue)


Service = Annotated[RunService, Depends(get_service)]


@router.post(
    "/experiments/{id}/runs",
    operation_id="start_run",
    summary="Run an experiment",
    status_code=202,
    responses=responses(404),
)
def start_run(service: Service, experiments: Experiments, id: Id) -> schemas.Run:
    return service.start(experiments.runnable(id))


@router.get("/runs", operation_id="list_runs", summary="Runs, the latest first", responses=responses())
def list_runs(
    service: Service,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    state: Annotated[
        list[schemas.RunState] | None, Query(max_length=len(get_args(schemas.RunState)), description="Any of these.")
    ] = None,
    kind: Annotated[
        list[schemas.RunKind] | None, Query(max_length=len(get_args(schemas.RunKind)), description="Any of these.")
    ] = None,
    q: Annotated[PlainText, Query(max_length=200, description="Words of the title.")] = "",
    experiment: Annotated[str | None, Query(pattern=PATTERN)] = None,
    figure: Annotated[str | None, Query(pattern="^[a-z0-9-]{1,64}$")] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> schemas.RunList:
    return service.page(
        cursor=cursor, states=state or (), kinds=kind or (), q=q, experiment=experiment, figure=figure, limit=limit
    )


@router.get("/runs/{id}", operation_id="read_run", summary="How far a run is", responses=responses(404))
def read_run(service: Service, id: Id) -> schemas.Run:
    return service.read(id)


@router.post("/runs/{id}/cancel", operation_id="cancel_run", summary="Cancel a run", responses=responses(404))
def cancel_run(service: Service, id: Id) -> schemas.Run:
    """Computed results are kept. Cancelling a finished run changes nothing."""
    return service.cancel(id)


@router.delete(
    "/runs/{id}",
    operation_id="delete_run",
    summary="Forget a run and its frames",
    status_code=204,
    responses=responses(404, 409, 412),
)
def delete_run(service: Service, id: Id) -> None:
    """409 while it is queued or running: cancel it first."""
    service.delete(id)


@router.delete(
    "/experiments/{id}",
    operation_id="delete_experiment",
    summary="Forget an experiment and its runs",
    status_code=204,
    responses=responses(404, 409, 412),
)
def delete_experiment(service: Service, experiments: Experiments, id: Id) -> None:
    """409 while one of its runs is queued or running: cancel that first."""
    service.clear(id)
    experiments.delete(id)


@router.get(
    "/runs/{id}/events",
    operation_id="follow_run",
    summary="A run's frames as they come, from the first or from where you were",
    response_class=NotJson,
    responses={**EVENTS, **responses(404)},
)
def follow_run(
    request: Request,
    service: Service,
    id: Id,
    after: Annotated[int, Query(ge=0, le=2_147_483_647, description="Begin after this frame.")] = 0,
    older: Annotated[
        Literal["ticks", "seconds"],
        Query(description="What to tell of more than five minutes ago: every tick, or ten of them added up."),
    ] = "ticks",
    last_event_id: LastEventId = None,
) -> Response:
    """Live, reconnect and replay are the same: every frame after the given number, once and in
    order, until the run ends."""
    run = service.row(id)
    reached = after if last_event_id is None else last_event_id
    if run.state in FINISHED and reached >= run.last_seq:
        return Response(status_code=204)
    return EventStream(request.app.state.streams.events(id, reached, brief=older == "seconds"))


# Generated clients take every answer of an operation for the first type of its description: each
# other one has a path.
@router.get(
    "/runs/{id}/results",
    operation_id="read_results",
    summary="Results of a run so far",
    response_model=schemas.RunResults,
    responses=responses(404),
)
def read_results(
    request: Request,
    service: Service,
    experiments: Experiments,
    id: Id,
    format: Annotated[schemas.ResultFormat, Query(include_in_schema=False)] = "json",
) -> Response:
    """As tables: `results.csv` and `results.parquet`, also as `results?format=csv` and
    `results?format=parquet`."""
    run = service.read(id)
    database = request.app.state.database
    if format == "json":
        return StreamingResponse(results.as_json(database, run), media_type=JSON_MEDIA_TYPE)
    titles = (
        []
        if run.experiment_id is None
        else [topology.title for topology in experiments.read(run.experiment_id).topologies]
    )
    name = run.figure or f"run-{run.id}"
    if format == "parquet":
        return download(results.as_parquet(database, run, titles), PARQUET, f"{name}.parquet")
    return download(results.as_csv(database, run, titles), "text/csv; charset=utf-8", f"{name}.csv")


@router.get(
    "/runs/{id}/results.csv",
    operation_id="read_results_csv",
    summary="Results of a run so far, as CSV",
    response_class=NotJson,
    responses={200: {"content": CSV}, **responses(404)},
)
def read_results_csv(request: Request, service: Service, experiments: Experiments, id: Id) -> Response:
    return read_results(request, service, experiments, id, "csv")


@router.get(
    "/runs/{id}/results.parquet",
    operation_id="read_results_parquet",
    summary="Results of a run so far, as Parquet",
    response_class=NotJson,
    responses={200: {"content": {PARQUET: TABLES[PARQUET]}}, **responses(404)},
)
def read_results_parquet(request: Request, service: Service, experiments: Experiments, id: Id) -> Response:
    return read_results(request, service, experiments, id, "parquet")


@router.get(
    "/runs/{id}/flows",
    operation_id="read_flow_times",
    summary="Each flow's times of a simulation so far, as CSV or Parquet",
    response_class=NotJson,
    responses={200: {"content": TABLES}, **responses(404, 409)},
)
def read_flow_times(
    request: Request,
    service: Service,
    experiments: Experiments,
    id: Id,
    format: Annotated[Format, Query()] = "csv",
) -> Response:
    """One row per flow:
    `point, seed, flow, source, destination, bytes, start_secs, completion_secs, drops, retransmits, timeouts`.
    While a point is running, the table has its finished flows; if the point has more than 20,000
    flows, they are in the order of the parts in which they finished. At most one table of 1,000,000
    flows is in memory; for a running point, one part."""
    run = service.read(id)
    refuse_without(run, None if run.experiment_id is None else experiments.row(run.experiment_id).document)
    result = tables(request.app.state.database, run)
    name = f"flows-{run.id}.{format}"
    if format == "parquet":
        return download(iter([as_parquet(result, POINT_COLUMNS)]), PARQUET, name)
    return download(as_csv(result, POINT_COLUMNS), "text/csv; charset=utf-8", name)


@router.get(
    "/runs/{id}/scenario",
    operation_id="read_run_scenario",
    summary="What a run answers, as a scenario file",
    response_class=YamlResponse,
    responses={**FILE, **responses(404, 409)},
)
def read_run_scenario(service: Service, experiments: Experiments, id: Id) -> Response:
    return file_of(experiments.scenario(_experiment(service.row(id))))


@router.get(
    "/runs/{id}/verdict",
    operation_id="read_verdict",
    summary="Whether the hypotheses of a run held",
    response_model=RunVerdict,
    responses=responses(404, 409),
)
def read_verdict(
    request: Request,
    service: Service,
    experiments: Experiments,
    engine: EngineOf,
    id: Id,
    format: Annotated[Literal["json", "junit"], Query(include_in_schema=False)] = "json",
) -> Response:
    """Inconclusive until the run has succeeded. As JUnit XML: `verdict.xml`, also as
    `verdict?format=junit`."""
    run = service.read(id)
    document = experiments.row(_experiment(service.row(id))).document
    secs = request.app.state.settings.predict_secs
    result = verdicts.verdict(request.app.state.database, engine, run, document, secs)
    if format == "json":
        return json_bytes(result.model_dump_json().encode())
    took = (run.finished_at - run.started_at).total_seconds() if run.started_at and run.finished_at else None
    properties = {"run": run.id, "engine": f"{document['engine']} {run.engine_version}"}
    text = junit.junit(run.title, result, took, properties)
    return download(iter([text]), junit.MEDIA_TYPE, f"run-{run.id}.xml")


@router.get(
    "/runs/{id}/verdict.xml",
    operation_id="read_verdict_junit",
    summary="Whether the hypotheses of a run held, as JUnit XML",
    response_class=NotJson,
    responses={200: {"content": {junit.MEDIA_TYPE: {"schema": {"type": "string"}}}}, **responses(404, 409)},
)
def read_verdict_junit(
    request: Request, service: Service, experiments: Experiments, engine: EngineOf, id: Id
) -> Response:
    """A test case for each hypothesis, skipped if inconclusive or not tested."""
    return read_verdict(request, service, experiments, engine, id, "junit")


def _experiment(row: RunRow) -> str:
    """The id of a run's experiment. Raises a 409 for the run of a figure."""
    if row.experiment_id is None:
        raise ProblemError(409, "no-experiment", f"Run {row.id} computes figure {row.figure}: it has no experiment.")
    return row.experiment_id
