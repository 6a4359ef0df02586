"""No error that users see has the words of the engine's JSON reader."""

from __future__ import annotations

import re
from typing import Any

import pytest

from cubeyard.engine import Engine, PlanRejectedError
from cubeyard.kit.engine_words import in_words

READER = re.compile(
    r"\b([uif](8|16|32|64|size)|str|enum|struct|variant|expected|serde|tuple|map|sequence|invalid|unknown|field `|missing field)\b"
)
PLAN = {"family": "bcube", "n": 4, "k": 1}
GIVEN = [
    ("invalid type: null, expected u8", "a.b is null. It must be a whole number from 0 to 255."),
    ("invalid value: integer `300`, expected u16", "a.b is 300. It must be a whole number from 0 to 65,535."),
    ("invalid type: floating point `1.5`, expected i64", "a.b is 1.5. It must be a whole number."),
    ("invalid type: boolean `true`, expected f64", "a.b is true. It must be a number."),
    ('invalid type: string "x, expected u8", expected a map', 'a.b is "x, expected u8". It must be an object.'),
    ("invalid type: sequence, expected struct Site", "a.b is a list. It must be an object."),
    ("invalid type: map, expected a string", "a.b is an object. It must be text."),
    ("missing field `c` at line 1 column 9", "c is missing."),
    ("duplicate field `c`", "c is given twice."),
    ("unknown field `c`, expected `d` or `e`", "a.b has no field c. Its fields are d, e."),
    ("unknown field `c`, there are no fields", "a.b has no field c."),
    ("unknown variant `c`, expected one of `d`, `e`", "a.b is c. It must be one of d, e."),
    (
        "data did not match any variant of untagged enum Thing",
        "a.b is of another kind. It must be in a form that the API's description lists.",
    ),
    ("number out of range at line 1 column 7", "a.b has a number that is too large."),
]
WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "type": ({"seeds": [-1]}, "seeds[0]", "-1"),
    "text for a number": ({"link_gbps": "100"}, "link_gbps", "a number"),
    "unknown field": ({"max_mim": True}, "max_mim", "max_min"),
    "missing field": ({"workload": {"kind": "listed"}}, "workload.flows", "missing"),
    "inside a kind": ({"workload": {"kind": "incast", "count": "x"}}, "workload.count", '"x"'),
    "inside lists": ({"workload": {"kind": "listed", "flows": [["00", "01", 1.5, 0]]}}, "workload.flows[0][2]", "1.5"),
    "length": ({"workload": {"kind": "listed", "flows": [["00", "01", 1]]}}, "workload.flows[0]", "4 values"),
    "kind": ({"workload": {"kind": "incas"}}, "workload.kind", "incast"),
    "forms": ({"faults": [{"target": {"nope": 1}}]}, "faults[0].target", "selector"),
    "setting": ({"engine": "packet", "packet": {"mtu_bytes": "x"}}, "packet.mtu_bytes", "whole number"),
}


@pytest.mark.parametrize(("reader", "words"), GIVEN)
def test_every_kind_of_error_has_words(reader: str, words: str) -> None:
    given = {"severity": "error", "where": "a.b", "message": f"a.b cannot be read: {reader}.", "hint": "Correct it."}
    made = in_words(given)
    assert made["message"] == words
    assert made["hint"]
    others = re.sub(r'"[^"]*"', "", made["message"] + made["hint"])
    assert READER.search(others) is None


def test_other_findings_stay_as_they_are() -> None:
    given = {
        "severity": "error",
        "where": "topology.n",
        "message": "n is 1, but must be at least 2.",
        "hint": "Give 2.",
    }
    assert in_words(given) == given


@pytest.mark.parametrize("name", WRONG)
def test_an_experiment_is_refused_by_field_value_and_limit(name: str, engine: Engine) -> None:
    changed, where, words = WRONG[name]
    request = {"workload": {"kind": "all-to-all"}, "seeds": [7], **changed}
    with pytest.raises(PlanRejectedError) as refused:
        engine.predict_json(PLAN, request)
    (finding,) = refused.value.findings
    assert finding["where"] == where
    text = f"{finding['message']} {finding['hint']}"
    assert words in text
    assert READER.search(text) is None


@pytest.mark.parametrize("section", ["site", "packaging", "cabling"])
def test_no_field_of_a_plan_is_refused_in_the_readers_words(section: str, engine: Engine) -> None:
    fields = engine.plan_schema["properties"][section]["properties"]
    for field in [*fields, "nope"]:
        for value in ("\u2026", -1, 1.5, True, [], {"nope": 1}):
            try:
                engine.plan({"topology": PLAN, section: {field: value}}, engine.builtin_books[0])
            except PlanRejectedError as error:
                for finding in error.findings:
                    text = f"{finding['message']} {finding['hint']}"
                    assert READER.search(text) is None, (field, value, text)
