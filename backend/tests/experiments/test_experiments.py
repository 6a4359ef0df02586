"""Experiments: stored once and completely, and rejected if they are invalid."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from cubeyard.experiments.models import ExperimentRow
from cubeyard.experiments.points import count, points
from cubeyard.experiments.service import as_experiment
from cubeyard.kit.db import Database
from tests.conftest import PAPER, SMALL

Json = dict[str, Any]
EXPERIMENTS = "/api/v1/experiments"
ALL_TO_ALL = {"kind": "all-to-all"}
LINK = {"names": ["00/<0,0>"]}


def create(client: TestClient, **fields: Any) -> Json:
    answer = client.post(EXPERIMENTS, json={"plan": SMALL, "workload": ALL_TO_ALL, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_an_experiment_keeps_what_was_asked(client: TestClient) -> None:
    made = create(client, seeds=[3, 4], routing="bsr", faults=[{"target": {"kind": "switch", "ratio": 0.25}}])
    assert (made["kind"], made["points"], made["seeds"], made["axes"]) == ("prediction", 2, [3, 4], None)
    assert made["name"] == "BCube(4,1): all to all"
    assert made["plan"] == {"id": None, "revision": None, "spec": {"topology": SMALL}}
    size = {"title": "BCube(4,1)", "servers": 16, "switches": 8, "links": 32}
    built = client.post("/api/v1/plans/preview", json={"spec": SMALL}).json()["summary"]
    known = {"plan_id": None, "revision": None, "name": None, "plan_hash": built["plan_hash"]}
    assert made["topologies"] == [{**size, **known}]
    assert made["faults"] == [
        {"at_secs": 0.0, "target": {"kind": "switch", "ratio": 0.25}, "kind": "down", "until_secs": None}
    ]
    assert client.get(f"{EXPERIMENTS}/{made['id']}").json() == made
    again = create(client, seeds=[3, 4], routing="bsr", faults=made["faults"], name="The same by another name")
    assert again["id"] != made["id"]
    assert again["content_hash"] == made["content_hash"]


def test_a_plan_is_pinned_and_may_go(client: TestClient) -> None:
    plan = client.post("/api/v1/plans", json={"name": "Yard", "spec": SMALL}).json()
    made = create(client, plan={"id": plan["id"]})
    assert made["plan"] == {"id": plan["id"], "revision": 1, "spec": {"topology": SMALL}}
    bigger = {"spec": {"family": "bcube", "n": 4, "k": 2}, "base_revision": 1}
    assert client.patch(f"/api/v1/plans/{plan['id']}", json=bigger).status_code == 200
    assert create(client, plan={"id": plan["id"]})["topologies"][0]["servers"] == 64
    assert create(client, plan={"id": plan["id"], "revision": 1})["content_hash"] == made["content_hash"]
    create(client)
    listed = client.get(EXPERIMENTS, params={"plan": plan["id"]}).json()["items"]
    assert [item["plan"]["revision"] for item in listed] == [1, 2, 1], "the latest first"
    assert client.delete(f"/api/v1/plans/{plan['id']}").status_code == 204
    assert client.get(f"{EXPERIMENTS}/{made['id']}").json() == made
    assert client.post(EXPERIMENTS, json={"plan": {"id": plan["id"]}, "workload": ALL_TO_ALL}).status_code == 404


def test_a_sweep_has_a_point_for_every_combination(client: TestClient) -> None:
    axes = {"topologies": [SMALL, PAPER], "failure": {"kind": "switch", "ratios": [0, 0.05, 0.1]}, "seeds": 5}
    made = create(client, axes=axes)
    assert (made["kind"], made["points"]) == ("sweep", 30)
    assert [topology["servers"] for topology in made["topologies"]] == [16, 2048]
    assert made["axes"]["topologies"][0] == {"topology": SMALL}
    assert made["name"] == "BCube(4,1), Partial BCube(8,3): all to all, switch failures"


def test_a_sweep_compares_saved_plans_and_specs_under_two_kinds_of_failure(client: TestClient) -> None:
    plan = client.post("/api/v1/plans", json={"name": "Yard", "spec": SMALL}).json()
    dcell = {"family": "dcell", "n": 4, "k": 1}
    failure = [{"kind": "server", "ratios": [0, 0.1]}, {"kind": "switch", "ratios": [0.2]}]
    request = {"topologies": [{"id": plan["id"]}, dcell], "failure": failure, "seeds": 2}
    made = create(client, plan={"id": plan["id"]}, axes=request)
    assert made["points"] == 2 * 3 * 2
    assert made["axes"] == {**request, "topologies": [{"topology": SMALL}, {"topology": dcell}]}
    known = [
        (topology["title"], topology["plan_id"], topology["revision"], topology["name"])
        for topology in made["topologies"]
    ]
    assert known == [("BCube(4,1)", plan["id"], 1, "Yard"), ("DCell(4,1)", None, None, None)]
    assert made["name"] == "BCube(4,1), DCell(4,1): all to all, server and switch failures"
    same = client.get(EXPERIMENTS, params={"content_hash": made["content_hash"]}).json()["items"]
    assert [item["id"] for item in same] == [made["id"]]
    assert client.get(EXPERIMENTS, params={"kind": "prediction"}).json()["items"] == []
    missing = client.post(EXPERIMENTS, json={"plan": SMALL, "workload": ALL_TO_ALL, "axes": {"topologies": [{"id": "0" * 14}]}})  # fmt: skip
    assert missing.status_code == 404


def test_pages_of_experiments_miss_and_repeat_none(client: TestClient) -> None:
    made = [create(client, name=f"Number {number}")["id"] for number in range(5)]
    seen: list[str] = []
    cursor = None
    while True:
        page = client.get(EXPERIMENTS, params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        seen += [item["id"] for item in page["items"]]
        if (cursor := page["next"]) is None:
            break
    assert seen == made[::-1]
    assert [item["name"] for item in client.get(EXPERIMENTS, params={"q": "ber 3"}).json()["items"]] == ["Number 3"]
    assert client.get(EXPERIMENTS, params={"cursor": "nonsense"}).status_code == 422


def test_what_cannot_be_asked_is_refused_by_field(client: TestClient) -> None:
    for fields, where in [
        ({"workload": {"kind": "gossip"}}, "body.workload.kind"),
        ({"engine": "abacus"}, "body.engine"),
        ({"link_gbps": 0}, "body.link_gbps"),
        ({"seeds": []}, "body.seeds"),
        ({"seeds": [1, 1]}, "body.seeds"),
        ({"seeds": [-1]}, "body.seeds.0"),
        ({"faults": [{"target": {"kind": "switch", "ratio": 1.5}}]}, "body.faults.0.target"),
        ({"faults": [{"target": {"kind": "switch"}}]}, "body.faults.0.target"),
        ({"faults": [{"target": LINK, "kind": "link-rate"}]}, "body.faults.0.rate_bits_per_sec"),
        (
            {"faults": [{"target": LINK, "kind": "link-rate", "rate_bits_per_sec": 0}]},
            "body.faults.0.rate_bits_per_sec",
        ),
        ({"faults": [{"target": LINK}, {"target": LINK, "rate_bits_per_sec": 1e7}]}, "body.faults.1.rate_bits_per_sec"),
        ({"faults": [{"target": LINK, "kind": "link-loss"}]}, "body.faults.0.loss_ratio"),
        ({"faults": [{"target": LINK, "kind": "link-loss", "loss_ratio": 1.1}]}, "body.faults.0.loss_ratio"),
        ({"faults": [{"target": LINK, "kind": "switch-silent", "loss_ratio": 0.1}]}, "body.faults.0.loss_ratio"),
        ({"faults": [{"target": LINK, "kind": "link-delay", "delay_secs": 0.1}]}, "body"),
        ({"faults": [{"target": LINK, "flap_secs": 1, "until_secs": 9}]}, "body"),
        ({"axes": {"failure": {"kind": "moon", "ratios": [0.1]}}}, "body.axes.failure.kind"),
        ({"axes": {"topologies": []}}, "body.axes.topologies"),
        ({"axes": {"failure": {"kind": "link", "ratios": [at / 200 for at in range(201)]}, "seeds": 100}}, "body.axes"),
        ({"color": "red"}, "body.color"),
    ]:
        answer = client.post(EXPERIMENTS, json={"plan": SMALL, "workload": ALL_TO_ALL, **fields})
        assert answer.status_code == 422, answer.text
        assert any(error["field"].startswith(where) for error in answer.json()["errors"]), answer.json()["errors"]


@pytest.mark.parametrize("kind", ["link-delay", "server-frozen"])
def test_what_only_packets_know_names_the_kinds_that_predictions_know(client: TestClient, kind: str) -> None:
    more = {"delay_secs": 0.1} if kind == "link-delay" else {}
    request = {"plan": SMALL, "workload": ALL_TO_ALL, "faults": [{"target": LINK, "kind": kind, **more}]}
    for path in (EXPERIMENTS, f"{EXPERIMENTS}/estimate", "/api/v1/predict"):
        answer = client.post(path, json=request)
        assert answer.status_code == 422
        assert f"faults.0.kind: {kind} needs engine" in answer.json()["detail"]
        assert "port-down, link-rate, link-loss, server-killed" in answer.json()["detail"]


def test_a_fault_of_a_request_can_be_text(client: TestClient) -> None:
    lossy = {"kind": "link-loss", "target": LINK, "loss_ratio": 0.05, "at_secs": 1, "until_secs": 2}
    pulled = {"kind": "cable-pulled", "target": LINK}
    texts = ["link-loss:5%=00/<0,0>@1-2", "cable-pulled=00/<0,0>"]
    request = {"plan": SMALL, "workload": ALL_TO_ALL}
    hashes = {
        client.post(f"{EXPERIMENTS}/estimate", json=request | {"faults": faults}).json()["content_hash"]
        for faults in ([lossy, pulled], texts, [lossy, texts[1]])
    }
    assert len(hashes) == 1
    refused = client.post(f"{EXPERIMENTS}/estimate", json=request | {"faults": [pulled, "link-loss=00/<0,0>"]})
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["field"].startswith("body.faults.1")
    assert "link-loss:5%=00/<0,0>" in error["message"]


def test_links_that_carry_less_are_predicted_and_kept(client: TestClient) -> None:
    """All to all over fixed ways: twelve flows on every link, so a link at a tenth is what the
    slowest flow gets."""
    slow = {"target": LINK, "kind": "link-rate", "rate_bits_per_sec": 1e8}
    lossy = {"target": LINK, "kind": "link-loss", "loss_ratio": 0.5}
    request = {"plan": SMALL, "workload": ALL_TO_ALL, "routing": "bcube-fixed", "link_gbps": 1}

    def abt_gbps(*faults: Json) -> float:
        answer = client.post("/api/v1/predict", json={**request, "faults": faults})
        assert answer.status_code == 200, answer.text
        assert answer.json()["failures"]["degraded_links"] == (1 if faults else 0)
        assert answer.json()["failures"]["links"] == 0
        return answer.json()["abt_gbps"]

    matches = [abt_gbps(), abt_gbps(slow), abt_gbps(lossy), abt_gbps(lossy, slow)]
    assert matches == pytest.approx([20, 2, 10, 1])
    made = create(client, **request, faults=[slow, lossy], axes={"failure": {"kind": "switch", "ratios": [0, 0.25]}})
    kept = client.get(f"{EXPERIMENTS}/{made['id']}").json()["faults"]
    assert [(fault["kind"], fault.get("rate_bits_per_sec"), fault.get("loss_ratio")) for fault in kept] == [
        ("link-rate", 1e8, None),
        ("link-loss", None, 0.5),
    ]
    reported = client.post(f"{EXPERIMENTS}/estimate", json={**request, "faults": [slow, lossy]}).json()
    assert reported["topologies"][0]["failed"] == {"servers": 0, "switches": 0, "links": 0, "degraded_links": 1}


DCELL = {"family": "dcell", "n": 4, "k": 1}
REFUSED: list[tuple[Json, str, Any, str]] = [
    ({"routing": "carrier-pigeon"}, "body.routing", "carrier-pigeon", "bsr"),
    ({"routing": "bsr", "axes": {"topologies": [SMALL, DCELL]}}, "body.routing", "bsr", "dfr"),
    ({"workload": {"kind": "one-to-all", "source": "nobody"}}, "body.workload.source", "nobody", "named like"),
    ({"workload": {"kind": "hot-racks", "racks": ["R99"]}}, "body.workload.racks", "R99", ""),
    ({"workload": {"kind": "permutation", "count": 3}}, "body.workload.count", 3, "Leave it out"),
    ({"faults": [{"target": {"names": ["nobody"]}}]}, "body.faults.0.target.names", "nobody", "named like"),
    ({"faults": [{"target": {"selector": "most of it"}}]}, "body.faults.0.target.selector", "most of it", "Write"),
    (
        {"faults": [{"target": {"kind": "link", "ratio": 0}}, {"target": {"selector": "1 of level-9 switches"}}]},
        "body.faults.1.target.selector",
        9,
        "0 to",
    ),
    (
        {"faults": [{"target": {"names": ["00"]}, "kind": "link-rate", "rate_bits_per_sec": 1e7}]},
        "body.faults.0.target",
        "{'names': ['00']}",
        "like 00/<0,0>",
    ),
    ({"plan": PAPER, "flow_gigabits": 1}, "body.flow_gigabits", 2048 * 2047, "Leave it out"),
]


def test_what_the_engine_would_refuse_is_refused_at_once(client: TestClient) -> None:
    """The same error whether it is saved, estimated or, for one point, computed directly."""
    for fields, where, value, fix in REFUSED:
        request = {"plan": SMALL, "workload": ALL_TO_ALL, **fields}
        paths = [EXPERIMENTS, f"{EXPERIMENTS}/estimate", *([] if "axes" in fields else ["/api/v1/predict"])]
        answers = [client.post(path, json=request) for path in paths]
        for answer in answers:
            assert answer.status_code == 422, answer.text
            (error,) = answer.json()["errors"]
            assert error["field"] == where
            assert value is None or error["value"] == value
            assert fix in error["hint"]
            assert answer.json()["findings"][0]["severity"] == "error"
        assert client.get(EXPERIMENTS).json()["items"] == []


def test_a_sweep_s_refusal_names_the_topology(client: TestClient) -> None:
    request = {"plan": SMALL, "workload": ALL_TO_ALL, "routing": "bsr", "axes": {"topologies": [SMALL, DCELL]}}
    assert "On DCell(4,1): " in client.post(EXPERIMENTS, json=request).json()["detail"]


def test_an_impossible_topology_comes_with_findings(client: TestClient) -> None:
    bad = {"family": "bcube", "n": 1, "k": 1}
    for fields, where in (
        ({"plan": bad}, "body.plan"),
        ({"plan": SMALL, "axes": {"topologies": [SMALL, bad]}}, "body.axes.topologies.1"),
    ):
        answer = client.post(EXPERIMENTS, json={"workload": ALL_TO_ALL, **fields})
        assert answer.status_code == 422
        assert answer.json()["findings"][0]["where"] == "topology.n"
        assert answer.json()["errors"][0]["field"] == f"{where}.topology.n"


def test_what_was_asked_cannot_be_changed(client: TestClient, database: Database) -> None:
    create(client)
    with pytest.raises(Exception, match="immutable"), database.engine.begin() as connection:
        connection.execute(text("UPDATE experiments SET name = 'x'"))


def test_what_another_version_kept_is_shown_without_what_is_not_known(client: TestClient, database: Database) -> None:
    made = create(client)
    with database.session() as session:
        row = session.get_one(ExperimentRow, made["id"])
        session.expunge(row)
    emulation = {"timers": {"hello_secs": 0.5}, "once_known_secs": 30.0}
    row.document = {**row.document, "engine": "emulation", "emulation": emulation}
    shown = as_experiment(row)
    assert shown.emulation is not None
    assert shown.emulation.timers == {"hello_secs": 0.5}
    assert "once_known_secs" not in shown.model_dump_json()


RATIOS = st.lists(st.floats(0, 1), min_size=1, max_size=5)


@given(
    topologies=st.none() | st.lists(st.just(SMALL), min_size=1, max_size=3),
    ratios=st.none() | RATIOS,
    seeds=st.none() | st.integers(1, 6) | st.lists(st.integers(0, 99), min_size=1, max_size=4),
    own=st.lists(st.integers(0, 99), min_size=1, max_size=4),
)
def test_points_are_numbered_once_and_always_the_same(
    topologies: list[Json] | None, ratios: list[float] | None, seeds: Any, own: list[int]
) -> None:
    document: Json = {
        "plan": {"spec": {"topology": SMALL}},
        "workload": ALL_TO_ALL,
        "routing": None,
        "faults": [],
        "engine": "flow",
        "link_gbps": None,
        "max_min": None,
        "flow_gigabits": None,
        "link_load": False,
        "seeds": own,
        "axes": {
            "topologies": topologies,
            "failure": None if ratios is None else [{"kind": "switch", "ratios": ratios}],
            "seeds": seeds,
        },
    }
    made = list(points(document))
    assert made == list(points(document))
    assert [point.number for point in made] == list(range(count(document)))
    wanted_seeds = (
        own if seeds is None else [own[0] + step for step in range(seeds)] if isinstance(seeds, int) else seeds
    )
    wanted = Counter(
        (topology, ratio, seed)
        for topology in range(len(topologies or [SMALL]))
        for ratio in (ratios or [None])
        for seed in wanted_seeds
    )
    assert Counter((point.topology, point.failure_ratio, point.seed) for point in made) == wanted
    for point in made:
        assert point.experiment["seeds"] == [point.seed]
        assert [fault["target"]["ratio"] for fault in point.experiment["faults"]] == (
            [point.failure_ratio] if point.failure_ratio else []
        )
