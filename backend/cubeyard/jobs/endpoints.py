"""`/api/v1/.../exports` and `/api/v1/jobs`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response

from cubeyard.catalog.endpoints import EngineOf
from cubeyard.jobs import schemas
from cubeyard.jobs.repository import JobRepository
from cubeyard.jobs.service import JobService, formats, known, stream
from cubeyard.kit.db import Database, UnitOfWork
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import Id
from cubeyard.kit.responses import download
from cubeyard.plans.endpoints import AtRevision
from cubeyard.plans.endpoints import Service as Plans

router = APIRouter(tags=["exports"])

FormatName = Annotated[str, Path(min_length=1, max_length=40, examples=["xlsx"])]
FILE = {
    "description": "The file, streamed.",
    "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
}


def get_service(request: Request, session: UnitOfWork, engine: EngineOf) -> JobService:
    return JobService(session, engine, request.app.state.queue)


Service = Annotated[JobService, Depends(get_service)]


class FileResponse(Response):
    """For the API's description only: a body that is not JSON."""

    media_type = None


@router.get("/exports", operation_id="list_export_formats", summary="Every export format", responses=responses())
def list_export_formats() -> schemas.FormatList:
    return formats()


@router.get(
    "/plans/{id}/exports",
    operation_id="list_plan_exports",
    summary="The formats a plan can be exported as",
    responses=responses(404),
)
def list_plan_exports(plans: Plans, id: Id) -> schemas.FormatList:
    plans.read(id)
    return formats()


@router.get(
    "/plans/{id}/exports/{format}",
    operation_id="export_plan",
    summary="Export a saved plan",
    response_class=FileResponse,
    responses={200: FILE, **responses(404)},
)
def export_plan(plans: Plans, id: Id, format: FormatName, revision: AtRevision = None) -> Response:
    known(format)
    plan, _, built = plans.built(id, revision)
    return _download(*stream(format, built, plan.name), format)


@router.post(
    "/exports/{format}",
    operation_id="export_spec",
    summary="Export a plan that is not saved",
    response_class=FileResponse,
    responses={200: FILE, **responses(404)},
)
def export_spec(plans: Plans, format: FormatName, request: schemas.ExportRequest) -> Response:
    known(format)
    return _download(*stream(format, plans.preview(request.spec), request.name), format)


@router.post(
    "/plans/{id}/exports/{format}/jobs",
    operation_id="start_export_job",
    summary="Export in the background",
    status_code=202,
    responses=responses(404),
)
def start_export_job(service: Service, id: Id, format: FormatName, revision: AtRevision = None) -> schemas.Job:
    return service.start(id, revision, format)


@router.get(
    "/plans/{id}/jobs",
    operation_id="list_plan_jobs",
    summary="A plan's export jobs, the latest first",
    responses=responses(404),
)
def list_plan_jobs(service: Service, id: Id) -> schemas.JobList:
    return service.of_plan(id)


@router.get("/jobs/{id}", operation_id="read_job", summary="How far a job is", responses=responses(404))
def read_job(service: Service, id: Id) -> schemas.Job:
    return service.read(id)


@router.delete("/jobs/{id}", operation_id="cancel_job", summary="Cancel a job", responses=responses(404))
def cancel_job(service: Service, id: Id) -> schemas.Job:
    return service.cancel(id)


@router.get(
    "/jobs/{id}/result",
    operation_id="read_job_result",
    summary="The file that a job made",
    response_class=FileResponse,
    responses={200: FILE, **responses(404, 409)},
)
def read_job_result(request: Request, service: Service, id: Id) -> Response:
    row = service.finished(id)
    chunks = _chunks(request.app.state.database, row.id)
    return download(chunks, row.media_type, row.filename, size_bytes=row.size_bytes)


def _chunks(database: Database, job_id: str) -> Iterator[bytes]:
    """Each piece in a transaction of its own: a slow client holds no connection."""
    position = 0
    while True:
        with database.session() as session:
            data = JobRepository(session).chunk(job_id, position)
        if data is None:
            return
        yield data
        position += 1


def _download(chunks: Iterator[bytes], filename: str, format: str) -> Response:
    from cubeyard.exports import FORMATS

    return download(chunks, FORMATS[format].media_type, filename)
