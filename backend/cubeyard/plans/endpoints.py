"""`/api/v1/plans`, `/compare` and `/topologies`. Endpoints run on threads, because the engine and
the database block."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import Depends, Header, Path, Query, Response

from cubeyard.built_plan import BuiltPlan
from cubeyard.catalog.endpoints import EngineOf
from cubeyard.kit.errors import not_found, responses
from cubeyard.kit.ids import Id
from cubeyard.kit.responses import ETAG_HEADER, NOT_MODIFIED, IfNoneMatch, json_bytes, json_object, json_value, matches
from cubeyard.kit.routing import api_router
from cubeyard.kit.text import PlainText
from cubeyard.kit.unit_of_work import UnitOfWork
from cubeyard.plans import documents, metrics, schemas
from cubeyard.plans.models import PlanRow, RevisionRow
from cubeyard.plans.service import PlanService, etag, plan_fields
from cubeyard.plans.spec import normal_spec

router = api_router()
plans = api_router("/plans", tags=["plans"])
topologies = api_router("/topologies", tags=["topologies"])


def get_service(session: UnitOfWork, engine: EngineOf) -> PlanService:
    return PlanService(session, engine)


Service = Annotated[PlanService, Depends(get_service)]
IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=400, description="The plan's ETag that the change is based on.")
]
AtRevision = Annotated[schemas.Revision | None, Query(description="An earlier revision; the head if left out.")]
RevisionNumber = Annotated[int, Path(ge=1, le=2_147_483_647)]
DeviceName = Annotated[str, Path(min_length=1, max_length=120, examples=["0132", "<3,001>"])]
RackName = Annotated[str, Path(min_length=1, max_length=120, examples=["R03"])]


def _plan_response(plan: PlanRow, row: RevisionRow, *, status: int = 200) -> Response:
    headers = {"etag": etag(plan)}
    if status == 201:
        headers["location"] = f"/api/v1/plans/{plan.id}"
    return json_value(plan_fields(plan, row), status=status, headers=headers)


@topologies.get(
    "", operation_id="list_topologies", summary="Every topology family with its parameters", responses=responses()
)
def list_topologies(engine: EngineOf) -> list[schemas.Family]:
    return json_value(engine.families)  # pyright: ignore[reportReturnType]


@topologies.get("/{family}", operation_id="read_topology", summary="One family", responses=responses(404))
def read_topology(engine: EngineOf, family: Annotated[str, Path(max_length=64, examples=["bcube"])]) -> schemas.Family:
    for item in engine.families:
        if item["family"] == family:
            return json_value(item)  # pyright: ignore[reportReturnType]
    raise not_found(f"topology family {family}")


@plans.post("/preview", operation_id="preview_plan", summary="Compute a plan without saving it", responses=responses())
def preview_plan(service: Service, engine: EngineOf, request: schemas.PreviewRequest) -> schemas.PreviewResponse:
    """Valid plans can have findings; impossible plans return 422 with findings."""
    built = service.preview(request.spec, request.catalog_version)
    parts = {"summary": built.summary_json}
    if "scene" in request.include:
        parts["scene"] = built.scene_json
    if "bom" in request.include:
        parts["bom"] = built.bom_json
    if "cables" in request.include:
        parts["cables"] = built.cables_json
    if request.base is not None:
        base = engine.remembered(request.base) if isinstance(request.base, str) else service.preview(request.base)
        if base is not None:
            parts["deltas"] = orjson.dumps(
                [delta.model_dump() for delta in metrics.deltas(built.summary, base.summary)]
            )
    return json_bytes(json_object(parts))  # pyright: ignore[reportReturnType]


@plans.post(
    "/paths",
    operation_id="find_paths",
    summary="The parallel paths of two servers, with parts of the plan removed",
    response_model=schemas.ServerPaths,
    responses=responses(),
)
def find_paths(engine: EngineOf, request: schemas.PathsRequest) -> Response:
    """Nothing is saved. An unknown name returns 422."""
    result = engine.paths_between(normal_spec(request.spec), request.source, request.destination, request.without)
    return json_value(result)


@plans.get("", operation_id="list_plans", summary="Saved plans, the latest created first", responses=responses())
def list_plans(
    service: Service,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    q: Annotated[PlainText, Query(max_length=200, description="Words of the name.")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    sort: Annotated[
        schemas.PlanOrder,
        Query(
            description="By `created_at`, pages list each plan once, also while plans are added and changed; by `updated_at`, a plan "
            "that is changed meanwhile may be missing. Use the same value for all pages."
        ),
    ] = "created_at",
) -> schemas.PlanList:
    return service.page(cursor=cursor, q=q, limit=limit, sort=sort)


@plans.post(
    "",
    operation_id="create_plan",
    summary="Save a plan",
    status_code=201,
    response_model=schemas.Plan,
    responses={201: ETAG_HEADER, **responses()},
)
def create_plan(service: Service, request: schemas.PlanCreate) -> Response:
    return _plan_response(*service.create(request), status=201)


@plans.get(
    "/{id}",
    operation_id="read_plan",
    summary="A plan at its head or at a revision",
    response_model=schemas.Plan,
    responses={200: ETAG_HEADER, 304: NOT_MODIFIED, **responses(404)},
)
def read_plan(service: Service, id: Id, revision: AtRevision = None, if_none_match: IfNoneMatch = None) -> Response:
    plan, row = service.read(id, revision)
    if matches(if_none_match, etag(plan)):
        return Response(status_code=304, headers={"etag": etag(plan)})
    return _plan_response(plan, row)


@plans.patch(
    "/{id}",
    operation_id="update_plan",
    summary="Rename a plan, or give it a new revision",
    response_model=schemas.Plan,
    responses={200: ETAG_HEADER, **responses(404, 409, 412, 428)},
)
def update_plan(service: Service, id: Id, request: schemas.PlanUpdate, if_match: IfMatch = None) -> Response:
    """Content equal to the head's creates no new revision."""
    return _plan_response(*service.update(id, request, if_match))


@plans.delete(
    "/{id}",
    operation_id="delete_plan",
    summary="Forget a plan and its revisions",
    status_code=204,
    responses=responses(404, 412),
)
def delete_plan(service: Service, id: Id, if_match: IfMatch = None) -> None:
    service.delete(id, if_match)


@plans.get(
    "/{id}/revisions",
    operation_id="list_revisions",
    summary="A plan's history, the latest first",
    responses=responses(404),
)
def list_revisions(service: Service, id: Id) -> schemas.RevisionList:
    return service.history(id)


@plans.get(
    "/{id}/revisions/{revision}/since/{earlier}",
    operation_id="compare_revisions",
    summary="Differences between two revisions",
    responses=responses(404),
)
def compare_revisions(
    service: Service, id: Id, revision: RevisionNumber, earlier: RevisionNumber
) -> schemas.RevisionComparison:
    """Changes of spec fields, racks and devices, cables, and all numbers. `/plans/{id}/diff/{id}`
    lists the cables."""
    return service.since(id, revision, earlier)


@plans.post(
    "/{id}/revert",
    operation_id="revert_plan",
    summary="Go back to an earlier revision's content",
    response_model=schemas.Plan,
    responses={200: ETAG_HEADER, **responses(404, 409, 412)},
)
def revert_plan(service: Service, id: Id, request: schemas.RevertRequest, if_match: IfMatch = None) -> Response:
    """Reverting adds a new revision: no history is lost, and a revert can be reverted."""
    return _plan_response(*service.revert(id, request, if_match))


def _built(service: Service, id: Id, revision: AtRevision = None) -> BuiltPlan:
    return service.built(id, revision)[2]


Built = Annotated[BuiltPlan, Depends(_built)]


@plans.get(
    "/{id}/scene",
    operation_id="read_scene",
    summary="Where everything stands",
    response_model=documents.Scene,
    responses=responses(404),
)
def read_scene(built: Built) -> Response:
    return json_bytes(built.scene_json)


@plans.get(
    "/{id}/bom",
    operation_id="read_bom",
    summary="The bill of materials",
    response_model=documents.Bom,
    responses=responses(404),
)
def read_bom(built: Built) -> Response:
    return json_bytes(built.bom_json)


@plans.get(
    "/{id}/cables",
    operation_id="read_cables",
    summary="Every cable, in columns",
    response_model=documents.Cables,
    responses=responses(404),
)
def read_cables(
    built: Built,
    offset: Annotated[int, Query(ge=0, le=2_147_483_647)] = 0,
    limit: Annotated[int | None, Query(ge=1, le=2_147_483_647, description="Default: all.")] = None,
) -> Response:
    if offset == 0 and limit is None:
        return json_bytes(built.cables_json)
    start = min(offset, built.cable_count)
    stop = built.cable_count if limit is None else min(start + limit, built.cable_count)
    return json_bytes(built.cables_json_slice(start, stop))


@plans.get(
    "/{id}/racks/{rack}",
    operation_id="read_rack",
    summary="One rack from top to bottom",
    response_model=documents.RackSheet,
    responses=responses(404),
)
def read_rack(built: Built, rack: RackName) -> Response:
    sheet = built.rack_json(rack)
    if sheet is None:
        raise not_found(f"rack {rack}")
    return json_bytes(sheet)


@plans.get(
    "/{id}/devices/{name}",
    operation_id="trace_device",
    summary="A device and all cables at its ports",
    response_model=documents.DeviceTrace,
    responses=responses(404),
)
def trace_device(built: Built, name: DeviceName) -> Response:
    trace = built.device_json(name)
    if trace is None:
        raise not_found(f"device {name}")
    return json_bytes(trace)


@plans.get(
    "/{id}/diff/{other}",
    operation_id="diff_plans",
    summary="The work order from this plan to another",
    response_model=documents.WorkOrder,
    responses=responses(404),
)
def diff_plans(
    service: Service,
    engine: EngineOf,
    id: Id,
    other: Id,
    revision: AtRevision = None,
    other_revision: AtRevision = None,
) -> Response:
    before, after = service.built(id, revision)[2], service.built(other, other_revision)[2]
    return json_bytes(engine.work_order_json(before, after))


@router.post(
    "/compare",
    tags=["plans"],
    operation_id="compare_plans",
    summary="Two to four plans side by side",
    responses=responses(404),
)
def compare_plans(service: Service, request: schemas.CompareRequest) -> schemas.CompareResponse:
    return service.compare(request)


@router.get(
    "/schema/plan",
    tags=["topologies"],
    operation_id="read_plan_schema",
    summary="JSON Schema of a plan spec",
    responses=responses(),
)
def read_plan_schema(engine: EngineOf) -> dict[str, Any]:
    return engine.plan_schema
