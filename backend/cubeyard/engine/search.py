"""The search for plans, and the metrics that compare them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import orjson

from cubeyard.built_plan import BuiltPlan, Json
from cubeyard.engine.call import Calls, OnPartial, OnProgress, as_text, binding, calling


class Searches(Calls):
    @cached_property
    def search_metrics(self) -> list[Json]:
        """The metrics of plans: `[{name, title, unit, units, stage, more, doc}]`."""
        return orjson.loads(binding().search_metrics())

    def check_search(self, question: Mapping[str, Any], book: Mapping[str, Any]) -> None:
        """Raises PlanRejectedError with what is wrong with a question about plans of a price
        book."""
        with calling():
            binding().check_search(as_text(question), as_text(book))

    def search(
        self,
        question: Mapping[str, Any],
        book: Mapping[str, Any],
        on_frame: OnPartial | None = None,
        on_progress: OnProgress | None = None,
    ) -> Json:
        """The front of a question on all cores: seconds to minutes. `on_frame` gets every frame as
        JSON text, in order; `on_progress` is called all the time, and `False` cancels. Takes a turn
        among the long ones. Raises PlanRejectedError with findings, CancelledError."""
        with self._call("search", long=True):
            return orjson.loads(binding().search(as_text(question), as_text(book), on_progress, on_frame))

    def lifecycle(self, plan: BuiltPlan, before: BuiltPlan | None = None) -> Json:
        """How hard a plan's wiring is to put up, and to reach from another one:
        `{deployment, expansion}`, the latter may be None."""
        with self._call("lifecycle"):
            return orjson.loads(binding().lifecycle(plan.raw, before and before.raw))
