"""The points of an experiment, numbered from 0: each is one deterministic call of the engine.

The numbers ensure that each frame of a run is written once: point 17 is the same on any worker.
[ours]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cubeyard.experiments.fault_kinds import PARAMETERS

Json = dict[str, Any]

ENGINE_FIELDS = (
    "workload",
    "routing",
    "faults",
    "engine",
    "link_gbps",
    "max_min",
    "flow_gigabits",
    "link_load",
    "packet",
)


QUESTION_FIELDS = (*ENGINE_FIELDS, "emulation", "hypotheses", "fault_schedules")
"""The fields of a request that a document stores in addition to its plan, seeds and axes."""
FAULT_FIELDS = ("at_secs", "target", "kind", "until_secs", *PARAMETERS)
"""The fields of a fault for the flow engine, if the fault has them."""


@dataclass(frozen=True)
class Point:
    number: int
    topology: int
    """Which of the document's topologies."""
    seed: int
    failure_kind: str | None
    failure_ratio: float | None
    spec: Json
    experiment: Json
    """As the engine takes it: everything but the plan."""

    def described(self) -> Json:
        """The fields about the point in a frame, in addition to its result."""
        return {
            "point": self.number,
            "topology": self.topology,
            "seed": self.seed,
            "failure_kind": self.failure_kind,
            "failure_ratio": self.failure_ratio,
        }


def plain_faults(faults: list[Json]) -> list[Json]:
    """As the flow engine takes them."""
    return [{field: fault[field] for field in FAULT_FIELDS if field in fault} for fault in faults]


def specs_of(document: Json) -> list[Json]:
    """The specs that the points are computed on: the plan's own, unless the axes name
    topologies."""
    axes = document.get("axes") or {}
    return axes.get("topologies") or [document["plan"]["spec"]]


def seeds_of(document: Json) -> list[int]:
    axes = document.get("axes") or {}
    seeds = axes.get("seeds")
    if seeds is None:
        return document["seeds"]
    return [document["seeds"][0] + step for step in range(seeds)] if isinstance(seeds, int) else seeds


def failures_of(document: Json) -> list[tuple[str | None, float | None]]:
    axes = (document.get("axes") or {}).get("failure")
    return [(None, None)] if axes is None else [(axis["kind"], ratio) for axis in axes for ratio in axis["ratios"]]


def count(document: Json) -> int:
    return len(seeds_of(document)) * len(specs_of(document)) * len(failures_of(document))


def extremes(document: Json) -> list[tuple[Point, Point]]:
    """For each topology, the first seed's points with the least and the most failures; twice the
    same point if there is only one."""
    first_seed = {**document, "seeds": seeds_of(document)[:1], "axes": {**(document.get("axes") or {}), "seeds": None}}
    result: dict[int, list[Point]] = {}
    for point in points(first_seed):
        result.setdefault(point.topology, []).append(point)
    return [
        (min(each, key=lambda point: point.failure_ratio or 0), max(each, key=lambda point: point.failure_ratio or 0))
        for each in result.values()
    ]


def points(document: Json) -> Iterator[Point]:
    """Seeds outermost: the first seed's curves are whole before the second's begin, and the bands
    narrow from there."""
    number = 0
    fixed = {field: document[field] for field in ENGINE_FIELDS if field in document}
    if document.get("engine") == "packet" and count(document) > 1:
        # The link loads over time of many points would fill the database.
        fixed["packet"] = {"link_heat": False, **(document.get("packet") or {})}
    for seed in seeds_of(document):
        for topology, spec in enumerate(specs_of(document)):
            for kind, ratio in failures_of(document):
                faults = plain_faults(document["faults"])
                if ratio:
                    target = {"kind": kind, "ratio": ratio}
                    faults.append({"at_secs": 0.0, "target": target, "kind": "down", "until_secs": None})
                experiment = {**fixed, "faults": faults, "seeds": [seed]}
                yield Point(number, topology, seed, kind, ratio, spec, experiment)
                number += 1
