"""The rules of notes: an anchor must exist when a note is written, a note remains when its anchor
disappears, and every change is logged."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence

import orjson
from sqlalchemy.orm import Session

from cubeyard.built_plan import BuiltPlan
from cubeyard.engine import Engine
from cubeyard.experiments.models import ExperimentRow
from cubeyard.experiments.repository import ExperimentRepository
from cubeyard.kit.changes.schemas import ChangeAction
from cubeyard.kit.changes.service import ChangeLog
from cubeyard.kit.cursors import decode_cursor, encode_cursor
from cubeyard.kit.errors import ProblemError, field_error, not_found
from cubeyard.kit.ids import new_id
from cubeyard.kit.responses import check_match
from cubeyard.notes import anchors, schemas
from cubeyard.notes.models import NoteRow
from cubeyard.notes.repository import NoteRepository
from cubeyard.plans.repository import PlanRepository
from cubeyard.plans.service import PlanService
from cubeyard.runs.models import RunRow
from cubeyard.runs.repository import TICK, RunRepository


class NoteService:
    def __init__(self, session: Session, engine: Engine, author: str) -> None:
        """`author`: the name of whom the notes are written by."""
        self._author = author
        self._repository = NoteRepository(session)
        self._plans = PlanService(session, engine)
        self._plan_rows = PlanRepository(session)
        self._runs = RunRepository(session)
        self._experiments = ExperimentRepository(session)
        self._log = ChangeLog(session)

    def of_plan(
        self,
        plan_id: str,
        *,
        revision: int | None,
        kind: str | None,
        resolved: bool | None,
        q: str,
        cursor: str | None,
        limit: int,
    ) -> schemas.NoteList:
        """A page of a plan's notes of all revisions, with their anchors in the given revision."""
        _, row, build = self._plans.buildable(plan_id, revision)
        rows, following = self._page(
            plan_id=plan_id, run_id=None, kind=kind, resolved=resolved, q=q, cursor=cursor, limit=limit
        )
        return schemas.NoteList(revision=row.revision, items=self._described(rows, build), next=following)

    def of_run(self, run_id: str, *, resolved: bool | None, q: str, cursor: str | None, limit: int) -> schemas.NoteList:
        """A page of the notes at moments of a run."""
        self._run(run_id)
        rows, following = self._page(
            plan_id=None, run_id=run_id, kind=None, resolved=resolved, q=q, cursor=cursor, limit=limit
        )
        return schemas.NoteList(revision=None, items=self._described(rows, None), next=following)

    def read(self, note_id: str) -> schemas.Note:
        return self._one(self._row(note_id))

    def pin(self, plan_id: str, request: schemas.NoteCreate) -> schemas.Note:
        """A note at a part of a plan. Raises a 422 for a part that the revision does not have."""
        _, row, build = self._plans.buildable(plan_id, request.revision)
        name, ends = anchors.pinned(build(), request.anchor)
        if not self._repository.lock_plan(plan_id):
            raise not_found(f"plan {plan_id}")
        return self._write(
            NoteRow(plan_id=plan_id, revision=row.revision, kind=request.anchor.kind, name=name, ends=ends),
            request.text,
        )

    def pin_moment(self, run_id: str, request: schemas.MomentNoteCreate) -> schemas.Note:
        """A note at a second of a run's replay. Raises a 409 for a run without one, a 422 for a
        second behind its end."""
        run = self._run(run_id)
        last = self._runs.last_payload(run_id, TICK)
        if last is None:
            detail = f"Run {run_id} has nothing to replay: notes are pinned to moments of runs with real packets."
            raise ProblemError(409, "no-replay", detail)
        # The replay's clock shows tenths of a second: the last tick, rounded up, is still a moment
        # of the run.
        end_secs = math.ceil(orjson.loads(last)["at_secs"] * 10) / 10
        if request.at_secs > end_secs:
            message = (
                f"Run {run_id} ends at {end_secs:g} s." if run.finished_at else f"Run {run_id} is at {end_secs:g} s."
            )
            hint = "Pin the note to a moment that the replay shows."
            raise field_error("body.at_secs", request.at_secs, message, limit=f"at most {end_secs:g}", hint=hint)
        plan_id, revision = self._plan_of(run)
        if not (self._repository.lock_plan(plan_id) if plan_id else self._repository.lock_run(run_id)):
            raise not_found(f"run {run_id}")
        return self._write(
            NoteRow(
                plan_id=plan_id,
                revision=revision,
                kept_with_run=None if plan_id else run_id,
                kind="moment",
                run_id=run_id,
                at_secs=request.at_secs,
            ),
            request.text,
        )

    def change(self, note_id: str, request: schemas.NoteUpdate, if_match: str | None) -> schemas.Note:
        """Changes text, state, or both. A change without effect is not logged."""
        row = self._row(note_id, lock=True)
        check_match(if_match, etag(self._one(row)), "note")
        if request.text is not None:
            if request.base_version != row.version:
                detail = (
                    f"The note is at version {row.version}, and the change is based on {request.base_version}. "
                    "Read it again and repeat the change."
                )
                raise ProblemError(409, "changed-meanwhile", detail)
            if request.text != row.text:
                row.text, row.version = request.text, row.version + 1
                row.edited_by, row.edited_at = self._author, self._repository.now()
                self._logged(row, "edited")
        if request.resolved is not None and request.resolved != (row.resolved_at is not None):
            row.resolved_by = self._author if request.resolved else None
            row.resolved_at = self._repository.now() if request.resolved else None
            self._logged(row, "resolved" if request.resolved else "reopened")
        self._repository.flush()
        return self._one(row)

    def delete(self, note_id: str, if_match: str | None) -> None:
        row = self._row(note_id, lock=True)
        check_match(if_match, etag(self._one(row)), "note")
        self._repository.delete(row)
        self._logged(row, "deleted")

    def _write(self, row: NoteRow, text: str) -> schemas.Note:
        """Under the lock of the note's owner."""
        if self._repository.count(plan_id=row.plan_id, run_id=row.kept_with_run) >= schemas.MAX_NOTES:
            what = "A plan" if row.plan_id else "A run"
            detail = f"{what} has at most {schemas.MAX_NOTES:,} notes. Delete some that are resolved."
            raise ProblemError(409, "too-many-notes", detail)
        row.id, row.text, row.written_by = new_id(), text, self._author
        row = self._repository.add(row)
        self._logged(row, "created")
        return self._one(row)

    def _page(
        self,
        *,
        plan_id: str | None,
        run_id: str | None,
        kind: str | None,
        resolved: bool | None,
        q: str,
        cursor: str | None,
        limit: int,
    ) -> tuple[Sequence[NoteRow], str | None]:
        rows = self._repository.page(
            plan_id=plan_id,
            run_id=run_id,
            after=decode_cursor(cursor) if cursor is not None else None,
            kind=kind,
            resolved=resolved,
            words=q.split(),
            limit=limit + 1,
        )
        last = rows[limit - 1] if len(rows) > limit else None
        return rows[:limit], encode_cursor(last.written_at, last.id) if last is not None else None

    def _one(self, row: NoteRow) -> schemas.Note:
        """With its anchor as the revision has it that the note was written at."""
        return self._described([row], None)[0]

    def _described(self, rows: Sequence[NoteRow], build: Callable[[], BuiltPlan] | None) -> list[schemas.Note]:
        """With their anchors in that plan, which is only computed if one of them is in a plan;
        None: in their own revisions."""
        runs = self._repository.runs_there(row.run_id for row in rows if row.run_id is not None)
        built: BuiltPlan | None = None
        notes: list[schemas.Note] = []
        for row in rows:
            if row.kind == "moment":
                here = row.run_id if row.run_id in runs else None
            elif build is None:
                here = row.name
            else:
                assert row.name is not None
                built = build() if built is None else built
                here = anchors.found(built, row.kind, row.name, row.ends)
            notes.append(_note(row, here))
        return notes

    def _row(self, note_id: str, *, lock: bool = False) -> NoteRow:
        row = self._repository.note(note_id, lock=lock)
        if row is None:
            raise not_found(f"note {note_id}")
        return row

    def _run(self, run_id: str) -> RunRow:
        run = self._runs.run(run_id)
        if run is None:
            raise not_found(f"run {run_id}")
        return run

    def _plan_of(self, run: RunRow) -> tuple[str | None, int | None]:
        """The saved plan's revision that a run was made of, if it is still there."""
        experiment: ExperimentRow | None = None
        if run.experiment_id is not None:
            experiment = self._experiments.experiment(run.experiment_id)
        if experiment is None or experiment.plan_id is None or experiment.plan_revision is None:
            return None, None
        if self._plan_rows.revision(experiment.plan_id, experiment.plan_revision) is None:
            return None, None
        return experiment.plan_id, experiment.plan_revision

    def _logged(self, row: NoteRow, action: ChangeAction) -> None:
        detail = f"at revision {row.revision}" if row.revision is not None else ""
        self._log.record("note", action, row.id, _where(row), detail, plan_id=row.plan_id)


def etag(note: schemas.Note) -> str:
    """Of the whole note: the same again for a note that is reopened as it was."""
    return f'"{note.id}.{hashlib.sha256(note.model_dump_json().encode()).hexdigest()[:16]}"'


def _where(row: NoteRow) -> str:
    if row.kind == "moment":
        return f"run {row.run_id} at {row.at_secs:g} s"
    return f"{row.kind} {row.name}"


def _note(row: NoteRow, here: str | None) -> schemas.Note:
    same = ("id", "revision", "text", "version", "edited_by", "edited_at", "resolved_by", "resolved_at")
    return schemas.Note(
        **{name: getattr(row, name) for name in same},
        plan=row.plan_id,
        anchor=schemas.Anchor(
            kind=row.kind,  # pyright: ignore[reportArgumentType] - pydantic checks it
            name=row.name,
            ends=row.ends,
            run=row.run_id,
            at_secs=row.at_secs,
        ),
        here=here,
        by=row.written_by,
        at=row.written_at,
    )
