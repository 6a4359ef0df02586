"""A plan's life: years of failures and repairs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import orjson

from cubeyard.built_plan import Json
from cubeyard.engine.call import Calls, OnPartial, OnProgress, as_text, binding, calling, canonical


class Lives(Calls):
    @cached_property
    def failure_rates(self) -> list[Json]:
        """How often parts fail:
        `[{part, title, unit, afr, basis, confidence, date, source, note}]`."""
        return orjson.loads(binding().failure_rates())

    def check_life(self, question: Mapping[str, Any], book: Mapping[str, Any]) -> None:
        """Raises PlanRejectedError with what is wrong with a question about a plan's life, or with
        the plan."""
        self.refuse_oversize(canonical(question["plan"]))
        with calling():
            binding().check_life(as_text(question), as_text(book))

    def life(
        self,
        question: Mapping[str, Any],
        book: Mapping[str, Any],
        on_frame: OnPartial | None = None,
        on_progress: OnProgress | None = None,
    ) -> Json:
        """Years of failures and repairs of a plan on all cores: up to a minute. `on_frame` gets
        every frame as JSON text, in order; `on_progress`'s `False` cancels. Takes a turn among the
        long ones where it is watched. Raises PlanRejectedError, CancelledError."""
        with self._call("life", long=True):
            request = as_text(question), as_text(book)
            return orjson.loads(binding().life(*request, on_progress, on_frame))
