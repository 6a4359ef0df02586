"""Converts arguments of a call to an experiment: the same document that the API stores for a
request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cubeyard.engine import Json
from cubeyard.experiments.fault_text import fault_of
from cubeyard.experiments.points import ENGINE_FIELDS, QUESTION_FIELDS, plain_faults
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.experiments.short import FAILURE_KINDS, failure_kind, selector_fault, share_fault
from cubeyard.notebook.errors import explained, mistake
from cubeyard.notebook.plain import plain
from cubeyard.notebook.plans import Plan, spec_of
from cubeyard.notebook.topology import Topology
from cubeyard.reading.units import amount, without_noise

Asked = Topology | Plan | Mapping[str, Any] | str | Path
"""The subject of an experiment: a topology, a plan, a spec, or a JSON file with a spec."""
Failures = Mapping[str, Any] | str | Sequence[str | Mapping[str, Any]]
"""Failed or degraded parts: shares of all devices by kind (`{"switches": 0.1}`), words
(`"10% of level-1 switches"`, `"rack R03"`), faults in the syntax of the command line
(`"link-rate:100M=10% of links"`, `"down=00/<0,0>@0.1-0.5"`) or of the API
(`{"kind": "down", "target": {"names": ["00/<0,0>"]}}`), or a list of these."""
Seeds = int | Sequence[int]
"""A number of seeds, which start at 7, or a list of seeds."""

FIRST_SEED = 7
MOST_SEEDS = 1000
RENAMED = {"faults": "failures"}
"""Names of arguments by the field of the request that they set."""


def question(
    what: Asked,
    workload: str | Mapping[str, Any],
    failures: Failures | None,
    seeds: Seeds,
    **fields: Any,
) -> Json:
    """The document of an experiment on one plan: `{plan, workload, faults, seeds, axes, ...}`.
    Raises CubeyardError, which names the argument."""
    with explained(RENAMED):
        request = ExperimentCreate.model_validate({
            "plan": spec_of(what),
            "workload": {"kind": workload} if isinstance(workload, str) else plain(workload),
            "faults": faults_of(failures),
            "seeds": seeds_of(seeds),
            **{name: plain(value) for name, value in fields.items() if value is not None},
        })  # fmt: skip
    requested = request.model_dump(mode="json", include=set(QUESTION_FIELDS))
    axes = None if request.axes is None else request.axes.model_dump(mode="json")
    return {
        "plan": {"id": None, "revision": None, "spec": spec_of(what)},
        **requested,
        "seeds": request.seeds,
        "axes": axes,
    }


def experiment(document: Json) -> Json:
    """The form in which the engine accepts all seeds of a document at once."""
    fields = {name: document[name] for name in ENGINE_FIELDS if name in document}
    return {**fields, "faults": plain_faults(document["faults"]), "seeds": document["seeds"]}


def faults_of(failures: Failures | None) -> list[Json]:
    """Converts failures to faults of an experiment."""
    if failures is None:
        return []
    return [fault for item in each_of(failures) for fault in _faults(item)]


def each_of(failures: Failures) -> list[Any]:
    """One failure, or several, as a list."""
    given: Any = plain(failures)
    return [given] if isinstance(given, str | Mapping) else list(given)


def has_rates(failure: Any) -> bool:
    """Whether it has rates by kind of device, and is not a fault of the API."""
    return isinstance(failure, Mapping) and "target" not in failure


def _faults(failure: Any) -> list[Json]:
    """Converts a failure to faults. Text is a selection of targets that go down or, with `=`, the
    syntax of the command line."""
    if has_rates(failure):
        return [share_fault(kind_of(word), rate_of(word, rate)) for word, rate in failure.items()]
    if not isinstance(failure, str):
        return [dict(failure)]
    if "=" not in failure:
        return [selector_fault(failure)]
    try:
        return [fault_of(failure)]
    except ValueError as error:
        raise mistake("failures", failure, str(error)) from None


def kind_of(word: str) -> str:
    """The kind of device with this name."""
    kind = failure_kind(word)
    if kind is None:
        raise mistake("failures", word, f"There are no {word} that fail", limit=f"one of {', '.join(FAILURE_KINDS)}")
    return kind


def rate_of(word: str, rate: Any) -> float:
    """Checks a failure rate. Raises CubeyardError if it is invalid."""
    rate = plain(rate)
    try:
        share = amount(rate, "") if isinstance(rate, str) else -1.0 if isinstance(rate, bool) else float(rate)
    except (TypeError, ValueError):
        share = -1.0
    if not 0 <= share <= 1:
        raise mistake(f"failures.{word}", rate, f"{rate} is not a share of all {word}", limit="0 to 1")
    return without_noise(share)


def seeds_of(seeds: Seeds) -> list[int]:
    """The list of seeds."""
    seeds = plain(seeds)
    if isinstance(seeds, int):
        if isinstance(seeds, bool) or not 1 <= seeds <= MOST_SEEDS:
            raise mistake("seeds", seeds, f"{seeds} is not a number of seeds", limit=f"1 to {MOST_SEEDS}")
        return [FIRST_SEED + step for step in range(seeds)]
    return list(seeds)
