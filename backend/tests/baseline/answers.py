"""The engine's answers about small plans, one of each family, whose bytes the baseline keeps:
predictions, simulations, networks of emulations, searches, lives, chips, and quick figures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import orjson

from cubeyard.engine import Engine
from tests.exports import plans

Json = dict[str, Any]

PLANS: dict[str, Json] = {
    "bcube": {"family": "bcube", "n": 4, "k": 1},
    "partial-bcube": {"family": "bcube", "n": 4, "k": 2, "servers": 32},
    "dcell": {"family": "dcell", "n": 4, "k": 1},
    "torus": {"family": "torus3d", "x": 3, "y": 3, "z": 3},
    "subways-0": {"family": "subways", "type": 0, "p": 2, "q": 4, "l": 3, "c": 1, "clusters": 1},
    "subways-1": {"family": "subways", "type": 1, "p": 2, "q": 4, "l": 4, "c": 1, "clusters": 2},
    "subways-2": {"family": "subways", "type": 2, "p": 2, "q": 4, "l": 4, "c": 1, "clusters": 2},
    "fat-tree": {"family": "fat_tree", "ports": 4, "layers": 3},
    "tree": {"family": "tree", "edge_ports": 6, "servers": 16},
    "jellyfish": {"family": "jellyfish", "switches": 8, "ports": 6, "servers_per_switch": 2},
    **{name: plans.SPECS[name][0] for name in ("leaf-spine", "torus2d", "dragonfly", "custom")},
}
FAULTS: list[Json] = [
    {"kind": "down", "target": {"kind": "link", "ratio": 0.1}},
    {"kind": "link-rate", "rate_bits_per_sec": 5e8, "target": {"kind": "link", "ratio": 0.1}},
]
WORKLOADS: list[Json] = [{"kind": "all-to-all"}, {"kind": "permutation"}]
SEARCH: Json = {
    "constraints": [{"metric": "servers", "at_least": 16}],
    "objectives": [{"metric": "cost"}, {"metric": "abt_degraded"}],
    "space": {"families": ["bcube", "fat_tree", "tree"], "most_servers": 20, "server_steps": 2},
}
LIFE: Json = {
    "plan": {"topology": PLANS["bcube"]},
    "seeds": 4,
    "step_months": 6,
    "rate_factor": 4,
    "policies": [{}, {"visit_months": 6}],
}
QUICK_FIGURES = (
    *("bcube-table1", "bcube-table2", "bcube-packaging", "dcell-table3", "camcube-structure"),
    *("camcube-table1", "subways-table2", "subways-table3", "subways-table4", "subways-table5"),
)


def dumped(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def of_plan(engine: Engine, name: str) -> Iterator[tuple[str, bytes]]:
    spec = PLANS[name]
    yield f"network/{name}", dumped(engine.emulation_network(spec))
    yield f"profile/{name}", dumped(engine.emulation_profile(spec))
    for routing in [item["name"] for item in engine.routings(spec)]:
        for workload in WORKLOADS:
            for faults in ([], FAULTS):
                experiment = {"workload": workload, "routing": routing, "faults": faults, "seeds": [1, 2]}
                label = f"{name}/{routing}/{workload['kind']}/{'faults' if faults else 'whole'}"
                yield f"prediction/{label}", engine.predict_json(spec, experiment)
    experiment = {"engine": "packet", "workload": {"kind": "permutation"}, "flow_gigabits": 0.01, "faults": FAULTS}
    yield f"simulation/{name}", engine.predict_json(spec, experiment)


def answered(engine: Engine) -> Iterator[tuple[str, bytes]]:
    """Every answer by its name."""
    for name in PLANS:
        yield from of_plan(engine, name)
    yield from of_all(engine)


def of_all(engine: Engine) -> Iterator[tuple[str, bytes]]:
    book = plans.book(engine, "current-2026")
    yield "search/small", dumped(engine.search(SEARCH, book))
    yield "life/small", dumped(engine.life(LIFE, book))
    yield "chip/bcube", engine.chip_bcube(PLANS["bcube"]).encode()
    yield "chip/walk", dumped(engine.chip_walk(PLANS["bcube"], "00", "33", 0))
    yield "catalog/families", dumped(engine.families)
    yield "catalog/fault-kinds", dumped(engine.fault_kinds)
    yield "catalog/figures", dumped(engine.figures)
    yield "catalog/failure-rates", dumped(engine.failure_rates)
    yield "catalog/search-metrics", dumped(engine.search_metrics)
    for figure in QUICK_FIGURES:
        yield f"figure/{figure}", dumped(json.loads(engine.figure_json(figure, 1)))
