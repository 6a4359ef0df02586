"""Kinds of faults that a kernel cannot inject, refused before a run starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cubeyard.experiments.fault_kinds import KINDS
from cubeyard.kit.errors import field_error

Json = dict[str, Any]
Kinds = Iterable[tuple[str, str]]
"""Fields of a request, each with the kind of fault in it."""

NEEDS = {name: kind.needs for name, kind in KINDS.items() if kind.needs}
"""By kind: its need of the kernel that other runs do not have, as the fabric's probe names it."""


def kinds_of(document: Json) -> Kinds:
    """The kinds of an experiment's faults, and the kinds that its random schedules can draw."""
    own = len(document["faults"]) - document.get("drawn_faults", 0)
    for number, fault in enumerate(document["faults"][:own]):
        yield f"body.faults.{number}.kind", fault.get("kind") or "down"
    for number, schedule in enumerate(document.get("fault_schedules") or []):
        for at, kind in enumerate(schedule["kinds"]):
            yield f"body.fault_schedules.{number}.kinds.{at}", kind


def missing_kinds(probed: Json) -> dict[str, str]:
    """Kinds of faults that a kernel cannot inject, with the reasons. `probed` is the report of its
    fabric."""
    reasons = probed.get("reasons") or {}
    lacking = {kind: need for kind, need in NEEDS.items() if probed.get(need) is False}
    return {kind: reasons.get(need, f"it has no {need}") for kind, need in lacking.items()}


def refuse_missing(kinds: Kinds, missing: Mapping[str, str]) -> None:
    """Raises a 422 for a kind that is `missing`, with its reason."""
    for field, kind in kinds:
        if kind in missing:
            raise field_error(
                field,
                kind,
                f"The kernel cannot inject {kind}: {missing[kind].removesuffix('.')}.",
                hint=f"Load the module `sch_{NEEDS[kind]}`, choose another kind, or predict the run.",
            )
