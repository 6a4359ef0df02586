"""Background schedules of faults: random ones at a mean interval, repaired after a mean time, all
known before the run begins.

A schedule is drawn from its own seed and the network's names alone, so that it strikes the same at
every run. Times between faults and times to repair are exponential, as for parts that fail
independently of each other. `[ours]`
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from math import inf, log1p
from typing import Annotated, Any

from pydantic import Field, model_validator

from cubeyard.engine import Engine
from cubeyard.experiments.fault_kinds import KINDS, KindName, Target
from cubeyard.experiments.short import MAX_SEED
from cubeyard.kit.errors import field_error
from cubeyard.plans.schemas import Request

Json = dict[str, Any]
MAX_FAULTS = 200
"""Most faults of an experiment, including those of its schedules."""
MAX_SCHEDULES = 4
TRIES = 32
"""A device that is broken at that time already is drawn again so often; then the fault is left
out."""
LEAST_SECS = 0.1


class FaultSchedule(Request):
    """Random faults: one of `kinds` on a device or link that is not broken yet, at random times,
    each repaired on its own."""

    kinds: list[KindName] = Field(
        min_length=1,
        max_length=16,
        description="Each fault is one of these, with the default of its parameter.",
        examples=[["cable-pulled", "switch-off"]],
    )
    mean_interval_secs: float = Field(ge=0.1, le=1e6, allow_inf_nan=False, description="Between two faults.")
    mean_repair_secs: float | None = Field(
        default=None, ge=0.1, le=1e6, allow_inf_nan=False, description="From a fault to its end; null: permanently."
    )
    count: int = Field(ge=1, le=100, description="Most faults.")
    from_secs: float = Field(default=0.0, ge=0, le=1e6, allow_inf_nan=False, description="No fault is earlier.")
    until_secs: float | None = Field(
        default=None,
        ge=0,
        le=1e6,
        allow_inf_nan=False,
        description="No fault is later, nor after an emulation; null: all of `count`.",
    )
    seed: int = Field(default=7, ge=0, le=MAX_SEED, description="The same seed draws the same faults.")

    @model_validator(mode="after")
    def _in_order(self) -> FaultSchedule:
        if self.until_secs is not None and self.until_secs < self.from_secs:
            raise ValueError(f"until_secs: it is before from_secs, which is {self.from_secs:g}; give a later time")
        return self


def _is_empty(value: list[Any]) -> bool:
    return not value


FaultSchedules = Annotated[
    list[FaultSchedule],
    Field(
        max_length=MAX_SCHEDULES,
        exclude_if=_is_empty,
        description="Random faults beside those that are listed; an estimate lists what they draw.",
    ),
]


def drawn(engine: Engine, spec: Mapping[str, Any], document: Mapping[str, Any]) -> list[Json]:
    """The faults that an experiment's schedules draw, each schedule's in order of time.

    `document` has `fault_schedules`, and the settings of an emulation: nothing breaks outside of
    its slice or after its end. Raises a 422 that names a schedule whose kinds hit nothing of the
    network, and one if there are more faults than an experiment may have.
    """
    schedules = [
        FaultSchedule.model_validate(fault_schedule) for fault_schedule in document.get("fault_schedules") or []
    ]
    if not schedules:
        return []
    emulation = document.get("emulation") or {}
    names = _names(engine.emulation_network(spec, emulation.get("slice")))
    ends = emulation.get("seconds", inf)
    busy: dict[str, float] = {}
    matches = [
        item
        for at, each in enumerate(schedules)
        for item in _drawn(each, names, busy, f"body.fault_schedules.{at}")
        if item["at_secs"] < ends
    ]
    total = len(matches) + len(document.get("faults") or [])
    if total > MAX_FAULTS:
        raise field_error(
            "body.fault_schedules",
            total,
            f"With the drawn ones there would be {total} faults.",
            limit=f"at most {MAX_FAULTS}",
            hint="Lower the schedules' counts.",
        )
    return matches


def _names(network: Mapping[str, Any]) -> dict[Target, list[str]]:
    """Names of the parts that can fail, by class, in the order of ids."""
    name_of = {item["id"]: item["name"] for group in ("servers", "switches") for item in network[group]}
    links = dict.fromkeys(f"{name_of[link['a'][0]]}/{name_of[link['b'][0]]}" for link in network["links"])
    return {
        "server": [server["name"] for server in network["servers"]],
        "switch": [switch["name"] for switch in network["switches"]],
        "link": list(links),
    }


def _drawn(
    schedule: FaultSchedule, names: Mapping[Target, Sequence[str]], busy: dict[str, float], field: str
) -> list[Json]:
    """The faults of one schedule. `busy` has the time until which each device is broken, and is
    updated."""
    kinds: list[tuple[str, Target]] = [
        (kind, target) for kind in schedule.kinds for target in KINDS[kind].targets if names[target]
    ]
    if not kinds:
        message = f"There is nothing in this network that {', '.join(schedule.kinds)} could hit."
        raise field_error(f"{field}.kinds", schedule.kinds, message, hint="Choose other kinds.")
    draws = random.Random(schedule.seed)  # noqa: S311 - reproducible, not secret
    at_secs, result = schedule.from_secs, []
    for _ in range(schedule.count):
        at_secs = round(at_secs + _exponential(draws, schedule.mean_interval_secs), 3)
        if schedule.until_secs is not None and at_secs > schedule.until_secs:
            break
        lasts = None if schedule.mean_repair_secs is None else _exponential(draws, schedule.mean_repair_secs)
        until = None if lasts is None else round(at_secs + max(lasts, LEAST_SECS), 3)
        struck = _struck(draws, kinds, names, busy, at_secs)
        if struck is None:
            continue
        kind, name = struck
        busy[name] = float("inf") if until is None else until
        result.append(
            {
                "at_secs": at_secs,
                "target": {"names": [name]},
                "kind": kind,
                "until_secs": until,
                **{parameter.name: parameter.default for parameter in KINDS[kind].parameters},
            }
        )
    return result


def _struck(
    draws: random.Random,
    kinds: Sequence[tuple[str, Target]],
    names: Mapping[Target, Sequence[str]],
    busy: Mapping[str, float],
    at_secs: float,
) -> tuple[str, str] | None:
    """A kind and what it hits, which is whole at that time; None if nothing like that was found."""
    for _ in range(TRIES):
        kind, target = kinds[int(draws.random() * len(kinds))]
        name = names[target][int(draws.random() * len(names[target]))]
        if busy.get(name, 0.0) <= at_secs:
            return kind, name
    return None


def _exponential(draws: random.Random, mean_secs: float) -> float:
    return -mean_secs * log1p(-draws.random())
