"""Prepares a lifetime request: checks it, and finds the plan by spec or id, with its price book."""

from __future__ import annotations

from sqlalchemy.orm import Session

from cubeyard.catalog.service import CatalogService
from cubeyard.engine import Engine, Json
from cubeyard.kit.errors import field_error
from cubeyard.life import schemas
from cubeyard.plans.service import PlanService
from cubeyard.plans.spec import book_of, normal_spec


class LifeService:
    def __init__(self, session: Session, engine: Engine) -> None:
        self._catalog = CatalogService(session, engine)
        self._plans = PlanService(session, engine)
        self._engine = engine

    def rates(self) -> schemas.FailureRateList:
        return schemas.FailureRateList.model_validate({"items": self._engine.failure_rates})

    def prepared(self, request: schemas.LifeQuestion) -> tuple[Json, Json]:
        """The checked request and price book. Raises PlanRejectedError with every error by field,
        and a 404 for an unknown plan."""
        spec, book = self._plan(request.plan)
        question = {**request.model_dump(mode="json", exclude_none=True), "plan": {**spec, "catalog": book["book"]}}
        self._engine.check_life(question, book)
        return question, book

    def _plan(self, asked: Json) -> tuple[Json, Json]:
        if "id" not in asked:
            spec = normal_spec(asked)
            return spec, self._catalog.pin(book_of(spec)).content
        number = asked.get("revision")
        if set(asked) - {"id", "revision"} or not isinstance(asked["id"], str):
            hint = "Give the id as text, and no fields other than id and revision."
            raise field_error("body.plan", asked, "A saved plan is named by id and revision alone.", hint=hint)
        if number is not None and (not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**31):
            hint = "Give a whole number from 1 on, or leave it out for the newest."
            raise field_error("body.plan.revision", number, "The revision is not a revision number.", hint=hint)
        _, revision = self._plans.read(asked["id"], number)
        return revision.spec, self._catalog.pin(revision.book, revision.book_version).content
