"""Fits a plan to this machine for a request: returns the experiment, keeping its original fields,
and the changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cubeyard.emulation.live import schemas
from cubeyard.emulation.setup.fitting.command_line import command_of
from cubeyard.emulation.setup.fitting.fit import Fit, fit
from cubeyard.engine import Engine
from cubeyard.experiments.engines import EMULATION
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.experiments.service import ExperimentService
from cubeyard.kit.errors import ProblemError, field_error

Json = dict[str, Any]


def fitted(
    experiments: ExperimentService, engine: Engine, request: ExperimentCreate, servers: int | None
) -> schemas.FittedEmulation:
    """Raises a 422 that names the reason if no part of the plan can be emulated."""
    if request.engine != EMULATION.name:
        message = "Only an emulation takes a part of a plan."
        raise field_error("body.experiment.engine", request.engine, message, limit=EMULATION.name)
    # Random faults must be drawn among the devices of the chosen part.
    with _of_experiment():
        document = experiments.document(request.model_copy(update={"fault_schedules": []}))
        result = fit(engine, document, servers)
    return schemas.FittedEmulation(
        kind=result.kind,
        servers=result.servers,
        of_servers=result.of_servers,
        sentence=result.sentence,
        outside=[
            schemas.OutsideOfFit(field=item.field, value=item.value, message=item.message) for item in result.outside
        ],
        experiment=_changed(request, document, result),
        command=None if request.fault_schedules else command_of(result.document),
    )


@contextmanager
def _of_experiment() -> Iterator[None]:
    """Renames the fields in errors to those of this request."""
    try:
        yield
    except ProblemError as error:
        for entry in error.errors:
            if entry.field != "body.servers":
                entry.field = entry.field.replace("body.", "body.experiment.", 1)
        raise


def _changed(request: ExperimentCreate, before: Json, result: Fit) -> Json:
    """The request with the changes of the fit. Fields that had their default keep it."""
    kept = request.model_dump(mode="json", exclude_unset=True)
    after = result.document
    if after["plan"] != before["plan"]:
        kept["plan"] = after["plan"]["spec"]
    if after["workload"] != before["workload"]:
        kept["workload"] = after["workload"]
    left_out = {item.field for item in result.outside}
    if "faults" in kept:
        kept["faults"] = [fault for i, fault in enumerate(kept["faults"]) if f"faults.{i}" not in left_out]
    own, new = before["emulation"], after["emulation"]
    settings = kept.get("emulation") or {}
    for name in {*own, *new}:
        if own.get(name) != new.get(name):
            settings[name] = new.get(name)
    if settings:
        kept["emulation"] = {name: value for name, value in settings.items() if value is not None}
    return kept
