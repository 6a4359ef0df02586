"""Errors of a request in plain words: for fields with several forms, only the errors of the
intended form."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from cubeyard.kit.models import Model
from cubeyard.kit.problems import install
from cubeyard.kit.validation import in_words


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Share(Strict):
    kind: Literal["servers", "switches"]
    ratio: float = Field(ge=0, le=1)


class Named(Strict):
    names: list[str] = Field(min_length=1)


class Selected(Strict):
    selector: str = Field(max_length=20)


class Asked(Strict):
    target: Share | Named | Selected
    seeds: int | list[int] | None = None
    settings: dict[str, bool | int | str] = {}
    mode: Literal["containers", "namespaces"] = "containers"
    checked: Annotated[str, AfterValidator(str), Field(max_length=4)] = ""


def errors_of(change: dict[str, Any]) -> list[dict[str, Any]]:
    sent = {"target": {"selector": "10% of servers"}, **change}
    with pytest.raises(ValidationError) as raised:
        Asked.model_validate(sent)
    return [word.model_dump() for word in in_words(raised.value.errors(), sent)]


@pytest.mark.parametrize(
    ("change", "field", "message", "hint"),
    [
        ({"target": "x"}, "target", '"x" is not an object.', "Give an object."),
        (
            {"target": {}},
            "target",
            "An empty object is not an object with kind and ratio, or names, or selector.",
            "Give an object with kind and ratio, or names, or selector.",
        ),
        (
            {"target": {"kind": "servers", "ratio": 2}},
            "target.ratio",
            "2 is more than 1.0.",
            "Give a value that is at most 1.0.",
        ),
        ({"target": {"kind": "servers"}}, "target.ratio", "This field is missing.", "Add it."),
        ({"target": {"names": []}}, "target.names", "It has 0 entries.", "Give at least 1 entry."),
        ({"target": {"names": ["00", 7]}}, "target.names.1", "7 is not text.", "Give text."),
        ({"target": {"selector": "x" * 21}}, "target.selector", "It has 21 characters.", "Give at most 20 characters."),
        ({"checked": "five5"}, "checked", "It has 5 characters.", "Give at most 4 characters."),
        (
            {"target": {"kind": "server", "ratio": 0}},
            "target.kind",
            '"server" is not one of servers, switches.',
            'Did you mean "servers"?',
        ),
        ({"seeds": "abc"}, "seeds", '"abc" is not a whole number or a list.', "Give a whole number or a list."),
        ({"seeds": [1, "b"]}, "seeds.1", '"b" is not a whole number.', "Give a whole number."),
        (
            {"settings": {"a": []}},
            "settings.a",
            "A list of 0 is not true or false or a whole number or text.",
            "Give true or false or a whole number or text.",
        ),
        ({"mode": "vm"}, "mode", '"vm" is not one of containers, namespaces.', "Give one of containers, namespaces."),
        ({"sed": 1}, "sed", "There is no such field.", "Remove it, or check its spelling."),
    ],
)
def test_an_error_names_the_field_and_says_what_to_give(
    change: dict[str, Any], field: str, message: str, hint: str
) -> None:
    (error,) = errors_of(change)
    assert (error["field"], error["message"], error["hint"]) == (field, message, hint)


def test_two_things_wrong_with_one_form_are_both_told() -> None:
    errors = errors_of({"target": {"ratio": 2}})
    assert [error["field"] for error in errors] == ["target.kind", "target.ratio"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "ratio", "names", "selector", "else"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.fixed_dictionaries({}, optional={"target": VALUES, "seeds": VALUES, "settings": VALUES, "mode": VALUES}))
def test_every_error_is_at_a_place_of_what_was_sent(sent: dict[str, Any]) -> None:
    """And names no class or function of ours."""
    try:
        Asked.model_validate(sent)
    except ValidationError as error:
        result = in_words(error.errors(), sent)
    else:
        return
    assert result
    for word in result:
        place: Any = sent
        *parents, last = word.field.split(".") if word.field != "body" else ("",)
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        assert isinstance(place, dict | list)
        words = json.dumps(word.model_dump(exclude={"value"}))
        assert not any(
            name in words for name in ("Share", "Named", "Selected", "function", "Input should", "constrained")
        )
        assert last == "" or word.message.endswith(".")


def test_a_response_has_the_same_words() -> None:
    app = FastAPI()
    install(app)

    @app.post("/asked")
    def asked(body: Asked, limit: int = 1) -> None:
        del body, limit

    client = TestClient(app)
    answer = client.post("/asked?limit=x", json={"target": {"selector": "a"}, "seeds": "abc"}).json()
    assert [error["field"] for error in answer["errors"]] == ["query.limit", "body.seeds"]
    assert answer["detail"] == 'query.limit: "x" is not a whole number. And 1 more.'


def test_errors_of_a_value_that_is_no_object_have_a_place_too() -> None:
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(Asked).validate_python(5)
    (error,) = in_words(raised.value.errors(), 5)
    assert (error.field, error.message) == ("body", "5 is not an object.")


class _Inner(Model):
    counts: list[tuple[int, float]] = []


class _Numbers(Model):
    count: Annotated[int, Field(ge=0)] = 0
    rate: float | None = None
    shares: dict[str, float] = {}
    inner: list[_Inner] = []
    either: int | str = 0
    flag: bool | int = 0


@pytest.mark.parametrize(
    ("sent", "field", "wanted"),
    [
        ({"count": True}, "count", "a whole number"),
        ({"rate": False}, "rate", "a number"),
        ({"shares": {"a": True}}, "shares.a", "a number"),
        ({"inner": [{"counts": [[1, True]]}]}, "inner.0.counts.0.1", "a number"),
        ({"either": True}, "either", "a whole number or text"),
    ],
)
def test_true_and_false_are_no_numbers(sent: dict[str, Any], field: str, wanted: str) -> None:
    with pytest.raises(ValidationError) as refused:
        _Numbers.model_validate(sent)
    (error,) = in_words(refused.value.errors(), sent)
    assert (error.field, error.limit, error.hint) == (field, wanted, f"Give {wanted}.")
    assert error.message.startswith(("true is not", "false is not"))


def test_what_takes_true_as_itself_still_does() -> None:
    assert _Numbers.model_validate({"flag": True, "count": 3, "rate": 2}).flag is True
