"""A list of cables beside a revision of a saved plan. Nothing is stored."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from cubeyard.asbuilt.document import as_built
from cubeyard.asbuilt.readers import BadListError, Mistake, read
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
            raise _problem(error.mistakes, str(error)) from None
        return as_built(PlanView.of(build(), plan.name), listing)


def _problem(mistakes: Sequence[Mistake], detail: str) -> ProblemError:
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
    return ProblemError(422, "invalid", detail, errors=errors)
