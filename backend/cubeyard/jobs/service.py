"""Exports: at once as a stream, or in the background as a job."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from sqlalchemy.orm import Session

from cubeyard import __version__
from cubeyard.built_plan import BuiltPlan
from cubeyard.engine import Engine
from cubeyard.exports import FORMATS, ExportOptionError, ExportOptions, check_for, file_name, render
from cubeyard.exports.formats import cables_at_once
from cubeyard.exports.options import NO_OPTIONS
from cubeyard.jobs import schemas
from cubeyard.jobs.models import JobRow
from cubeyard.jobs.queue import Queue
from cubeyard.jobs.repository import JobRepository
from cubeyard.kit.errors import ProblemError, field_error, not_found
from cubeyard.kit.ids import new_id
from cubeyard.kit.root_path import public
from cubeyard.plans.service import PlanService
from cubeyard.plans.view import PlanView

FINISHED = frozenset({"done", "failed", "cancelled"})


class JobService:
    def __init__(self, session: Session, engine: Engine, queue: Queue) -> None:
        self._session = session
        self._repository = JobRepository(session)
        self._plans = PlanService(session, engine)
        self._queue = queue

    def start(
        self, plan_id: str, revision: int | None, format: str, options: ExportOptions = NO_OPTIONS
    ) -> schemas.Job:
        known(format)
        plan, row, built = self._plans.built(plan_id, revision, paper=options.paper)
        view = PlanView.of(built, plan.name)
        try:
            check_for(format, view, options)
        except ExportOptionError as error:
            raise as_problem(error) from error
        job = JobRow(
            id=new_id(),
            plan_id=plan.id,
            revision=row.revision,
            format=format,
            options=options.given(),
            state="queued",
            filename=file_name(format, view),
            media_type=FORMATS[format].media_type,
        )
        self._repository.add(job)
        job.queue_id = self._queue.put(self._session, job.id)
        self._repository.flush()
        return as_job(job)

    def start_or_join(
        self, plan_id: str, revision: int | None, format: str, options: ExportOptions = NO_OPTIONS
    ) -> schemas.Job:
        """The latest job of this file that has not failed, or a new job: a repeated request does
        not make the file twice."""
        return self.started(plan_id, revision, format, options) or self.start(plan_id, revision, format, options)

    def started(
        self, plan_id: str, revision: int | None, format: str, options: ExportOptions = NO_OPTIONS
    ) -> schemas.Job | None:
        """The latest job of this file that has not failed."""
        plan, row, built = self._plans.built(plan_id, revision, paper=options.paper)
        name = file_name(format, PlanView.of(built, plan.name))
        result = self._repository.latest(plan.id, row.revision, format, name, options.given())
        return None if result is None else as_job(result)

    def read(self, job_id: str) -> schemas.Job:
        return as_job(self._row(job_id))

    def of_plan(self, plan_id: str) -> schemas.JobList:
        plan, _ = self._plans.read(plan_id)
        return schemas.JobList(items=[as_job(row) for row in self._repository.jobs_of(plan.id)])

    def cancel(self, job_id: str) -> schemas.Job:
        """Cancelling a finished job changes nothing."""
        row = self._repository.job(job_id, lock=True)
        if row is None:
            raise not_found(f"job {job_id}")
        if row.state not in FINISHED:
            row.state = "cancelled"
            row.finished_at = self._repository.now()
            self._repository.clear_chunks(row.id)
            if row.queue_id is not None:
                self._queue.remove(self._session, row.queue_id)
            self._repository.flush()
        return as_job(row)

    def finished(self, job_id: str) -> JobRow:
        """A job whose result can be fetched."""
        row = self._row(job_id)
        if row.state != "done":
            raise ProblemError(409, "not-done", f"The job is {row.state}; there is a result only when it is done.")
        return row

    def _row(self, job_id: str) -> JobRow:
        row = self._repository.job(job_id)
        if row is None:
            raise not_found(f"job {job_id}")
        return row


def known(format: str) -> None:
    if format not in FORMATS:
        raise ProblemError(404, "not-found", f"There is no export format {format}. There are: {', '.join(FORMATS)}.")


def written(
    format: str, built: BuiltPlan, name: str | None, options: ExportOptions = NO_OPTIONS
) -> tuple[Iterator[bytes], str]:
    """The file in pieces, and what to call it."""
    known(format)
    view = PlanView.of(built, name)
    try:
        return iter(render(format, view, None, options)), file_name(format, view)
    except ExportOptionError as error:
        raise as_problem(error) from error


def as_problem(error: ExportOptionError) -> ProblemError:
    return field_error(
        f"query.{error.name}", error.value, error.message, limit=error.limit or None, hint=error.hint or None
    )


def at_once(format: str, built: BuiltPlan) -> bool:
    """Whether the file is small enough to be written while it is downloaded."""
    return built.cable_count <= cables_at_once(format)


def described(format: str, built: BuiltPlan, name: str | None) -> tuple[str, str]:
    """The file name and media type of an export."""
    return file_name(format, PlanView.of(built, name)), FORMATS[format].media_type


def export_tag(format: str, built: BuiltPlan, name: str, options: ExportOptions = NO_OPTIONS) -> str:
    """The ETag of an export: it follows from the plan, its name, the options and the program's
    version alone."""
    # The paper is in the plan's hash.
    chosen = repr(sorted((key, value) for key, value in options.given().items() if key != "paper"))
    parts = (built.plan_hash, format, name, __version__, str(built.summary["engine_version"]), chosen)
    return f'"{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:32]}"'


def formats() -> schemas.FormatList:
    return schemas.FormatList(
        items=[
            schemas.Format(
                name=item.name,
                title=item.title,
                description=item.description,
                media_type=item.media_type,
                extension=item.extension,
                group=item.group,
                checked=item.proof,
                cables_at_once=cables_at_once(item.name),
                options=list(item.options),
            )
            for item in FORMATS.values()
        ]
    )


def as_job(row: JobRow) -> schemas.Job:
    return schemas.Job(
        id=row.id,
        plan_id=row.plan_id,
        revision=row.revision,
        format=row.format,
        options=row.options or {},
        state=row.state,  # pyright: ignore[reportArgumentType] - pydantic checks it
        progress=row.progress,
        doing=row.doing,
        attempts=row.attempts,
        error=row.error,
        filename=row.filename,
        size_bytes=row.size_bytes,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        result_url=public(f"/api/v1/jobs/{row.id}/result") if row.state == "done" else None,
    )
