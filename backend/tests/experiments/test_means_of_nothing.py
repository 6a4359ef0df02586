"""Where no flow is carried there is no path length, no load of a level and no goodput: null in
every document, and left out by every surface."""

from __future__ import annotations

import copy
import json
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

import cubeyard.notebook as cy
from cubeyard.cli.predict import _print_prediction
from cubeyard.cli.simulate import _print_simulation
from cubeyard.experiments.rows import row_of
from cubeyard.experiments.scenario.verdict import _plain
from cubeyard.notebook.answers import Prediction, Simulation
from cubeyard.reports import points

LEAF_SPINE = {"family": "leaf_spine", "leaves": 2, "spines": 2, "servers_per_leaf": 2}
NOTHING = {"mean": None, "max": None}


def printed(show: Any, document: dict[str, Any]) -> str:
    out = StringIO()
    show(Console(file=out, width=120), document)
    return out.getvalue()


@pytest.fixture(scope="module")
def topology() -> cy.Topology:
    return cy.Topology(**LEAF_SPINE)


def test_a_prediction_without_a_flow_has_no_path_length(topology: cy.Topology) -> None:
    document = copy.deepcopy(cy.predict(topology, failures={"switches": 1})._document)
    assert document["flows"] == 0
    assert document["path_hops"] == {**NOTHING, "unit": "links"}
    assert all(
        level["min"] is level["max"] is level["mean"] is None for level in document["link_flows_by_level"].values()
    )
    assert "Path length" not in printed(_print_prediction, document)
    assert "Path length" not in Prediction.of(document)._repr_html_()
    point = {"point": 0, "topology": 0, "failure_kind": "switch", "failure_ratio": 1.0, "seed": 7, "result": document}
    assert row_of(point, ["Leaf-spine"])["path_hops_mean"] is None
    whole = cy.predict(topology)._document
    gathered = points.gather([{**point, "failure_ratio": 0.0, "result": whole}, point, {**point, "result": whole}])
    overview = points.sections(gathered, ["Leaf-spine"])[0].tables[0]
    mean = [column.title for column in overview.columns].index("Mean path")
    assert len({row[mean] for row in overview.rows}) == 1, "a point without a flow is no part of the mean"


def test_a_simulation_without_a_flow_has_no_goodput(topology: cy.Topology) -> None:
    document = cy.simulate(topology, failures={"switches": 1})._document
    assert (document["flows"], document["goodput_gbps"]) == (0, None)
    assert "Goodput" not in printed(_print_simulation, document)
    assert "Goodput" not in Simulation.of(document)._repr_html_()
    assert _plain("goodput", document) == 0.0, "a hypothesis about goodput is not met where nothing is carried"


def test_goodput_counts_what_arrived_until_a_run_ends(topology: cy.Topology) -> None:
    document = cy.simulate(topology, "one-to-one", bytes=1_000_000_000, until_secs=0.01)._document
    assert _plain("latency-p99-secs", document) == "Only workload `requests` has latencies."
    assert _plain("latency-p99-secs", {"latency_secs": {"p99": 0.01}}) == 0.01
    assert document["completion_secs"]["unfinished"] == 1
    sent = document["bytes"]["received"] * 8e-9 / document["simulated_secs"]
    assert document["goodput_gbps"] == pytest.approx(sent, rel=0.01)
    assert json.dumps(document, allow_nan=False)
