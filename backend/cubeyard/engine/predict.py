"""Predictions and simulations of an experiment, its faults and its requests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import orjson

from cubeyard.built_plan import Json, as_bytes
from cubeyard.engine.call import Calls, CancelledError, OnPartial, OnProgress, as_text, binding, calling, canonical


class Predictions(Calls):
    @cached_property
    def fault_kinds(self) -> list[Json]:
        """The catalogue of fault kinds, in the order of menus. `carries`: the target still carries
        packets (it is degraded, it has not failed); `process`: `ends` or `pauses` the server's
        process; `stands_for`: the exact kinds of a general one."""
        return fault_kinds()

    @cached_property
    def engines(self) -> list[Json]:
        """The engines of the binding, by which `predict_json` and `outline_json` choose:
        `[{name, method, summary, faults, settings, form}]`."""
        return computing_engines()

    def predict_json(
        self,
        spec: Mapping[str, Any],
        experiment: Mapping[str, Any],
        on_progress: OnProgress | None = None,
        on_frame: OnPartial | None = None,
    ) -> bytes:
        """What a plan carries under an experiment, computed by the engine that
        `experiment["engine"]` names (`flow` if none).

        `on_progress(done, total)` is called while it is computed, and `False` cancels; `on_frame`
        gets every frame of the run as JSON text, in order. Takes no turn: it may run for minutes,
        on as many threads as the machine has. Raises PlanRejectedError with findings,
        CancelledError.
        """
        with calling():
            return as_bytes(binding().predict(as_text(spec), as_text(experiment), on_progress, on_frame))

    def predict_in_turn(
        self, spec: Mapping[str, Any], experiment: Mapping[str, Any], on_progress: OnProgress | None = None
    ) -> bytes:
        """The same for a request: it waits for its turn among the predictions, and is refused when
        its plan is too large. `on_progress(0, 0)` is called when the turn has come."""
        self.refuse_oversize(canonical(spec))
        with self._call("predict", long=True):
            if on_progress is not None and not on_progress(0, 0):
                raise CancelledError
            return self.predict_json(spec, experiment, on_progress)

    def outline_json(self, spec: Mapping[str, Any], experiment: Mapping[str, Any]) -> bytes:
        """What an experiment's first seed would run, checked but not computed:
        `{routing, flows, failed, keeps_paths}`. Raises as `predict_json`."""
        self.refuse_oversize(canonical(spec))
        with self._call("outline"):
            return as_bytes(binding().outline(as_text(spec), as_text(experiment)))

    def fault_targets(self, spec: Mapping[str, Any], faults: list[Json], seed: int) -> list[Json]:
        """What each fault strikes, drawn as a prediction draws: `{nodes, links}` by id."""
        with calling():
            return orjson.loads(binding().fault_targets(as_text(spec), as_text(faults), seed))

    def rates_over_paths(self, spec: Mapping[str, Any], paths: list[list[int]], link_gbps: float) -> list[float]:
        """The max-min fair rate of every flow in Gb/s, over its own path of server ids, both ends
        included; an empty path carries nothing. `link_gbps` is the slowest link's rate. Raises
        PlanRejectedError for servers that follow each other and share no link and no switch."""
        with calling():
            return binding().rates_over_paths(as_text(spec), paths, link_gbps)

    def requests_of(self, spec: Mapping[str, Any], workload: Mapping[str, Any], seed: int) -> Json:
        """Who asks whom in a workload of requests, without its `kind`:
        `{clients: [{server, asks, seed}], request_bytes, response_bytes}`, ids. Raises
        PlanRejectedError with findings."""
        with calling():
            return orjson.loads(binding().requests_of(as_text(spec), as_text(workload), seed))

    def requests_answered(self, spec: Mapping[str, Any], experiment: Mapping[str, Any], from_secs: float) -> Json:
        """What becomes of an experiment's requests in the packet engine, of those that start at
        `from_secs` or later: `{requests, answered, mean_secs}`. Takes seconds where there are some
        hundred thousand. Raises PlanRejectedError with findings."""
        with self._call("figure", long=True):
            return orjson.loads(binding().requests_answered(as_text(spec), as_text(experiment), from_secs))


def computing_engines() -> list[Json]:
    """`Engine.engines`, for the types of requests, which exist before an engine does."""
    return orjson.loads(binding().engines_json())


def fault_kinds() -> list[Json]:
    """`Engine.fault_kinds`, for the types of requests, which exist before an engine does."""
    return orjson.loads(binding().fault_kinds())


def fault_from_text(text: str) -> Json:
    """A fault of `KIND[:AMOUNT]=TARGET[@FROM[-UNTIL][~PERIOD]]`. Raises PlanRejectedError."""
    with calling():
        return orjson.loads(binding().fault_from_text(text))
