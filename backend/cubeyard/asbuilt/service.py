"""A list of cables beside a revision of a saved plan. Nothing is stored."""

from __future__ import annotations

from sqlalchemy.orm import Session

from cubeyard.asbuilt.document import as_built
from cubeyard.asbuilt.schemas import AsBuilt
from cubeyard.engine import Engine
from cubeyard.plans.service import PlanService
from cubeyard.plans.view import PlanView
from cubeyard.reading.cables import Listing


class AsBuiltService:
    def __init__(self, session: Session, engine: Engine) -> None:
        self._plans = PlanService(session, engine)

    def compare(self, plan_id: str, revision: int, listing: Listing) -> AsBuilt:
        """Raises a 404 for a plan that is not there."""
        plan, _, build = self._plans.buildable(plan_id, revision)
        return as_built(PlanView.of(build(), plan.name), listing)
