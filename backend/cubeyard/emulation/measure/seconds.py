"""Merges ten ticks into one frame, so that a page loads an hour of a session quickly. [ours]

The rule for each field is in its definition (`cubeyard/frames/tick.py`, `cubeyard/contract`), not
here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints

import numpy as np
from typing_extensions import is_typeddict

from cubeyard.contract.columns import Over
from cubeyard.frames.tick import TickFrame

Json = dict[str, Any]

TICKS = 10
CPU_DIGITS = 3
SUM_DIGITS = 6


@dataclass(frozen=True)
class _Field:
    """How a field of a tick is merged: by a rule, or recursively by the rules of its fields."""

    over: Over | None
    fields: dict[str, _Field]
    optional: bool
    """Whether the field is omitted if it is empty."""


def _fields_of(shape: Any) -> dict[str, _Field]:
    result = {}
    for name, hint in get_type_hints(shape, include_extras=True).items():
        over, plain, optional = _unwrapped(hint)
        result[name] = _Field(over, _fields_of(plain) if is_typeddict(plain) else {}, optional)
        assert result[name].over is not None or result[name].fields, f"{name} says nothing of how ticks add up"
    return result


def _unwrapped(hint: Any) -> tuple[Over | None, Any, bool]:
    """The rule among a field's annotations, its type without them, and whether it may be absent."""
    over, optional = None, False
    while get_origin(hint) in (Annotated, NotRequired):
        optional = optional or get_origin(hint) is NotRequired
        over = next((arg for arg in get_args(hint)[1:] if isinstance(arg, Over)), over)
        hint = get_args(hint)[0]
    return over, hint, optional


FIELDS = _fields_of(TickFrame)


class Seconds:
    """Collects ticks. After every tenth, returns a second in the same format, with the additional
    field `secs`."""

    def __init__(self) -> None:
        self._ticks: list[tuple[Json, float]] = []

    def add(self, tick: Json, secs: float) -> Json | None:
        """Adds a tick's frame and the time that it covers. Returns the second, if it is
        complete."""
        self._ticks.append((tick, secs))
        return self.rest() if len(self._ticks) == TICKS else None

    def rest(self) -> Json | None:
        """The incomplete second of the last ticks; None without any."""
        ticks = [tick for tick, _ in self._ticks]
        total_secs = sum(secs for _, secs in self._ticks)
        if not ticks:
            return None
        weights = [secs / total_secs if total_secs > 0 else 1 / len(ticks) for _, secs in self._ticks]
        self._ticks = []
        return {**_together(FIELDS, ticks, weights), "secs": round(total_secs, 3)}


def _together(fields: dict[str, _Field], parts: list[Json], weights: list[float]) -> Json:
    """Merges the fields that occur in any of the parts."""
    result: Json = {}
    for name, field in fields.items():
        there = [(part[name], weight) for part, weight in zip(parts, weights, strict=True) if name in part]
        if there:
            values, shares = [value for value, _ in there], [weight for _, weight in there]
            value = _together(field.fields, values, shares) if field.over is None else _over(field.over, values, shares)
            if value or not field.optional:
                result[name] = value
    return result


def _over(over: Over, values: list[Any], weights: list[float]) -> Any:
    if over is Over.LAST:
        return values[-1]
    if over is Over.ALL:
        return [item for value in values for item in value]
    if over is Over.MEAN:
        mean = np.average(values, axis=0, weights=weights)
        return np.round(mean, CPU_DIGITS).tolist()
    if over is Over.LONGEST:
        return _by_row(values, max) if isinstance(values[0], list) else max(values)
    return _sum(values)


def _sum(values: list[Any]) -> Any:
    """The sum of numbers, of counts by name, of rows as in `Few`, or of columns."""
    if isinstance(values[0], dict):
        sums: Counter[str] = Counter()
        for value in values:
            sums.update(value)
        return dict(sums)
    if isinstance(values[0], int | float):
        return sum(values) if isinstance(values[0], int) else round(sum(values), SUM_DIGITS)
    first = next((value for value in values if value), [None])[0]
    if isinstance(first, list | tuple):
        return _by_row(values, add)
    return np.array(values, dtype=np.int64).sum(axis=0).tolist()


def _by_row(values: list[list[list[int]]], both: Callable[[int, int], int]) -> list[list[int]]:
    """Merges rows with values, in the format of `Few`."""
    result: dict[int, list[int]] = {}
    for value in values:
        for row, *numbers in value:
            had = result.get(row)
            result[row] = list(numbers) if had is None else [both(*pair) for pair in zip(had, numbers, strict=True)]
    return [[row, *numbers] for row, numbers in sorted(result.items())]
