"""Every number in a notebook is the command line's, of every family."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings

from cubeyard.cli.command import app
from cubeyard.engine import Engine
from cubeyard.notebook import Plan, Table, Topology, families, plan, predict, simulate, sweep
from tests.conftest import examples
from tests.exports.plans import SPECS, small_specs

SMALL = Topology.bcube(n=4, k=1)
Run = Callable[..., Any]


@pytest.fixture
def cli(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs a command in this process and gives what it prints as JSON."""

    def run(*arguments: str) -> Any:
        capfdbinary.readouterr()
        app(list(arguments), standalone_mode=False)
        sys.stdout.flush()
        return json.loads(capfdbinary.readouterr().out)

    return run


@pytest.mark.parametrize("family", families()["family"])
def test_plans_and_predictions_of_every_family_are_the_command_lines(family: str, cli: Run, engine: Engine) -> None:
    example = next(item["example"] for item in engine.families if item["family"] == family)
    small = {"bcube": {"n": 4, "k": 1}, "dcell": {"n": 4, "k": 1}, "torus3d": {"x": 3, "y": 2, "z": 2}}.get(
        family, example
    )
    small = {"ports": 4} if family == "fat_tree" else small
    document = {**small, "family": family}
    made = Topology(document)
    spec = json.dumps(document)
    assert made.plan().document == cli("plan", "--spec", spec, "--json")
    result = cli("topology", "--spec", spec, "--json")
    assert (made.servers, made.switches, made.links) == tuple(
        result["counts"][name] for name in ("servers", "switches", "links")
    )
    assert made.certificate.model_dump() == result["certificate"]
    assert made.metrics.model_dump() == result["metrics"]
    if made.servers <= 64:
        predicted = predict(made, "permutation", failures={"links": 0.1}, seeds=2)
        request = ("--workload", "permutation", "--fail", "links=0.1", "--seed", "7", "--seed", "8", "--json")
        assert predicted.document == cli("predict", "--spec", spec, *request)
        assert predicted.by_seed()["abt_gbps"][0] == predicted.abt_gbps
        assert predicted.by_seed()["seed"] == [7, 8]


def test_each_family_has_a_constructor_with_its_parameters(engine: Engine) -> None:
    for family in engine.families:
        given = {name: value for name, value in family["example"].items() if name != "family"}
        constructor = getattr(Topology, family["family"])
        assert constructor(**given) == Topology(family["family"], **given) == Topology(family["example"])
        assert all(parameter["name"] in constructor.__doc__ for parameter in family["parameters"])
        assert family["family"] in dir(Topology)
    assert Topology.bcube(4, 1) == SMALL


@given(spec=small_specs())
@settings(max_examples=examples(8))
def test_tables_are_the_columns_of_the_exports(spec: dict[str, Any]) -> None:
    of_files(plan(spec))


@pytest.mark.parametrize("name", ["leaf-spine", "partless", "torus"])
def test_tables_of_odd_plans_are_the_columns_of_the_exports(name: str) -> None:
    spec, book = SPECS[name]
    of_files(plan(spec, book))


def of_files(found: Plan) -> None:
    """Compares tables with the CSV files, cell by cell."""
    cables, rows = found.cables(), list(csv.DictReader(io.StringIO(found.exported("csv").decode())))
    assert len(cables) == len(rows) == found.counts.cables
    for made, row in zip(cables, rows, strict=True):
        for column in row.keys() - {"a_paper_name", "b_paper_name"}:
            shown = {"length_metres": "{:.3f}", "stock_metres": "{:g}"}.get(column, "{}").format(made[column])
            assert row[column].removeprefix("'") == shown, column
    bill = found.bill_of_materials()
    priced = [row["total"] for row in csv.DictReader(io.StringIO(found.exported("bom-csv").decode()))]
    assert [float(item) if item else None for item in priced] == [
        None if item is None else round(item, 6) for item in bill["total_usd"]
    ]
    assert sum(found.racks()["power_watts"]) == pytest.approx(found.power.total)
    assert len(found.devices()) == found.counts.servers + found.counts.switches


def test_failures_are_written_as_on_the_command_line(cli: Run) -> None:
    fail, faults = "2 level-1 switches", ["link-rate:100M=10% of links", "down=00/<0,0>"]
    spec = ("predict", "--spec", json.dumps(SMALL.spec), "--json")
    request = [*spec, "--fail", fail, *(word for fault in faults for word in ("--fault", fault))]
    assert predict(SMALL, failures=[fail, *faults]).document == cli(*request)
    named = {"target": {"names": ["00/<0,0>"]}}
    assert (
        predict(SMALL, failures=named).document
        == predict(SMALL, failures=[named]).document
        == cli(*spec, "--fault", faults[1])
    )


def test_a_simulation_is_the_command_lines(cli: Run) -> None:
    made = simulate(SMALL, "permutation", bytes=200_000, seeds=[3], recovery="sack")
    request = ("--workload", "permutation", "--bytes", "200000", "--seed", "3", "--set", "recovery=sack", "--json")
    assert made.document == cli("simulate", "--spec", json.dumps(SMALL.spec), *request)
    flows = simulate(SMALL, bytes=200_000, seeds=[3], flow_times=True).flow_times()
    assert len(flows) == made.flows == 16
    assert max(flows["completion_secs"]) == simulate(SMALL, bytes=200_000, seeds=[3]).completion_secs.max


def test_a_sweeps_points_are_predictions() -> None:
    result = sweep([SMALL, Topology.dcell(4, 1)], failures={"switches": [0, 0.2], "servers": [0.1]}, seeds=2)
    assert len(result) == 2 * 3 * 2
    for point in result.points:
        failures = {point["failure_kind"]: point["failure_ratio"]} if point["failure_ratio"] else None
        request = [SMALL, Topology.dcell(4, 1)][point["topology"]]
        assert point["result"] == predict(request, failures=failures, seeds=[point["seed"]]).document


def test_frames_have_every_row_and_keep_missing_values() -> None:
    result = sweep(SMALL, failures={"switches": [0, 0.25]}, seeds=[1, 2])
    pandas, polars = result.to_pandas(), result.to_polars()
    assert pandas["abt_gbps"].tolist() == polars["abt_gbps"].to_list() == result.table["abt_gbps"]
    assert pandas.columns.tolist() == polars.columns == list(result.table.columns)
    assert result.frame().equals(pandas)
    late = Table("Late", {"x": [None] * 300 + [1.5]})  # polars must not take the type from the first rows
    assert late.to_polars()["x"].to_list() == late["x"]


def test_the_graph_has_the_closed_forms_of_the_topology() -> None:
    graph = SMALL.to_networkx()
    servers = [name for name, kind in graph.nodes(data="kind") if kind == "server"]
    assert (len(servers), graph.number_of_edges()) == (SMALL.servers, SMALL.links)
    longest = max(nx.shortest_path_length(graph, servers[0]).values())
    assert longest == SMALL.metrics.diameter_links.value
    assert nx.node_connectivity(graph, servers[0], servers[-1]) == SMALL.metrics.disjoint_paths.value
    assert {graph.nodes[name]["level"] for name in graph} == {-1, 0, 1}
    cabled = SMALL.plan().to_networkx()
    assert nx.utils.graphs_equal(nx.Graph(graph.edges), nx.Graph(cabled.edges))
    assert sum(metres for _, _, metres in cabled.edges(data="stock_metres")) == pytest.approx(
        SMALL.plan().summary.cable_metres
    )


def test_parallel_links_are_counted_or_edges_of_their_own() -> None:
    trunks = Topology.leaf_spine(leaves=2, spines=2, servers_per_leaf=2, uplinks_per_spine=2)
    assert sum(links for _, _, links in trunks.to_networkx().edges(data="links")) == trunks.links
    assert (
        trunks.to_networkx(multigraph=True).number_of_edges() == trunks.links > trunks.to_networkx().number_of_edges()
    )
