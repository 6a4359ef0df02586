"""Scenario files: a written file is read back equally, errors name the position, and verdicts
follow from results."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from cubeyard.experiments.fault_kinds import KINDS
from cubeyard.experiments.hypotheses import METRICS, StatedHypothesis
from cubeyard.experiments.points import points
from cubeyard.experiments.scenario import document, model, reading, verdict
from cubeyard.experiments.scenario.junit import junit
from cubeyard.experiments.scenario.model import Scenario
from cubeyard.kit.errors import ProblemError
from tests.conftest import SMALL, examples

Json = dict[str, Any]
EXAMPLES = Path(__file__).parents[3] / "examples" / "scenarios"
API = "/api/v1"
FLOW = {"scenario": 1, "name": "One switch", "plan": {"topology": SMALL}, "workload": {"kind": "all-to-all"}}

words = st.sampled_from(["00", "1e9", "no", "~", "0x10", "1_000", "<0,0>", "- a", "# b", "é: {", " x ", "'", '"'])
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12) | words
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
values = st.recursive(
    scalars, lambda item: st.lists(item, max_size=3) | st.dictionaries(texts, item, max_size=3), max_leaves=6
)
ratios = st.floats(0, 1)
targets = (
    st.fixed_dictionaries({"kind": st.sampled_from(["server", "switch", "link", "rack"]), "ratio": ratios})
    | st.fixed_dictionaries({"names": st.lists(texts, min_size=1, max_size=3)})
    | st.fixed_dictionaries({"selector": texts})
)


@st.composite
def faults(draw: Any, engine: str) -> Json:
    kind = draw(st.sampled_from(["down", "link-rate", "link-loss"] if engine == "flow" else list(KINDS)))
    at_secs = draw(st.floats(0, 100))
    fault = {"target": draw(targets), "kind": kind, "at_secs": at_secs}
    for parameter in KINDS[kind].parameters:
        fault[parameter.name] = draw(st.floats(parameter.minimum, parameter.maximum))
    if draw(st.booleans()):
        fault["until_secs"] = at_secs + draw(st.floats(0.001, 100))
    if engine == "emulation" and draw(st.booleans()):
        fault["flap_secs"] = draw(st.floats(0.2, 10))
    return fault


@st.composite
def scenarios(draw: Any) -> Json:
    engine = draw(st.sampled_from(["flow", "emulation"]))
    chosen: Json = {"engine": engine, "routing": draw(st.none() | st.just("bsr"))}
    result: Json = {
        **FLOW,
        "name": draw(st.sampled_from(["x", "10", "no: yes", "Größe", "a # b"])),
        "plan": {"topology": draw(st.dictionaries(texts, values, max_size=4))},
        "workload": {"kind": "incast", **draw(st.dictionaries(words, values, max_size=2))},
        "settings": chosen,
        "faults": draw(st.lists(faults(engine), max_size=3)),
    }
    known = [name for name, metric in METRICS.items() if engine in metric.engines]
    bounds = {"metric": st.sampled_from(known), "bound": st.floats(0, 1e12)}
    loose = {"for_secs": st.floats(0.1, 600), "abort": st.booleans()}
    result["hypotheses"] = draw(st.lists(st.fixed_dictionaries(bounds, optional=loose), max_size=3))
    if engine == "emulation":
        chosen["emulation"] = {"seconds": draw(st.floats(1, 100)), "mode": "namespaces", "timers": {"hello_secs": 0.5}}
    else:
        chosen["seeds"] = draw(st.lists(st.integers(0, 2**53 - 1), min_size=1, max_size=3, unique=True))
        chosen["link_load"], chosen["max_min"] = draw(st.booleans()), draw(st.none() | st.booleans())
        failure = [{"kind": "switch", "ratios": draw(st.lists(ratios, min_size=1, max_size=3))}]
        result["axes"] = draw(st.none() | st.just({"failure": failure, "topologies": [result["plan"]], "seeds": 2}))
    return result


@given(scenarios())
@settings(max_examples=examples(25))
def test_scenario_to_experiment_to_scenario_is_the_same(asked: Json) -> None:
    scenario = Scenario.model_validate(asked)
    text = document.write(scenario.document())
    result = reading.read(text)
    assert result.scenario == scenario
    body = result.request.model_dump(mode="json")
    kept = {**body, "plan": {"id": None, "revision": None, "spec": body["plan"]}}
    again = model.of_experiment(scenario.name, kept)
    assert again == scenario
    assert document.write(again.document()) == text
    # Another YAML parser reads the same fields.
    assert set(yaml.safe_load(text)) == set(document.read(text).value)


@given(values, texts)
def test_values_are_read_as_they_were_written(value: Any, key: str) -> None:
    assert document.read(document.write({key: value})).value == {key: value}


@given(st.text(max_size=60) | st.binary(max_size=60) | st.text("[]{}:-,#&*!|>'\"%@ \n\tab01", max_size=60))
def test_no_text_makes_the_reader_fail_otherwise(text: str | bytes) -> None:
    with suppress(ProblemError):
        reading.read(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_scenario_is_read_in_any_encoding_of_unicode(encoding: str) -> None:
    text = document.write(FLOW | {"name": "Pr\u00fcfung"})
    assert reading.read(text.encode(encoding)).scenario == reading.read(text).scenario


WRONG = FLOW | {"faults": [{"target": {"kind": "switch", "ratio": 3}}, {"target": {"names": [12]}}], "extra": 1}


@pytest.mark.parametrize(
    ("text", "line", "field", "told"),
    [
        ("a: [", 1, "text", "not YAML"),
        ("- 1", 1, "text", "mapping"),
        ("a: 1\na: 2", 2, "text", "twice"),
        ("a: &x 1\nb: *x", 1, "text", "anchor"),
        ("a: !!python/object/apply:os.system [x]", 1, "text", "tag"),
        ("a: 1\n---\nb: 2", 2, "text", "second"),
        ("[" * 5000, 1, "text", "deeply"),
        ("a: " + "[" * 40 + "]" * 40, 1, "text", "deeply"),
        ("a: [" + "1," * 150_000 + "1]", 1, "text", "too many"),
        ("a: " + "x" * 1_000_001, None, "text", "bytes"),
        (document.write(WRONG), 7, "faults[0].target.ratio", "more than 1"),
        (document.write(FLOW | {"faults": [{"target": {"names": [12]}}]}), 8, "faults[0].target.names[0]", '"12"'),
        (document.write(FLOW | {"faults": [{"target": {"names": ["x"]}, "kind": "link-rate"}]}), 7,
         "faults[0].rate_bits_per_sec", "needs rate_bits_per_sec"),
        (document.write(FLOW | {"hypotheses": [{"metric": "drops", "bound": 1}]}), 7, "hypotheses[0].metric", "does not answer"),
        (document.write(FLOW | {"settings": {"packet": {}}}), 7, "settings.packet", "no such settings"),
        (document.write(FLOW | {"settings": {"engine": "emulation", "emulation": {"protocol": "udp"}}}), 8,
         "settings.emulation.flow_bits_per_sec", "UDP sends at a rate"),
        (document.write(FLOW | {"plan": {"file": "/etc/passwd"}}), 3, "plan.file", "command line only"),
        (document.write(FLOW | {"axes": {"topologies": [{"id": "0a1b2c3d4e5f6g"}]}}), 8, "axes.topologies[0]", "no saved plan"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_by_path_and_line(text: str, line: int | None, field: str, told: str) -> None:
    with pytest.raises(ProblemError) as refused:
        reading.read(text)
    first = refused.value.errors[0]
    assert (first.line, first.field) == (line, field)
    assert told in f"{first.message} {first.hint}"


def test_a_fault_can_be_text() -> None:
    lossy = {"kind": "link-loss", "target": {"names": ["00/<0,0>"]}, "loss_ratio": 0.05}
    first, second = (
        reading.read(document.write(FLOW | {"faults": [fault]})) for fault in ("link-loss:5%=00/<0,0>", lossy)
    )
    assert first.scenario.document() == second.scenario.document()


def test_every_example_is_valid_and_fits_the_schema() -> None:
    result = {
        path.name: reading.read(path.read_bytes(), lambda _: {"topology": SMALL}) for path in EXAMPLES.glob("*.yaml")
    }
    assert {item.request.engine for item in result.values()} == {"flow", "packet", "emulation"}
    schema = model.schema()
    for item in result.values():
        assert item.scenario.document().keys() <= schema["properties"].keys()
    assert set(schema["required"]) == {"scenario", "name", "plan", "workload"}


def judged(claims: list[Json], results: list[Json], healthy: Json | str, faults: list[Json]) -> list[Any]:
    request = {"plan": {"spec": {}}, "faults": faults, "seeds": list(range(len(results))), "axes": None}
    pairs = zip(points(request), results, strict=True)
    return verdict.of_points([StatedHypothesis.model_validate(claim) for claim in claims], pairs, lambda _: healthy)


def test_a_hypothesis_holds_at_every_point_or_not() -> None:
    abt, share = {"metric": "abt", "bound": 3e9}, {"metric": "abt-share", "bound": 0.5}
    results = [{"abt_gbps": 4.0, "dropped_flows": 0}, {"abt_gbps": 3.0, "dropped_flows": 2}]
    fault = [{"target": {"names": ["00"]}, "at_secs": 0}]
    result = judged([abt, share, {"metric": "stalled-flows", "bound": 1}], results, {"abt_gbps": 6.0}, fault)
    assert [item.outcome for item in result] == ["held", "held", "broken"]
    assert [item.worst for item in result] == [3e9, 0.5, 2.0]
    assert "at point 1" in result[2].sentence
    assert verdict.whole(result).outcome == "broken"
    assert [item.outcome for item in judged([share], results, {"abt_gbps": 7.0}, fault)] == ["broken"]
    (of_itself, absolute) = judged([share, abt], results, "unused", [])
    assert (of_itself.outcome, of_itself.sentence) == ("not-tested", "Not tested. No fault was injected.")
    assert absolute.outcome == "held"
    assert absolute.sentence.endswith("No fault was injected.")
    nothing = judged([abt], results, "unused", [{"target": {"selector": "10% of links"}, "at_secs": 0}])
    assert (nothing[0].outcome, verdict.whole(nothing).outcome) == ("not-tested",) * 2, "the fault struck nothing"
    unknown = judged([share, {"metric": "goodput", "bound": 0}], results, "It takes too long.", fault)
    assert [(item.outcome, item.sentence[:7]) for item in unknown] == [
        ("inconclusive", "It take"),
        ("inconclusive", "Max-min"),
    ]
    assert verdict.whole(unknown).outcome == "inconclusive"
    assert verdict.whole([]).outcome == "not-tested"


@pytest.mark.parametrize(
    ("outcomes", "of_all"),
    [
        (["held", "not-tested"], "not-tested"),
        (["not-tested", "inconclusive", "held"], "inconclusive"),
        (["inconclusive", "broken"], "broken"),
        (["held", "held"], "held"),
    ],
)
def test_the_worst_outcome_is_that_of_all(outcomes: list[Any], of_all: str) -> None:
    claim = StatedHypothesis(metric="abt", bound=1)
    each = [verdict.inconclusive(claim, "").model_copy(update={"outcome": outcome}) for outcome in outcomes]
    assert verdict.whole(each).outcome == of_all


def test_an_emulation_is_judged_by_what_its_report_names_as_missing() -> None:
    missing = {"id": "f1", "kind": "link-loss", "targets": ["00/<0,0>"], "reason": "this kernel has no netem"}
    report = {
        "verdict": {"outcome": "none", "sentence": "The run had no hypothesis."},
        "verdicts": [],
        "not_injected": [missing],
        "faults": [
            {"id": "f2", "kind": "cable-pulled", "targets": ["00/<0,0>"], "late_secs": 5.0, "took_secs": 1.0},
            {"id": "f3", "kind": "cable-pulled", "targets": ["00/<0,0>"]},
        ],
    }
    result = verdict.of_emulation([], report)
    assert result.off_schedule == ["f2 (cable-pulled of 00/<0,0>) was injected 5.0 s late and took 1.0 s to inject."]
    assert result.off_schedule[0] in junit("late", result).decode().replace("&lt;", "<").replace("&gt;", ">")
    assert (result.outcome, result.not_injected) == (
        "not-tested", ["f1 (link-loss of 00/<0,0>) was not injected: this kernel has no netem."],
    )  # fmt: skip
    older = {"verdict": {"outcome": "none", "sentence": "Goodput was not tested."}}
    assert verdict.of_emulation([StatedHypothesis(metric="goodput", bound=1)], older).outcome == "not-tested"


def test_junit_has_a_case_for_each_hypothesis() -> None:
    claims = [
        StatedHypothesis(metric="abt-share", bound=0.6),
        StatedHypothesis(metric="drops", bound=0),
        StatedHypothesis(metric="goodput", bound=1e9),
    ]
    outcomes: Any = ["held", "broken", "not-tested"]
    each = [
        verdict.inconclusive(claim, "why \x00 <&>").model_copy(update={"outcome": told})
        for claim, told in zip(claims, outcomes, strict=True)
    ]
    suite = ElementTree.fromstring(junit("A & B\x1b", verdict.whole(each), 1.5)).find("testsuite")
    assert suite is not None
    assert {key: suite.get(key) for key in ("tests", "failures", "skipped", "errors", "time")} == {
        "tests": "3", "failures": "1", "skipped": "1", "errors": "0", "time": "1.500",
    }  # fmt: skip
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [
        "1. ABT at least 60 % of baseline", "2. Dropped packets at most 0", "3. Goodput at least 1 Gb/s",
    ]  # fmt: skip
    assert [[item.tag for item in case] for case in cases] == [["system-out"], ["failure"], ["skipped"]]
    empty = ElementTree.fromstring(junit("x", verdict.whole([])))
    assert len(empty.findall(".//testcase/skipped")) == 1, "nothing was tested"
    assert (empty.get("tests"), empty.get("skipped")) == ("1", "1")


def test_the_api_reads_writes_and_saves_scenarios(client: TestClient) -> None:
    text = (EXAMPLES / "switches-fail.yaml").read_text()
    body = client.post(f"{API}/scenarios/read", json={"text": text}).json()
    made = client.post(f"{API}/scenarios", json={"text": text})
    assert made.status_code == 201, made.text
    file = client.get(f"{API}/experiments/{made.json()['id']}/scenario")
    assert file.headers["content-type"].startswith("application/yaml")
    assert file.headers["content-disposition"].startswith('attachment; filename="a-tenth-of-the-switches-fails.yaml"')
    assert reading.read(file.text).scenario == reading.read(text).scenario
    written = client.post(f"{API}/scenarios/write", json={"experiment": body})
    assert written.text == file.text
    again = client.post(f"{API}/experiments", json=body).json()
    assert again["content_hash"] == made.json()["content_hash"]
    assert [item["metric"] for item in again["hypotheses"]] == ["stalled-flows", "abt-share", "goodput-share"]
    assert client.get(f"{API}/scenarios/schema").json()["title"] == "Scenario"
    saved = client.post(f"{API}/plans", json={"name": "Yard", "spec": SMALL}).json()
    named = client.post(
        f"{API}/scenarios/write", json={"experiment": {"plan": {"id": saved["id"]}, "workload": {"kind": "all-to-all"}}}
    )
    assert reading.read(named.text).scenario.plan == {"topology": SMALL}, "a saved plan is written out"
    refused = client.post(f"{API}/scenarios/write", json={"experiment": {"plan": SMALL}})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "body.experiment.workload")


def test_the_api_tells_path_and_line_of_what_the_engine_refuses(client: TestClient) -> None:
    wrong = FLOW | {"workload": {"kind": "incast", "destination": "nobody"}}
    refused = client.post(f"{API}/scenarios", json={"text": document.write(wrong)})
    assert refused.status_code == 422, refused.text
    first = refused.json()["errors"][0]
    assert (first["field"], first["line"]) == ("workload.destination", 5)
    assert client.get(f"{API}/experiments/00000000000000/scenario").status_code == 404
