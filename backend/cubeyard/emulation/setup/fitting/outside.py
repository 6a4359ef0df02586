"""Removes settings of an experiment that name devices outside the emulated part, one by one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from cubeyard.emulation.setup.question import Question, read
from cubeyard.engine import Engine
from cubeyard.experiments.checks import refused_by_field
from cubeyard.kit.errors import ProblemError, shown

Json = dict[str, Any]

MAX_LEFT_OUT = 400
"""More than the faults, gateways and images of any experiment together."""


@dataclass(frozen=True)
class LeftOut:
    """A removed part of an experiment."""

    field: str
    value: Any
    """The removed value, shortened."""
    message: str
    """Why the part does not fit."""


def read_inside(engine: Engine, document: Json) -> tuple[Question, Json, list[LeftOut]]:
    """Reads a document. Returns the question, the document without settings that name devices
    outside its network, and the removed settings.

    Raises the 422 of a field that cannot be removed.
    """
    left_out: list[LeftOut] = []
    places = list(range(len(document["faults"])))
    while True:
        try:
            return read(engine, document), document, left_out
        except ProblemError as error:
            where, message = _first(error)
            match = _without(document, where, places)
            if match is None or len(left_out) >= MAX_LEFT_OUT:
                raise
            document, field, value = match
            left_out.append(LeftOut(field, value, message))


def refuse_unknown(engine: Engine, document: Json) -> None:
    """Raises a 422 for a fault whose target is not in the whole plan either: it is misspelt."""
    faults = [{"target": fault["target"]} for fault in document["faults"]]
    if any(fault["target"].get("names") for fault in faults):
        with refused_by_field("body"):
            engine.fault_targets(document["plan"]["spec"], faults, document["seeds"][0])


def _first(error: ProblemError) -> tuple[str, str]:
    """The first invalid field with the reason; engine errors, which are findings, are included."""
    if error.errors:
        return error.errors[0].field, error.errors[0].message
    match = next((row for row in error.findings if row["severity"] == "error"), None)
    return ("", "") if match is None else (f"body.{match['where']}", match["message"])


def _without(document: Json, field: str, places: list[int]) -> tuple[Json, str, Any] | None:
    """The document without the part that contains a field; that part's name in the request; and its
    value."""
    settings = document.get("emulation") or {}
    if match := re.match(r"body\.faults\.(\d+)(?!\.at_secs)", field):
        at = int(match[1])
        kept = [fault for place, fault in enumerate(document["faults"]) if place != at]
        return {**document, "faults": kept}, f"faults.{places.pop(at)}", _target(document["faults"][at])
    if match := re.match(r"body\.workload\.(\w+)", field):
        name, workload = match[1], document["workload"]
        if name == "kind" or name not in workload:
            return None
        return {**document, "workload": _less(workload, name)}, f"workload.{name}", shown(workload[name])
    if match := re.match(r"body\.emulation\.(gateways|images)\.(\d+)", field):
        name, at = match[1], int(match[2])
        kept = [entry for place, entry in enumerate(settings[name]) if place != at]
        return {**document, "emulation": {**settings, name: kept}}, f"emulation.{name}", _named(settings[name][at])
    if field.startswith("body.emulation.upgrade") and settings.get("upgrade") is not None:
        return {**document, "emulation": _less(settings, "upgrade")}, "emulation.upgrade", "the upgrade"
    return None


def _less(value: Json, name: str) -> Json:
    return {key: field for key, field in value.items() if key != name}


def _target(fault: Json) -> Any:
    target = fault["target"]
    what = ", ".join(target["names"]) if target.get("names") else target.get("selector") or target
    return shown(f"{fault.get('kind', 'down')} of {what}")


def _named(value: Any) -> Any:
    return shown(value.get("name") or value.get("image")) if isinstance(value, dict) else shown(value)
