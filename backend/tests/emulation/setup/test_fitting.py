"""The part that is chosen of too large a plan is accepted by the estimate, for every family and
size."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from cubeyard.cli import emulate as emulate_cli
from cubeyard.cli.command import app
from cubeyard.emulation.live.service import Outliner
from cubeyard.emulation.network.network import topology_of
from cubeyard.emulation.setup import estimate as estimates
from cubeyard.emulation.setup.estimate import KEPT_BYTES, SERVER_BYTES
from cubeyard.emulation.setup.fitting.command_line import command_of
from cubeyard.emulation.setup.fitting.fit import LEAST_SERVERS, MOST_SERVERS, Fit, fit
from cubeyard.emulation.setup.fitting.part import part_around_busiest
from cubeyard.engine import Engine
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.kit.errors import ProblemError
from cubeyard.plans.spec import normal_spec
from cubeyard.settings import Settings
from tests.conftest import SMALL, examples, some

Json = dict[str, Any]
PAPER = {"family": "bcube", "n": 8, "k": 3, "servers": 2048}


def leaves_and_spines(leaves: int, servers: int, spines: int = 3) -> Json:
    """A custom network in which leaf-1 has one server more than the other leaves."""
    switches = [f"leaf-{i}" for i in range(leaves)], [f"spine-{i}" for i in range(spines)]
    hosts = [(f"h-{i}-{j}", leaf) for i, leaf in enumerate(switches[0]) for j in range(servers + (i == 1))]
    nodes = [{"name": name, "role": "switch"} for tier in switches for name in tier]
    nodes += [{"name": name, "role": "server"} for name, _ in hosts]
    links = [{"a": name, "b": leaf} for name, leaf in hosts]
    links += [{"a": leaf, "b": spine} for leaf in switches[0] for spine in switches[1]]
    return {"family": "custom", "nodes": nodes, "links": links}


SIZES: dict[str, list[Json]] = {
    "bcube": [
        {"n": n, "k": k}
        for n, k in ((4, 1), (8, 1), (16, 1), (4, 3), (8, 2), (8, 3), (3, 3), (12, 1), (2, 9), (48, 1))
    ],
    "dcell": [
        {"n": n, "k": k}
        for n, k in ((4, 1), (6, 1), (12, 1), (2, 2), (3, 2), (4, 2), (8, 2), (2, 3), (48, 1), (5, 2))
    ],
    "torus3d": [
        {"x": x, "y": y, "z": z}
        for x, y, z in (
            (3, 3, 3), (4, 4, 4), (16, 16, 8), (20, 20, 20), (10, 10, 10), (64, 2, 2), (5, 1, 1), (7, 7, 7), (30, 3, 3), (2, 2, 300)
        )
    ],
    "subways": [
        {"type": kind, "p": p, "q": q, "l": racks, "clusters": clusters}
        for kind, p, q, racks, clusters in (
            (0, 1, 4, 4, 2), (1, 2, 32, 16, 4), (1, 2, 30, 12, 2), (0, 2, 16, 8, 8), (1, 3, 9, 9, 3), (1, 4, 32, 8, 8), (0, 1, 40, 40, 1),
            (1, 2, 64, 4, 16), (1, 8, 8, 8, 32), (0, 4, 128, 6, 2),
        )
    ],
    "fat_tree": [
        {"ports": ports, "layers": layers}
        for ports, layers in ((4, 3), (8, 3), (8, 5), (16, 3), (48, 3), (6, 4), (4, 6), (24, 2), (64, 2), (10, 3))
    ],
    "tree": [
        {"edge_ports": ports, "servers": servers}
        for ports, servers in (
            (4, 8), (48, 2048), (48, 64), (24, 500), (8, 200), (16, 10_000), (40, 40), (2, 100), (128, 300), (32, 2048)
        )
    ],
    "leaf_spine": [
        {"leaves": leaves, "spines": spines, "servers_per_leaf": servers}
        for leaves, spines, servers in (
            (4, 2, 4), (64, 4, 32), (16, 16, 48), (128, 8, 16), (2, 2, 200), (500, 2, 4), (10, 1, 30), (32, 32, 32), (8, 4, 64), (40, 6, 40)
        )
    ],
    "torus2d": [
        {"x": x, "y": y}
        for x, y in ((4, 4), (8, 8), (64, 32), (16, 16), (1000, 2), (20, 15), (100, 100), (3, 90), (40, 7), (128, 128))
    ],
    "jellyfish": [
        {"switches": switches, "ports": ports, "servers_per_switch": servers}
        for switches, ports, servers in (
            (16, 8, 2), (128, 32, 16), (64, 16, 4), (300, 24, 8), (1000, 12, 2), (20, 48, 30), (90, 10, 5), (50, 64, 40), (245, 14, 3), (32, 32, 8)
        )
    ],
    "dragonfly": [
        {"a": a, "p": p, "h": h}
        for a, p, h in ((2, 2, 2), (4, 2, 2), (8, 4, 4), (16, 8, 8), (6, 3, 3), (4, 4, 4), (10, 2, 5), (12, 6, 6), (3, 9, 3), (5, 5, 2))
    ],
    "custom": [
        leaves_and_spines(*size)
        for size in ((2, 3), (30, 10), (4, 70), (100, 3), (12, 40), (1, 90), (3, 100), (200, 2), (60, 20), (9, 33))
    ],
}  # fmt: skip


def document_of(spec: Json, **fields: Any) -> Json:
    request = {"plan": spec, "workload": {"kind": "all-to-all"}, "engine": "emulation", **fields}
    request = ExperimentCreate.model_validate(request)
    plan = {"id": None, "revision": None, "spec": normal_spec(spec)}
    return {**request.model_dump(mode="json"), "plan": plan}


def check(engine: Engine, spec: Json, result: Fit) -> None:
    outlined = Outliner(engine, Settings()).outline(result.document)
    assert outlined["servers"] == result.servers == len(result.question.network.servers)
    assert topology_of(result.document["plan"]["spec"])["family"] == spec["family"]
    assert (result.sentence == "") == (result.kind == "whole")
    if result.kind != "whole":
        assert min(LEAST_SERVERS, result.of_servers) <= result.servers <= MOST_SERVERS
        assert f"{result.of_servers:,}" in result.sentence
        assert len(result.question.network.switches) != 1, "packets cross several switches"


@pytest.mark.parametrize("family", SIZES)
def test_of_every_family_and_size_something_is_taken_that_the_estimate_accepts(engine: Engine, family: str) -> None:
    assert {family["family"] for family in engine.families} == set(SIZES), "every family is tried"
    for size in some(SIZES[family], 2):
        spec = {"family": family, **size}
        result = fit(engine, document_of(spec))
        check(engine, spec, result)
        assert result.document["workload"]["kind"] in ("all-to-all", "permutation")


@settings(max_examples=examples(25), deadline=None)
@given(
    family=st.sampled_from(sorted(set(SIZES) - {"custom"})),
    at=st.integers(0, 9),
    workload=st.sampled_from([{"kind": "permutation"}, {"kind": "incast"}, {"kind": "one-to-all"}]),
    servers=st.integers(2, 64),
)
def test_settings_are_kept_and_the_number_of_servers_is_a_maximum(
    engine: Engine, family: str, at: int, workload: Json, servers: int
) -> None:
    spec = {"family": family, **SIZES[family][at]}
    document = document_of(spec, workload=workload, link_gbps=0.02, emulation={"seconds": 7})
    try:
        result = fit(engine, document, servers)
    except ProblemError as error:
        (refused,) = error.errors
        assert refused.field == "body.servers"
        servers = int(str(refused.hint).split()[2])
        assert servers <= 24
        result = fit(engine, document, servers)
        assert result.servers == servers
    assert result.document["workload"] == workload
    assert result.document["link_gbps"] == 0.02
    assert result.document["emulation"]["seconds"] == 7
    assert 2 <= result.servers <= servers
    Outliner(engine, Settings()).outline(result.document)


@pytest.mark.parametrize(("size", "servers"), [((2, 2, 2), 64), ((2, 2, 2), 16), ((16, 8, 8), 16), ((16, 8, 8), 6)])
def test_any_number_of_servers_gives_a_dragonfly(engine: Engine, size: tuple[int, int, int], servers: int) -> None:
    spec = {"family": "dragonfly", **dict(zip("aph", size, strict=True))}
    assert 2 <= fit(engine, document_of(spec), servers).servers <= servers


def test_the_default_plan_gives_a_slice_with_a_permutation(engine: Engine) -> None:
    result = fit(engine, document_of(PAPER))
    assert result.kind == "slice"
    assert result.document["emulation"]["slice"] == {"servers": None, "within": "0000", "k": 1}
    assert result.document["workload"] == {"kind": "permutation"}
    assert result.sentence == (
        "Takes the BCube(8,1) around server 0000: 64 of 2,048 servers. The workload is a permutation: an all-to-all of so many servers is "
        "more than this machine carries. Give another number of servers to take another."
    )
    again = fit(engine, result.document)
    assert (again.kind, again.document) == ("whole", result.document), "what was taken is taken again as it is"
    small = fit(engine, document_of(SMALL))
    assert (small.kind, small.sentence, small.servers) == ("whole", "", 16)


def test_a_slice_is_around_the_server_that_a_fault_names(engine: Engine) -> None:
    fault = {"kind": "cable-pulled", "target": {"names": ["1234/<0,123>"]}}
    result = fit(engine, document_of(PAPER, faults=[fault]))
    assert result.document["emulation"]["slice"]["within"] == "1234"
    assert (result.outside, len(result.document["faults"])) == ([], 1)
    own = fit(engine, document_of(PAPER, emulation={"slice": {"within": "1111", "k": 2}}))
    assert own.document["emulation"]["slice"] == {"servers": None, "within": "1111", "k": 1}


def test_settings_that_name_devices_outside_are_listed_and_the_rest_stays(engine: Engine) -> None:
    faults = [
        {"kind": "down", "target": {"names": ["0001"]}},
        {"kind": "cable-pulled", "target": {"names": ["1234/<0,123>"]}},
        {"kind": "down", "target": {"kind": "switch", "ratio": 0.5}},
        {"kind": "down", "target": {"names": ["1235"]}},
    ]
    pinned = {
        "topology": {"family": "torus3d", "x": 16, "y": 16, "z": 8},
        "packaging": {"pins": [{"device": "(9,9,7)", "rack": "R02"}]},
    }
    result = fit(engine, document_of(PAPER, faults=faults, emulation={"gateways": ["0002", "1234"]}))
    assert [left.field for left in result.outside] == ["emulation.gateways", "faults.1", "faults.3"]
    assert [left.value for left in result.outside] == ["1234", "cable-pulled of 1234/<0,123>", "down of 1235"]
    assert len(result.document["faults"]) == 2
    assert result.document["emulation"]["gateways"] == ["0002"]
    pins = fit(engine, {**document_of(pinned["topology"]), "plan": {"spec": pinned}})
    assert [(left.field, left.value) for left in pins.outside] == [("plan.packaging.pins.0", "(9,9,7) in R02")]
    assert "packaging" not in pins.document["plan"]["spec"]


def test_a_workload_that_names_servers_outside_falls_back_to_its_default(engine: Engine) -> None:
    workload = {"kind": "incast", "destination": "(9,9,7)", "count": 5}
    result = fit(engine, document_of({"family": "torus3d", "x": 16, "y": 16, "z": 8}, workload=workload))
    assert [left.field for left in result.outside] == ["workload.destination"]
    assert result.document["workload"] == {"kind": "incast", "count": 5}


def test_errors_that_every_part_has_stay_errors(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProblemError) as refused:
        fit(engine, document_of(PAPER, emulation={"timers": {"nothing": 1.0}}))
    assert refused.value.errors[0].field == "body.emulation.timers.nothing"
    with pytest.raises(ProblemError) as refused:
        fit(engine, document_of(SMALL, faults=[{"kind": "down", "target": {"names": ["nowhere"]}}]))
    assert refused.value.errors[0].field.startswith("body.faults.0")
    with pytest.raises(ProblemError) as refused:
        fit(engine, document_of(SMALL, faults=[{"kind": "down", "target": {"names": ["00"]}, "at_secs": 30}]))
    assert refused.value.errors[0].field == "body.faults.0.at_secs", "its device is inside"
    for name in ("9999", "0000/<0,1>"):
        faults = [{"kind": "down", "target": {"names": [known]}} for known in ("1235", name)]
        with pytest.raises(ProblemError) as refused:
            fit(engine, document_of(PAPER, faults=faults))
        assert refused.value.errors[0].field.startswith("body.faults.1")
    monkeypatch.setattr(estimates, "memory_free_bytes", lambda: 0)
    with pytest.raises(ProblemError) as refused:
        fit(engine, document_of(PAPER))
    assert refused.value.code == "too-large-emulation"


def test_with_little_memory_fewer_servers_are_taken(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "memory_free_bytes", lambda: KEPT_BYTES + 10 * SERVER_BYTES["containers"])
    result = fit(engine, document_of({"family": "fat_tree", "ports": 16}))
    assert 2 <= result.servers <= 10


def test_a_part_of_a_custom_network_is_connected_and_around_its_busiest_rack(engine: Engine) -> None:
    part = part_around_busiest(leaves_and_spines(20, 6), 40)
    assert part is not None
    assert (part.rack, part.servers) == ("leaf-1", 40)
    names = {node["name"] for node in part.topology["nodes"]}
    assert {"leaf-1", "spine-0", "spine-1", "spine-2"} <= names, "other paths stay"
    assert sum(name.startswith("h-1-") for name in names) == 7
    assert all({link["a"], link["b"]} <= names for link in part.topology["links"])
    big = part_around_busiest(leaves_and_spines(3, 100), 40)
    assert big is not None
    assert big.switches >= 2, "the busiest rack leaves servers to others"
    apart = leaves_and_spines(2, 3)
    apart["nodes"] += [{"name": "alone", "role": "switch"}, {"name": "x", "role": "server"}]
    apart["links"] += [{"a": "alone", "b": "x"}]
    connected = part_around_busiest(apart, 40)
    assert connected is not None
    assert "alone" not in {node["name"] for node in connected.topology["nodes"]}


def test_over_rest_the_experiment_comes_back_with_the_fields_that_it_had(client: TestClient) -> None:
    request = {"plan": PAPER, "workload": {"kind": "all-to-all"}, "engine": "emulation", "emulation": {"seconds": 5}}
    answer = client.post("/api/v1/emulation/fit", json={"experiment": request})
    assert answer.status_code == 200, answer.text
    result = answer.json()
    assert (result["kind"], result["servers"], result["of_servers"], result["outside"]) == ("slice", 64, 2048, [])
    assert result["experiment"] == {
        **request,
        "workload": {"kind": "permutation"},
        "emulation": {"seconds": 5, "slice": {"servers": None, "within": "0000", "k": 1}},
    }
    estimated = client.post("/api/v1/experiments/estimate", json=result["experiment"])
    assert estimated.status_code == 200, estimated.text
    (topology,) = estimated.json()["topologies"]
    sizes = [topology[name] for name in ("servers", "switches", "links", "flows")]
    assert sizes == [64, 16, 128, 64], "the estimate is of the slice"
    fewer = client.post("/api/v1/emulation/fit", json={"experiment": request, "servers": 30}).json()
    assert (fewer["kind"], fewer["servers"], fewer["experiment"]["plan"]["topology"]["k"]) == ("smaller", 27, 2)
    computed = client.post(
        "/api/v1/emulation/fit", json={"experiment": {**request, "engine": "flow", "emulation": None}}
    )
    assert (computed.status_code, computed.json()["errors"][0]["field"]) == (422, "body.experiment.engine")
    wrong = {**request, "emulation": {"timers": {"nothing": 1}}}
    refused = client.post("/api/v1/emulation/fit", json={"experiment": wrong})
    assert refused.json()["errors"][0]["field"] == "body.experiment.emulation.timers.nothing"


def test_the_command_line_for_a_fit_requests_the_same_experiment(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = [{"kind": "link-rate", "rate_bits_per_sec": 1e6, "target": {"names": ["0001/<0,000>"]}, "at_secs": 3.0}]
    emulation = {
        "mode": "namespaces",
        "seconds": 6,
        "queues": "fair",
        "hypothesis": {"metric": "abt-share", "bound": 0.5},
    }
    request = document_of(PAPER, faults=faults, emulation=emulation, link_gbps=0.02, seeds=[9], routing="bsr")
    result = fit(engine, request)
    given: list[Json] = []

    def run(question: Json, *_: Any, **__: Any) -> Json:
        given.append(question)
        raise ProblemError(422, "stop", "enough")

    monkeypatch.setattr(emulate_cli, "run_session", run)
    command = command_of(result.document)
    assert command is not None
    CliRunner().invoke(app, shlex.split(command)[1:])
    question = ExperimentCreate.model_validate(given[0]).model_dump(mode="json")
    spec = normal_spec(given[0]["plan"])
    assert {**question, "plan": spec} == {**result.document, "plan": result.document["plan"]["spec"]}
    assert command_of({**result.document, "hypotheses": [{}]}) is None
