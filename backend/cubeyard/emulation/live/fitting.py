"""What of a plan is emulated, as an answer to a request: the experiment with the fields that it came with, and those changed."""

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
    experiments: ExperimentService, engine: Engine, asked: ExperimentCreate, servers: int | None
) -> schemas.FittedEmulation:
    """Raises a 422 that names what cannot be emulated, whatever part of the plan is taken."""
    if asked.engine != EMULATION.name:
        message = "Only an emulation takes a part of a plan."
        raise field_error("body.experiment.engine", asked.engine, message, limit=EMULATION.name)
    # Random faults are drawn among the devices that are taken.
    with _of_experiment():
        document = experiments.document(asked.model_copy(update={"fault_schedules": []}))
        found = fit(engine, document, servers)
    return schemas.FittedEmulation(
        kind=found.kind,
        servers=found.servers,
        of_servers=found.of_servers,
        sentence=found.sentence,
        outside=[schemas.OutsideOfFit(field=one.field, value=one.value, message=one.message) for one in found.outside],
        experiment=_changed(asked, document, found),
        command=None if asked.fault_schedules else command_of(found.document),
    )


@contextmanager
def _of_experiment() -> Iterator[None]:
    """Fields as they stand in this request."""
    try:
        yield
    except ProblemError as error:
        for one in error.errors:
            one.field = one.field.replace("body.", "body.experiment.", 1)
        raise


def _changed(asked: ExperimentCreate, before: Json, found: Fit) -> Json:
    """The request, with what the fit has changed. What was left to its default stays so."""
    kept = asked.model_dump(mode="json", exclude_unset=True)
    after = found.document
    if after["plan"] != before["plan"]:
        kept["plan"] = after["plan"]["spec"]
    if after["workload"] != before["workload"]:
        kept["workload"] = after["workload"]
    left_out = {one.field for one in found.outside}
    if "faults" in kept:
        kept["faults"] = [one for i, one in enumerate(kept["faults"]) if f"faults.{i}" not in left_out]
    own, new = before["emulation"], after["emulation"]
    settings = kept.get("emulation") or {}
    for name in {*own, *new}:
        if own.get(name) != new.get(name):
            settings[name] = new.get(name)
    if settings:
        kept["emulation"] = {name: value for name, value in settings.items() if value is not None}
    return kept
