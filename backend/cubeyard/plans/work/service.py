"""The rules of marks: only cables that the revision has, the last change of a cable counts, and
progress by rack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.orm import Session

from cubeyard.built_plan import BuiltPlan
from cubeyard.engine import Engine
from cubeyard.kit.changes.service import ChangeLog
from cubeyard.kit.errors import FieldError, ProblemError, not_found
from cubeyard.plans.service import PlanService
from cubeyard.plans.work.models import CableMarkRow
from cubeyard.plans.work.repository import WorkRepository
from cubeyard.plans.work.schemas import (
    MAX_MARKS,
    Mark,
    MarkChange,
    MarkPage,
    MarkState,
    RackProgress,
    WorkProgress,
)

if TYPE_CHECKING:
    import numpy as np

MAX_ERRORS = 20
"""Most unknown cables that one error names."""


class WorkService:
    def __init__(self, session: Session, engine: Engine) -> None:
        self._plans = PlanService(session, engine)
        self._repository = WorkRepository(session)
        self._log = ChangeLog(session)

    def progress(self, plan_id: str, revision: int) -> WorkProgress:
        import numpy as np

        built = self._plans.built(plan_id, revision)[2]
        racks = built.scene["racks"]["name"]
        ends = _cable_racks(built)
        state = np.zeros(built.cable_count, dtype=np.int8)
        for cable, name in self._repository.states(plan_id, revision):
            if cable < len(state):  # a later engine can compute fewer cables for the revision
                state[cable] = 1 if name == "done" else 2

        def by_rack(cables: np.ndarray) -> list[int]:
            a, b = ends[0][cables], ends[1][cables]
            count = np.bincount(a, minlength=len(racks)) + np.bincount(b[a != b], minlength=len(racks))
            return count.tolist()

        columns = zip(racks, *(by_rack(which) for which in (state >= 0, state == 1, state == 2)), strict=True)
        return WorkProgress(
            cables=built.cable_count,
            done=int((state == 1).sum()),
            exceptions=int((state == 2).sum()),
            racks=[
                RackProgress(rack=rack, cables=cables, done=done, exceptions=exceptions)
                for rack, cables, done, exceptions in columns
            ],
        )

    def marks(
        self, plan_id: str, revision: int, *, rack: str | None, state: MarkState | None, after: int, limit: int
    ) -> MarkPage:
        cables: list[int] | None = None
        if rack is None:
            self._plans.read(plan_id, revision)
        else:
            cables = _cables_of_rack(self._plans.built(plan_id, revision)[2], rack)
        rows = self._repository.page(plan_id, revision, cables=cables, state=state, after=after, limit=limit + 1)
        following = rows[limit - 1].cable if len(rows) > limit else None
        return MarkPage(items=[_mark(row) for row in rows[:limit]], next=following)

    def write(self, plan_id: str, revision: int, changes: list[MarkChange], by: str | None) -> MarkPage:
        """Applies all changes or, if a cable is not in the revision, none. Returns the marks of
        these cables afterwards."""
        plan, _, built = self._plans.built(plan_id, revision)
        count = built.cable_count
        unknown = [
            FieldError(
                field=f"body.marks.{index}.cable",
                value=change.cable,
                limit=f"at most {count - 1}",
                message=f"This revision has no cable {change.cable}.",
                hint="Read the revision's cables again.",
            )
            for index, change in enumerate(changes)
            if change.cable >= count
        ]
        if unknown:
            raise ProblemError(422, "invalid", unknown[0].message, errors=unknown[:MAX_ERRORS])
        self._repository.lock(plan_id, revision)
        last = {change.cable: change for change in changes}
        marks = [last[cable] for cable in sorted(last)]
        marked = self._repository.write(plan_id, revision, [mark for mark in marks if mark.state != "open"], by)
        opened = self._repository.remove(plan_id, revision, [mark.cable for mark in marks if mark.state == "open"])
        if marked or opened:
            detail = f"revision {revision}: {_cables(marked)} marked, {_cables(opened)} opened again"
            self._log.record("work", "marked", plan_id, plan.name, detail, plan_id=plan_id)
        rows = self._repository.page(plan_id, revision, cables=list(last), limit=MAX_MARKS)
        return MarkPage(items=[_mark(row) for row in rows], next=None)


def _cables(count: int) -> str:
    return "1 cable" if count == 1 else f"{count} cables"


def _cable_racks(built: BuiltPlan) -> tuple[np.ndarray, np.ndarray]:
    """The racks of both ends of every cable."""
    import numpy as np

    racks = np.asarray(built.scene["devices"]["rack"], dtype=np.int64)
    cables = built.all_cables
    return racks[cables["a_device"]], racks[cables["b_device"]]


def _cables_of_rack(built: BuiltPlan, rack: str) -> list[int]:
    import numpy as np

    names: list[str] = built.scene["racks"]["name"]
    if rack not in names:
        raise not_found(f"rack {rack}")
    index = names.index(rack)
    a, b = _cable_racks(built)
    return np.flatnonzero((a == index) | (b == index)).tolist()


def _mark(row: CableMarkRow) -> Mark:
    return Mark(
        cable=row.cable,
        state=row.state,  # pyright: ignore[reportArgumentType] - pydantic checks it
        note=row.note,
        by=row.marked_by,
        at=row.marked_at,
    )
