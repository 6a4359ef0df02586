"""The binding as Python sees it: types, shapes, errors, threads, and agreement with the
documents."""

from __future__ import annotations

import json
import threading

import cubeyard_engine as engine
import jsonschema_rs
import numpy as np
import pytest

BOOKS = {json.loads(text)["book"]: text for text in engine.builtin_books()}
BCUBE = '{"family":"bcube","n":4,"k":2,"servers":32}'


@pytest.fixture(scope="module")
def plan() -> engine.Plan:
    return engine.build_plan(BCUBE, BOOKS["paper-2009"])


def test_cables_are_columns_that_agree_with_the_summary(plan: engine.Plan) -> None:
    summary = json.loads(plan.summary_json())
    columns = plan.cables()
    assert {len(column) for column in columns.values()} == {plan.cable_count} == {summary["counts"]["cables"]}
    assert summary["cable_metres"] == pytest.approx(columns["stock_mm"].sum() / 1000)
    by_level = np.bincount(columns["level"]).tolist()
    assert by_level == [level["cables"] for level in summary["counts"]["levels"]]


def test_slices_of_cables_join_to_the_whole(plan: engine.Plan) -> None:
    whole = plan.cables()
    parts = [plan.cables(0, 10), plan.cables(10, 11), plan.cables(11, 10**9)]
    for name, column in whole.items():
        assert np.array_equal(np.concatenate([part[name] for part in parts]), column)
    assert len(plan.cables(50, 40)["part"]) == 0


def test_labels_are_mirrored_and_unique(plan: engine.Plan) -> None:
    near, far = plan.labels()
    assert len(set(near + far)) == 2 * plan.cable_count
    assert all("/".join(reversed(label.split("/"))) == other for label, other in zip(near, far, strict=True))


def test_names_and_ports_agree_everywhere(plan: engine.Plan) -> None:
    names = plan.device_names()
    assert names == json.loads(plan.scene_json())["devices"]["name"]
    assert plan.device_index("012") == names.index("012")
    assert plan.device_index("nobody") is None
    columns, (a_ports, _) = plan.cables(), plan.cable_port_names()
    first = int(columns["a_device"][0])
    assert plan.port_names(first)[columns["a_port"][0]] == a_ports[0]
    with pytest.raises(KeyError):
        plan.port_names(10**6)


def test_a_device_s_far_ends_are_its_links(plan: engine.Plan) -> None:
    trace = json.loads(plan.device_json("012"))
    topology = engine.build_topology(BCUBE)
    a, b, _ = topology.edges()
    names = topology.names(0, topology.node_count)
    me = names.index("012")
    neighbours = sorted(names[i] for i in [*b[a == me], *a[b == me]])
    assert sorted(trace["rows"]["far_device"]) == neighbours == ["<0,01>", "<1,02>", "<2,12>"]
    assert plan.device_json("nobody") is None
    assert plan.rack_json("nowhere") is None


def test_edge_lines_are_the_edges() -> None:
    topology = engine.build_topology(BCUBE)
    lines = (topology.edge_lines(0, 40) + topology.edge_lines(40, 10**9)).decode().splitlines()
    a, b, level = topology.edges()
    names = topology.names(0, topology.node_count)
    assert lines == [f"{names[x]} {names[y]} {z}" for x, y, z in zip(a, b, level, strict=True)]
    assert json.loads(topology.certificate_json())["passed"]


def test_an_estimate_is_the_size_that_is_built() -> None:
    for family in json.loads(engine.families_json()):
        spec = json.dumps(family["example"])
        estimate, topology = json.loads(engine.estimate_json(spec)), engine.build_topology(spec)
        assert (estimate["links"], estimate["nodes"]) == (topology.link_count, topology.node_count)


def test_errors_carry_findings() -> None:
    for call in (
        lambda: engine.build_plan('{"family":"bcube","n":1,"k":3}', BOOKS["paper-2009"]),
        lambda: engine.build_topology("{"),
        lambda: engine.build_plan(BCUBE, '{"book":1}'),
        lambda: engine.check_book("[]"),
        lambda: engine.estimate_json('{"family":"cube"}'),
    ):
        with pytest.raises(engine.EngineError) as caught:
            call()
        assert isinstance(caught.value, ValueError)
        findings = json.loads(caught.value.findings_json)
        assert findings[0]["severity"] == "error"
        assert findings[0]["message"]
        assert findings[0]["where"]


def test_plans_are_the_same_from_many_threads() -> None:
    hashes: list[str] = []

    def work() -> None:
        plan = engine.build_plan(BCUBE, BOOKS["current-2026"])
        hashes.append(plan.plan_hash + plan.scene_json() + plan.summary_json())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(hashes) == 8
    assert len(set(hashes)) == 1


def test_a_plan_against_itself_keeps_all(plan: engine.Plan) -> None:
    order = json.loads(engine.diff_plans(plan, plan))
    assert order["counts"] == {"keep": plan.cable_count, "move": 0, "add": 0, "remove": 0}


def test_the_schema_is_a_schema() -> None:
    schema = json.loads(engine.plan_schema_json())
    jsonschema_rs.meta.validate(schema)
    validator = jsonschema_rs.Draft202012Validator(schema)
    for family in json.loads(engine.families_json()):
        plan = engine.build_plan(json.dumps(family["example"]), BOOKS["current-2026"])
        resolved = json.loads(plan.summary_json())["spec"]
        assert not list(validator.iter_errors(resolved)), family["family"]


def test_a_chip_program_is_generated_checked_compared_and_traced() -> None:
    text = engine.chip_bcube(BCUBE, "000")
    result = json.loads(engine.chip_program(text))
    assert result["text"] == text
    assert json.loads(engine.chip_diff(text, result["document"])) == []
    other = engine.chip_bcube(BCUBE, "001")
    assert {load["what"].split("[")[0] for load in json.loads(engine.chip_diff(text, other))} == {"VIF", "TCAM"}
    walk = json.loads(engine.chip_walk(BCUBE, "000", "131", 1))
    assert walk["arrived"]
    assert [visit["name"] for visit in walk["visits"]] == walk["path"] == walk["paths"][1]
    first = walk["visits"][0]["trace"]
    assert json.loads(engine.chip_trace(text, first["in_port"], first["packet"])) == first


def test_mistakes_of_chip_programs_have_line_and_column() -> None:
    with pytest.raises(engine.EngineError) as raised:
        engine.chip_program("SetUDLK(1, (B22));\nSetUDLK(3, (B23));")
    finding = json.loads(raised.value.findings_json)[0]
    assert (finding["line"], finding["column"], finding["where"], finding["severity"]) == (2, 9, "i", "error")


def test_a_build_is_a_version_and_a_digest_of_the_sources() -> None:
    version, _, digest = engine.engine_build().partition("+")
    assert version == engine.engine_version()
    assert len(digest) == 16
    assert int(digest, 16) > 0
