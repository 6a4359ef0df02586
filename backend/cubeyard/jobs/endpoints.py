"""Endpoints of `/api/v1/.../exports` and `/api/v1/jobs`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from fastapi import Depends, Header, Path, Query, Request, Response

from cubeyard.catalog.endpoints import EngineOf
from cubeyard.exports import FORMATS
from cubeyard.jobs import schemas
from cubeyard.jobs.models import CHUNK_BYTES
from cubeyard.jobs.options import Options, linked
from cubeyard.jobs.repository import JobRepository
from cubeyard.jobs.service import JobService, at_once, described, export_tag, formats, known, written
from cubeyard.kit.db import Database
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import Id
from cubeyard.kit.responses import IfNoneMatch, NotJson, disposition, download, json_bytes, matches, partial, ranged
from cubeyard.kit.routing import api_router
from cubeyard.kit.unit_of_work import UnitOfWork
from cubeyard.plans.endpoints import AtRevision
from cubeyard.plans.endpoints import Service as Plans
from cubeyard.plans.spec import normal_spec, on_paper

router = api_router(tags=["exports"])

FormatName = Annotated[str, Path(min_length=1, max_length=40, examples=["xlsx"])]
Stream = Annotated[bool, Query(description="The file in this answer whatever its size, instead of a job.")]
Prefer = Annotated[
    str | None,
    Header(
        alias="Prefer", max_length=200, description="`respond-async` asks for a job instead of the file (RFC 7240)."
    ),
]
RETRY_AFTER_SECS = 1
FILE = {
    "description": "The file, streamed.",
    "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
}


def get_service(request: Request, session: UnitOfWork, engine: EngineOf) -> JobService:
    return JobService(session, engine, request.app.state.queue)


Service = Annotated[JobService, Depends(get_service)]


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


@router.head("/plans/{id}/exports/{format}", include_in_schema=False)
@router.get(
    "/plans/{id}/exports/{format}",
    operation_id="export_plan",
    summary="Export a saved plan",
    response_class=NotJson,
    responses={
        200: FILE,
        202: {
            "model": schemas.Job,
            "description": "A large file: this job makes it. `Location` says where to follow it.",
        },
        303: {"description": "A large file that a job has made: `Location` says where it is."},
        206: FILE | {"description": "The bytes that `Range` asked for."},
        304: {"description": "The client's copy is still the same."},
        416: {"description": "The range lies outside the file."},
        **responses(404),
    },
)
def export_plan(
    request: Request,
    plans: Plans,
    service: Service,
    id: Id,
    format: FormatName,
    options: Options,
    revision: AtRevision = None,
    stream: Stream = False,
    if_none_match: IfNoneMatch = None,
    prefer: Prefer = None,
) -> Response:
    """The same plan gives the same bytes, so that the response's ETag is valid until the plan or
    the program changes.

    A plan with more cables than the format's `cables_at_once` is exported by a job: the response is
    202 with the job, which can be followed and cancelled, and 303 to its file when it is finished.
    `Prefer: respond-async` requests a job at any size, `stream=true` the file in this response at
    any size. `Range: bytes=1000-` resumes an interrupted download; with `If-Range` and the ETag
    only if the file has not changed.
    """
    known(format)
    plan, row, built = plans.built(id, revision, paper=options.paper)
    options = linked(options, request, (plan.id, row.revision))
    tag = export_tag(format, built, plan.name, options)
    # A client may cache the file, but must revalidate it each time.
    headers = {"etag": tag, "cache-control": "private, no-cache", "accept-ranges": "bytes"}
    if matches(if_none_match, tag):
        return Response(status_code=304, headers=headers)
    background = prefer is not None and "respond-async" in prefer.lower()
    by_job = not stream and (background or not at_once(format, built))
    if request.method == "HEAD" and by_job:
        return _told_of_job(service.started(id, revision, format, options), headers)
    if request.method == "HEAD":
        name, media_type = described(format, built, plan.name)
        answer = Response(headers=headers | {"content-disposition": disposition(name)}, media_type=media_type)
        # The size is known only after the file is made, which HEAD does not do: send no size
        # instead of the size of the empty body.
        del answer.headers["content-length"]
        return answer
    if by_job:
        return _by_job(service.start_or_join(id, revision, format, options), background)
    chunks, name = written(format, built, plan.name, options)
    requested = request.headers.get("range")
    if requested is not None and request.headers.get("if-range", tag) == tag:
        return partial(chunks, FORMATS[format].media_type, name, requested, headers)
    return _download(chunks, name, format, headers)


def _told_of_job(job: schemas.Job | None, headers: dict[str, str]) -> Response:
    """The status of the answer to GET, and no job started for it."""
    if job is None:
        return Response(status_code=202, headers=headers)
    done = job.result_url is not None
    return Response(
        status_code=303 if done else 202, headers=headers | {"location": job.result_url or f"/api/v1/jobs/{job.id}"}
    )


def _by_job(job: schemas.Job, preferred: bool) -> Response:
    """202 while the job is under way, 303 to its file afterwards."""
    headers = {"cache-control": "no-store"} | ({"preference-applied": "respond-async"} if preferred else {})
    if job.result_url is not None:
        return Response(status_code=303, headers=headers | {"location": job.result_url})
    headers |= {"location": f"/api/v1/jobs/{job.id}", "retry-after": str(RETRY_AFTER_SECS)}
    return json_bytes(job.model_dump_json().encode(), status=202, headers=headers)


@router.post(
    "/exports/{format}",
    operation_id="export_spec",
    summary="Export a plan that is not saved",
    response_class=NotJson,
    responses={200: FILE, **responses(404)},
)
def export_spec(
    plans: Plans, format: FormatName, http: Request, request: schemas.ExportRequest, options: Options
) -> Response:
    """Returns the file in this response at any size, because a job needs a saved plan."""
    known(format)
    options = linked(options, http, None)
    built = plans.preview(on_paper(normal_spec(request.spec), options.paper))
    return _download(*written(format, built, request.name, options), format)


@router.post(
    "/plans/{id}/exports/{format}/jobs",
    operation_id="start_export_job",
    summary="Export in the background",
    status_code=202,
    responses=responses(404),
)
def start_export_job(
    request: Request,
    service: Service,
    plans: Plans,
    id: Id,
    format: FormatName,
    options: Options,
    revision: AtRevision = None,
) -> schemas.Job:
    plan, row = plans.read(id, revision)
    return service.start(id, revision, format, linked(options, request, (plan.id, row.revision)))


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


@router.delete("/jobs/{id}", operation_id="cancel_job", summary="Cancel a job", responses=responses(404, 412))
def cancel_job(service: Service, id: Id) -> schemas.Job:
    return service.cancel(id)


@router.head("/jobs/{id}/result", include_in_schema=False)
@router.get(
    "/jobs/{id}/result",
    operation_id="read_job_result",
    summary="The file that a job made",
    response_class=NotJson,
    responses={
        200: FILE,
        206: FILE | {"description": "The bytes that `Range` asked for."},
        304: {"description": "The client's copy is still the same."},
        416: {"description": "The range lies outside the file."},
        **responses(404, 409),
    },
)
def read_job_result(request: Request, service: Service, id: Id, if_none_match: IfNoneMatch = None) -> Response:
    """`Range: bytes=1000-` resumes an interrupted download; with `If-Range` and the ETag only if
    the file has not changed. A job's file never changes: the ETag names the job."""
    row = service.finished(id)
    tag = f'"{row.id}"'
    cached = {"etag": tag, "cache-control": "private, no-cache"}
    if matches(if_none_match, tag):
        return Response(status_code=304, headers=cached)
    requested = request.headers.get("range") if request.headers.get("if-range", tag) == tag else None
    wanted, headers, status = ranged(requested, row.size_bytes or 0)
    headers |= cached
    if request.method == "HEAD":
        return Response(headers=headers | {"content-disposition": disposition(row.filename)}, media_type=row.media_type)
    chunks = _bytes_of(request.app.state.database, row.id, wanted)
    return download(chunks, row.media_type, row.filename, headers=headers, status=status)


def _bytes_of(database: Database, job_id: str, wanted: range) -> Iterator[bytes]:
    """The wanted bytes of a result, a stored piece at a time."""
    position, skipped, left = wanted.start // CHUNK_BYTES, wanted.start % CHUNK_BYTES, len(wanted)
    for data in _chunks(database, job_id, position):
        piece = data[skipped : skipped + left]
        skipped, left = 0, left - len(piece)
        yield piece
        if not left:
            return


def _chunks(database: Database, job_id: str, position: int) -> Iterator[bytes]:
    """The pieces from `position` on, each in a separate transaction, so that a slow client holds no
    connection."""
    while True:
        with database.session() as session:
            data = JobRepository(session).chunk(job_id, position)
        if data is None:
            return
        yield data
        position += 1


def _download(
    chunks: Iterator[bytes], filename: str, format: str, headers: Mapping[str, str] | None = None
) -> Response:
    return download(chunks, FORMATS[format].media_type, filename, headers=headers)
