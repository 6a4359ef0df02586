"""A list of cables beside a revision of a saved plan. Nothing is stored."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from cubeyard.asbuilt.document import as_built
from cubeyard.asbuilt.readers import BadListError, Mistake, read
from cubeyard.asbuilt.readers.listing import MAX_MISTAKES
from cubeyard.asbuilt.schemas import AsBuilt
from cubeyard.engine import Engine
from cubeyard.kit.errors import FieldError, ProblemError
from cubeyard.plans.service import PlanService
from cubeyard.plans.view import PlanView


class AsBuiltService:
    def __init__(self, session: Session, engine: Engine) -> None:
        self._plans = PlanService(session, engine)

    def compare(self, plan_id: str, revision: int, file: bytes, host: str | None) -> AsBuilt:
        """Raises a 404 for a plan that is not there, and a 422 with every mistake of the file."""
        plan, _, build = self._plans.buildable(plan_id, revision)
        try:
            listing = read(file, host)
        except BadListError as error:
            raise _problem(error.mistakes) from None
        return as_built(PlanView.of(build(), plan.name), listing)


def _problem(mistakes: Sequence[Mistake]) -> ProblemError:
    errors = [
        FieldError(
            field=f"body.{mistake.where}",
            value=mistake.value,
            message=mistake.message,
            hint=mistake.hint or None,
            line=mistake.line,
        )
        for mistake in mistakes
    ]
    most = "at least " if len(errors) == MAX_MISTAKES else ""
    detail = (
        f"The list has {most}{len(errors)} mistakes." if len(errors) > 1 else f"{errors[0].field}: {errors[0].message}"
    )
    return ProblemError(422, "invalid", detail, errors=errors)
