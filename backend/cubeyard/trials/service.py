"""Trials of services: checks before a trial, and its progress."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import orjson

from cubeyard.engine import Engine, Json, OnProgress, PlanRejectedError
from cubeyard.kit.errors import field_error
from cubeyard.trials import schemas

OnFrame = Callable[[str], None]
Work = Callable[[OnFrame, OnProgress], Json]
NO_TIME: dict[str, Any] = {"size": [2, 1, 1], "secs": 0.0, "message": ""}
"""A trial of zero seconds, which only checks whether the service is valid."""


class TrialService:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def prepared(self, trial: schemas.ServiceTrial) -> Work:
        """The checked trial. Raises ProblemError with the field if the service is unknown, the
        module does not start, or there are too many servers."""
        most = self._engine.service_limits()["max_servers"]
        servers = prod(trial.size)
        if not 2 <= servers <= most:
            raise field_error(
                "body.size",
                list(trial.size),
                f"A torus of {servers:,} servers.",
                limit=f"2 to {most:,} servers",
                hint="Give smaller sides, like [20, 20, 20]."
                if servers > most
                else "Give larger sides, like [3, 3, 3].",
            )
        run = self._tried(trial)
        try:
            run(schemas.options_of(trial, **NO_TIME), None)
        except PlanRejectedError as error:
            finding = error.findings[0]
            field = f"body.{finding['where']}"
            raise field_error(field, trial.service, finding["message"], hint=finding["hint"]) from error
        options = schemas.options_of(trial)

        def work(on_frame: OnFrame, on_progress: OnProgress) -> Json:
            told = -1

            def tell(done: int, total: int) -> bool:
                nonlocal told
                if done > told:
                    told = done
                    on_frame(orjson.dumps({"kind": "progress", "done": done, "total": total}).decode())
                return on_progress(done, total) is not False

            return run(options, tell)

        return work

    def _tried(self, trial: schemas.ServiceTrial) -> Callable[[Mapping[str, Any], OnProgress | None], Json]:
        if trial.service is not None:
            name = trial.service
            return lambda options, told: self._engine.built_in_trial(name, options, told)
        try:
            module = base64.b64decode(trial.module or "", validate=True)
        except (binascii.Error, ValueError):
            hint = "Encode the module's file, for example by base64 -w0 FILE."
            raise field_error("body.module", trial.module, "This is not base64.", hint=hint) from None
        return lambda options, told: self._engine.service_trial(module, options, told)
