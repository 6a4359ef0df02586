"""Plans over REST: previews, revisions, concurrency, pages, comparisons."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cubeyard.engine import Engine
from cubeyard.plans import documents, schemas
from cubeyard.settings import Settings
from tests.conftest import LONG_RUN, PAPER, SMALL, examples

Json = dict[str, Any]
_described = Engine(Settings()).families
FAMILIES: list[str] = [family["family"] for family in _described]
LETTERS = sorted({parameter["name"] for family in _described for parameter in family["parameters"]})


def create(client: TestClient, name: str = "Yard", spec: Json | None = None) -> Json:
    answer = client.post("/api/v1/plans", json={"name": name, "spec": spec or SMALL})
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/api/v1/plans/{answer.json()['id']}"
    return answer.json()


def test_the_paper_s_container_is_previewed_whole(client: TestClient) -> None:
    wanted = {"spec": PAPER, "include": ["summary", "scene", "bom", "cables"]}
    answer = client.post("/api/v1/plans/preview", json=wanted)
    assert answer.status_code == 200
    preview = schemas.PreviewResponse.model_validate(answer.json())
    assert preview.summary.certificate.passed
    assert (preview.summary.counts.servers, preview.summary.counts.switches) == (2048, 1280)
    assert preview.cables is not None
    assert preview.cables.count == preview.summary.counts.links == len(preview.cables.columns.a_device) == 8192
    assert preview.bom is not None
    assert preview.scene is not None
    assert len(preview.scene.devices.name) == 2048 + 1280
    assert client.get("/api/v1/plans").json()["items"] == [], "a preview saves nothing"


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_the_paper_s_cables_travel_in_at_most_40_kilobytes(client: TestClient, encoding: str) -> None:
    plan = create(client, spec=PAPER)
    with client.stream("GET", f"/api/v1/plans/{plan['id']}/cables", headers={"accept-encoding": encoding}) as answer:
        assert answer.headers["content-encoding"] == encoding
        assert len(b"".join(answer.iter_raw())) <= 40 * 1024


def test_every_family_s_documents_have_the_promised_shape(client: TestClient) -> None:
    families = client.get("/api/v1/topologies").json()
    assert [family["family"] for family in families] == FAMILIES
    for family in families:
        schemas.Family.model_validate(family)
        assert {"shortest", "ecmp"} < {routing["name"] for routing in family["routings"]}
        assert client.get(f"/api/v1/topologies/{family['family']}").json() == family
        for preset in [{"title": "example", "spec": family["example"]}, *(family["presets"] if LONG_RUN else [])]:
            wanted = {"spec": preset["spec"], "include": ["summary", "scene", "bom", "cables"]}
            answer = client.post("/api/v1/plans/preview", json=wanted)
            if answer.status_code == 422 and answer.json()["type"].endswith("too-large-plan"):
                continue  # DCell_3 of 3,263,442 servers is for `cubeyard topology`
            assert answer.status_code == 200, (preset, answer.text[:500])
            preview = schemas.PreviewResponse.model_validate(answer.json())
            assert preview.summary.certificate.passed, preset
    assert client.get("/api/v1/topologies/no-such-family").status_code == 404


def test_an_impossible_plan_is_refused_with_findings(client: TestClient) -> None:
    answer = client.post("/api/v1/plans/preview", json={"spec": {"family": "bcube", "n": 1, "k": 30}})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["findings"], problem
    assert all(
        finding["severity"] and finding["where"].startswith("topology") and finding["message"]
        for finding in problem["findings"]
    )
    assert any(finding["fix"] for finding in problem["findings"]), "the nearest valid values come as a fix"


def test_networks_of_addresses_that_do_not_fit_come_with_a_fix_that_does(client: TestClient) -> None:
    spec: Json = {"topology": SMALL, "site": {"addresses": {"servers": "10.20.0.0/28", "gateway": "10.20.0.1"}}}
    refused = client.post("/api/v1/plans", json={"name": "Yard", "spec": spec})
    assert refused.status_code == 422
    (finding,) = refused.json()["findings"]
    assert (finding["where"], finding["value"], finding["limit"]) == ("site.addresses.servers", "10.20.0.0/28", "/27")
    spec["site"]["addresses"] |= finding["fix"]["site"]["addresses"]
    plan = create(client, spec=spec)
    assert plan["spec"]["site"]["addresses"] == {"servers": "10.20.0.0/27", "gateway": "10.20.0.1"}
    hosts = client.get(f"/api/v1/plans/{plan['id']}/exports/hosts").text
    assert "10.20.0.2\t" in hosts
    assert "10.20.0.1\t" not in hosts


def test_a_plan_too_large_is_refused_at_once_with_an_estimate(client: TestClient) -> None:
    answer = client.post("/api/v1/plans/preview", json={"spec": {"family": "dcell", "n": 6, "k": 3}})
    assert answer.status_code == 422
    assert answer.json()["type"].endswith("too-large-plan")
    assert "3,263,442 servers" in answer.json()["detail"]
    assert answer.elapsed.total_seconds() < 1


def test_a_plan_s_parts_agree_with_its_preview(client: TestClient) -> None:
    plan = create(client)
    here = f"/api/v1/plans/{plan['id']}"
    wanted = {"spec": SMALL, "include": ["summary", "scene", "bom", "cables"]}
    preview = client.post("/api/v1/plans/preview", json=wanted).json()
    assert plan["summary"] == preview["summary"]
    assert client.get(f"{here}/scene").json() == preview["scene"]
    assert client.get(f"{here}/bom").json() == preview["bom"]
    assert client.get(f"{here}/cables").json() == preview["cables"]


def test_pages_of_cables_join_to_the_whole(client: TestClient) -> None:
    here = f"/api/v1/plans/{create(client)['id']}/cables"
    whole = client.get(here).json()
    joined: Json = {name: [] for name in whole["columns"]}
    for offset in range(0, whole["count"], 5):
        page = client.get(here, params={"offset": offset, "limit": 5}).json()
        assert page["offset"] == offset
        for name, values in page["columns"].items():
            joined[name] += values
    assert joined == whole["columns"]
    beyond = client.get(here, params={"offset": 10**9, "limit": 3}).json()
    assert beyond["columns"]["a_device"] == []
    assert beyond["count"] == 32
    assert client.get(here, params={"offset": -1}).status_code == 422


def test_devices_and_racks_are_traced(client: TestClient) -> None:
    here = f"/api/v1/plans/{create(client)['id']}"
    scene = client.get(f"{here}/scene").json()
    cables = client.get(f"{here}/cables").json()["columns"]
    ends = list(zip(cables["a_device"], cables["b_device"], strict=True))
    for index, name in enumerate(scene["devices"]["name"]):
        answer = client.get(f"{here}/devices/{name.replace('<', '%3C').replace('>', '%3E')}")
        trace = documents.DeviceTrace.model_validate(answer.json())
        assert (trace.device, trace.index) == (name, index)
        plugged = {cable for cable in trace.rows.cable if cable >= 0}
        assert plugged == {cable for cable, pair in enumerate(ends) if index in pair}
    seen: list[str] = []
    for rack in scene["racks"]["name"]:
        sheet = documents.RackSheet.model_validate(client.get(f"{here}/racks/{rack}").json())
        seen += [device.device for device in sheet.devices]
    assert sorted(seen) == sorted(scene["devices"]["name"])
    assert client.get(f"{here}/devices/9999").status_code == 404
    assert client.get(f"{here}/racks/R99").status_code == 404


def test_a_change_follows_on_the_head_or_not_at_all(client: TestClient) -> None:
    plan = create(client)
    here = f"/api/v1/plans/{plan['id']}"
    bigger = {"family": "bcube", "n": 4, "k": 2}
    assert client.patch(here, json={"spec": bigger}).status_code == 428
    first = client.patch(here, json={"spec": bigger, "base_revision": 1, "note": "more room"})
    assert (first.status_code, first.json()["revision"]) == (200, 2)
    late = client.patch(here, json={"spec": SMALL, "base_revision": 1})
    assert late.status_code == 409
    assert "revision 2" in late.json()["detail"]
    tag = client.get(here).headers["etag"]
    assert client.patch(here, json={"spec": SMALL}, headers={"if-match": '"x.1"'}).status_code == 412
    assert client.patch(here, json={"spec": SMALL}, headers={"if-match": tag}).json()["revision"] == 3
    assert client.patch(here, json={"spec": SMALL}, headers={"if-match": tag}).status_code == 412
    same = client.patch(here, json={"spec": SMALL, "base_revision": 3})
    assert same.json()["revision"] == 3, "content that is the head's already makes no revision"
    renamed = client.patch(here, json={"name": "  Yard \t B "}).json()
    assert (renamed["name"], renamed["revision"]) == ("Yard B", 3)
    history = client.get(f"{here}/revisions").json()
    assert [(item["revision"], item["kind"], item["note"]) for item in history["items"]] == [
        (3, "edit", ""),
        (2, "edit", "more room"),
        (1, "create", ""),
    ]
    assert client.get(here, params={"revision": 2}).json()["spec"] == {"topology": bigger}
    assert client.get(here, params={"revision": 4}).status_code == 404


def test_undo_is_an_earlier_revision_and_can_be_undone(client: TestClient) -> None:
    plan = create(client)
    here = f"/api/v1/plans/{plan['id']}"
    second = client.patch(here, json={"spec": {"family": "bcube", "n": 4, "k": 2}, "base_revision": 1}).json()
    undone = client.post(f"{here}/revert", json={"revision": 1, "base_revision": 2}).json()
    assert (undone["revision"], undone["content_hash"], undone["plan_hash"]) == (
        3,
        plan["content_hash"],
        plan["plan_hash"],
    )
    redone = client.post(f"{here}/revert", json={"revision": 2}).json()
    assert (redone["revision"], redone["plan_hash"]) == (4, second["plan_hash"])
    assert client.post(f"{here}/revert", json={"revision": 9}).status_code == 404
    assert client.post(f"{here}/revert", json={"revision": 1, "base_revision": 1}).status_code == 409
    assert client.get(f"{here}/cables").json()["count"] == redone["summary"]["counts"]["cables"]
    assert client.delete(here, headers={"if-match": '"nothing"'}).status_code == 412
    assert client.delete(here).status_code == 204
    assert client.get(here).status_code == 404


def test_lists_page_softly_while_plans_come_and_go(client: TestClient) -> None:
    ids = [create(client, f"Plan {number} %_")["id"] for number in range(7)]
    seen: list[str] = []
    cursor = None
    while True:
        page = client.get("/api/v1/plans", params={"limit": 3, **({"cursor": cursor} if cursor else {})}).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["next"]
        if len(seen) == 3:
            client.delete(f"/api/v1/plans/{seen[-1]}")
            create(client, "Newer than the first page")
        if cursor is None:
            break
    assert seen == ids[::-1], "nothing is shown twice and nothing that stayed is missed"
    assert len(client.get("/api/v1/plans", params={"q": "plan 2 %_"}).json()["items"]) == 1
    assert client.get("/api/v1/plans", params={"q": "100%"}).json()["items"] == []
    assert client.get("/api/v1/plans", params={"cursor": "not a cursor"}).status_code == 422


def test_a_comparison_says_what_growing_from_the_base_rewires(client: TestClient) -> None:
    saved, grown = create(client, "The base"), {"family": "bcube", "n": 4, "k": 2}
    several_racks = {"family": "bcube", "n": 8, "k": 2}
    plans = [{"id": saved["id"]}, {"spec": grown}, {"spec": several_racks}]
    answer = client.post("/api/v1/compare", json={"plans": plans}).json()
    rows = {row["metric"]: row for row in answer["rows"] if row["group"] == "Lifecycle of wiring"}
    after = create(client, "Grown", spec=grown)
    order = client.get(f"/api/v1/plans/{saved['id']}/diff/{after['id']}").json()["counts"]
    assert rows["links_rewired"]["values"][:2] == [None, order["move"] + order["remove"]]
    assert rows["links_added"]["values"][:2] == [None, order["add"]]
    assert rows["bundles"]["values"][2] >= rows["bundle_types"]["values"][2] > 0
    assert all(all(row["notes"]) for row in rows.values())


def test_bad_names_are_refused_and_named(client: TestClient) -> None:
    for name in ["", "   ", "x" * 121, "a\x00b", "tab\x07", "\u202a" * 0 + "\x1b[31m", 7, None]:
        answer = client.post("/api/v1/plans", json={"name": name, "spec": SMALL})
        assert answer.status_code == 422, name
        assert answer.json()["errors"][0]["field"] == "body.name"


def test_a_comparison_counts_the_findings_that_the_plans_page_counts(client: TestClient) -> None:
    partial = {"family": "bcube", "n": 8, "k": 3, "servers": 2048}
    severities = [
        finding["severity"]
        for finding in client.post("/api/v1/plans/preview", json={"spec": partial}).json()["summary"]["findings"]
    ]
    assert "info" in severities, "a remark, which is no finding to act on"
    answer = client.post("/api/v1/compare", json={"plans": [{"spec": partial}, {"spec": SMALL}]}).json()
    assert answer["plans"][0]["findings"] == len(severities) - severities.count("info") > 0


def test_plans_are_compared_on_shared_metrics(client: TestClient) -> None:
    saved = create(client, "The base")
    wanted = {
        "plans": [{"id": saved["id"]}, {"spec": {"family": "fat_tree", "ports": 4, "layers": 3}, "name": "Tree"}],
        "base": 0,
    }
    answer = client.post("/api/v1/compare", json=wanted)
    assert answer.status_code == 200
    result = schemas.CompareResponse.model_validate(answer.json())
    assert [plan.name for plan in result.plans] == ["The base", "Tree"]
    rows = {row.metric: row for row in result.rows}
    summaries = [
        saved["summary"],
        client.post("/api/v1/plans/preview", json={"spec": wanted["plans"][1]["spec"]}).json()["summary"],
    ]
    assert rows["cost_total_usd"].values == [summary["cost_usd"]["total"] for summary in summaries]
    assert {"servers", "switches", "cable_metres", "bisection_gbps", "diameter_links"} <= set(rows)
    assert "diameter" not in rows, "hops and links do not compare"
    closed = [summary["metrics"] for summary in summaries]
    assert rows["diameter_links"].values == [item["diameter_links"]["value"] for item in closed]
    assert rows["bisection_links"].exact == [item["bisection"]["exact"] for item in closed]
    assert rows["bisection_links"].notes == [item["bisection"]["note"] for item in closed]
    assert rows["faults_tolerated"].values == [1, 0], "BCube_1's two ports; a server of a fat-tree has one"
    assert all(note.startswith("The largest number of servers") for note in rows["faults_tolerated"].notes)
    assert set(rows["servers"].exact) == {None}
    hops = client.post("/api/v1/compare", json={"plans": [{"id": saved["id"]}, {"spec": {"family": "dcell", "n": 4, "k": 1}}]})  # fmt: skip
    by_name = {row["metric"]: row for row in hops.json()["rows"]}
    assert (by_name["diameter"]["unit"], by_name["diameter"]["values"]) == ("hops", [2, 3])
    for row in result.rows:
        assert row.deltas[0] in (0, None)
        for value, delta in zip(row.values, row.deltas, strict=True):
            if value is not None and row.values[0] is not None:
                assert delta == value - row.values[0]
    assert client.post("/api/v1/compare", json={**wanted, "base": 2}).status_code == 422
    assert client.post("/api/v1/compare", json={"plans": wanted["plans"][:1]}).status_code == 422
    assert client.post("/api/v1/compare", json={"plans": [{}, {}]}).status_code == 422
    assert client.post("/api/v1/compare", json={"plans": [{"id": "0" * 14}, {"spec": SMALL}]}).status_code == 404


def test_a_preview_tells_its_deltas_against_a_base(client: TestClient) -> None:
    base = client.post("/api/v1/plans/preview", json={"spec": SMALL}).json()["summary"]
    for given_base in (SMALL, base["plan_hash"]):
        answer = client.post(
            "/api/v1/plans/preview", json={"spec": {"family": "bcube", "n": 4, "k": 2}, "base": given_base}
        ).json()
        deltas = {delta["metric"]: delta for delta in answer["deltas"]}
        assert deltas["servers"]["delta"] == 64 - 16
        assert deltas["switches"]["base"] == 8
    unknown = client.post("/api/v1/plans/preview", json={"spec": SMALL, "base": "0" * 64}).json()
    assert "deltas" not in unknown


def test_a_diff_is_a_work_order_and_nothing_changes_for_the_same_plan(client: TestClient) -> None:
    two = create(client, spec={"family": "bcube", "n": 4, "k": 2, "servers": 32})
    four = create(client, spec={"family": "bcube", "n": 4, "k": 2})
    order = documents.WorkOrder.model_validate(client.get(f"/api/v1/plans/{two['id']}/diff/{four['id']}").json())
    before, after = two["summary"]["counts"]["cables"], four["summary"]["counts"]["cables"]
    assert order.counts.keep + order.counts.move + order.counts.remove == before
    assert order.counts.keep + order.counts.move + order.counts.add == after
    assert len(order.columns.action) == sum(order.counts.model_dump().values())
    same = client.get(f"/api/v1/plans/{two['id']}/diff/{two['id']}").json()["counts"]
    assert same == {"keep": before, "move": 0, "add": 0, "remove": 0}


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_hostile_specs = st.one_of(
    st.dictionaries(st.text(max_size=12), _json, max_size=4),
    st.fixed_dictionaries({"family": st.sampled_from(FAMILIES) | st.text()}, optional=dict.fromkeys(LETTERS, _json)),
    st.fixed_dictionaries({"topology": _json}, optional={"site": _json, "packaging": _json, "cabling": _json, "catalog": _json}),
)  # fmt: skip


@hypothesis_settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(spec=_hostile_specs)
def test_hostile_specs_are_answered_never_crashed_on(client: TestClient, spec: Json) -> None:
    answer = client.post("/api/v1/plans/preview", json={"spec": spec})
    assert answer.status_code in (200, 400, 422), answer.text
    if answer.status_code == 422:
        problem = answer.json()
        assert problem["findings"] or problem["errors"]


def test_malformed_bodies_are_4xx_problems(client: TestClient) -> None:
    for body in [
        b'{"spec": {"family": "bcube", "n": NaN, "k": 1}}',
        b'{"spec": {"family": "bcube", "n": 1e999, "k": 1}}',
        b'{"spec": {"family": "\\ud800", "n": 4, "k": 1}}',
        b'{"spec": {"family": "bc\\u0000ube"}}',
        b'{"spec": {"family": "bcube", "n": ' + b"9" * 5000 + b"}}",
        b'{"spec": ' + b'{"topology":' * 300 + b"1" + b"}" * 300 + b"}",
        b'{"spec": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"\xff\xfe",
        b"{",
        b"null",
        b"",
    ]:
        answer = client.post("/api/v1/plans/preview", content=body, headers={"content-type": "application/json"})
        assert answer.status_code in (400, 422), (body[:40], answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
