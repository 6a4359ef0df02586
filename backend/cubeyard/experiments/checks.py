"""Checks a request with the engine before anything is stored, so that errors name the request's
field, value, limit and fix."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson

from cubeyard.engine import Engine, Json, PlanRejectedError
from cubeyard.experiments.points import extremes
from cubeyard.kit.errors import FieldError, ProblemError, shown


def outlines(engine: Engine, document: Json, titles: list[str]) -> list[Json]:
    """The outline of a point on each of the document's topologies:
    `{routing, flows, failed, keeps_paths}`.

    Raises a 422 that names the field. A workload or routing scheme must be valid for every topology
    of a sweep.
    """
    matches = []
    for (least, _), title in zip(extremes(document), titles, strict=True):
        on = title if len(titles) > 1 else None
        with refused_by_field("body", on=on, faults=len(document["faults"])):
            matches.append(orjson.loads(engine.outline_json(least.spec, least.experiment)))
    return matches


@contextmanager
def refused_by_field(prefix: str, *, on: str | None = None, faults: int | None = None) -> Iterator[None]:
    """Converts the engine's findings to errors of the request's fields.

    `prefix` is the path of the checked part in the request; `on` is the topology, if there are
    several; `faults` is the number of faults in the request, which are followed by faults from its
    axes.
    """
    try:
        yield
    except PlanRejectedError as error:
        findings = [_on(finding, on) for finding in error.findings]
        errors = [_field_error(finding, prefix, faults) for finding in findings if finding["severity"] == "error"]
        first = errors[0] if errors else None
        detail = f"{first.field}: {first.message}" if first else error.detail
        raise ProblemError(422, error.code, detail, errors=errors, findings=findings) from error


def _on(finding: Mapping[str, Any], title: str | None) -> Json:
    return dict(finding) if title is None else {**finding, "message": f"On {title}: {finding['message']}"}


def _field_error(finding: Json, prefix: str, faults: int | None) -> FieldError:
    path = re.sub(r"\[(\d+)\]", r".\1", finding["where"])
    struck = re.match(r"faults\.(\d+)", path)
    if struck and faults is not None and int(struck[1]) >= faults:
        path = "axes.failure"
    limit = finding.get("limit")
    return FieldError(
        field=prefix if path == "experiment" else f"{prefix}.{path}",
        value=shown(finding.get("value")),
        limit=None if limit is None else str(limit),
        message=finding["message"],
        hint=finding.get("hint") or None,
    )
