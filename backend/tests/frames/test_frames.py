"""The types of frames: validation, their OpenAPI schemas, and that a page can distinguish
events."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from cubeyard.frames import catalog, events
from cubeyard.runs.schemas import RunEvent
from tests.conftest import described
from tests.frames.checked import checked

TICK: dict[str, Any] = {
    "tick": 1, "at_secs": 0.1, "phase": "before", "links": {"ab": [1], "ba": [2]}, "cpu": 0.5, "goodput_bits_per_sec": 8,
    "servers": {"received": [1], "relayed": [0], "cpu": [0.1]}, "abt_bits_per_sec": 4,
}  # fmt: skip


@pytest.mark.parametrize(
    "more",
    [{"colour": 1}, {"phase": "later"}, {"links": {"ab": [1]}}, {"events": [{"kind": "carrier", "at_secs": 1}]}],
    ids=["unknown field", "unknown phase", "missing column", "event without its fields"],
)
def test_a_frame_that_is_not_of_its_type_is_found(more: dict[str, Any]) -> None:
    assert checked("tick", TICK) is TICK
    with pytest.raises((AssertionError, ValidationError)):
        checked("tick", {**TICK, **more})


def test_every_kind_of_frame_is_in_openapi_once() -> None:
    schemas = described()["components"]["schemas"]
    frames = schemas["RunFrames"]["properties"]
    assert list(frames) == list(catalog.EVENTS) == RunEvent.model_json_schema()["properties"]["event"]["enum"]
    for kind in set(catalog.EVENTS) - {"figure", "phase"}:
        name = frames[kind]["$ref"].removeprefix("#/components/schemas/")
        assert schemas[name]["properties"], kind
    kinds = schemas["TickFrame"]["properties"]["events"]["items"]["discriminator"]["mapping"]
    assert set(kinds) == events.kinds() | {"protocol"}
    assert schemas["SecondFrame"]["required"] == [*schemas["TickFrame"]["required"], "secs"]


@pytest.mark.parametrize("kind", sorted(events.kinds()))
def test_names_on_the_wire_are_kebab_case(kind: str) -> None:
    assert kind == kind.lower()
    assert "_" not in kind
    schema = TypeAdapter(events.SessionEvent).json_schema()
    assert schema["discriminator"]["propertyName"] == "kind"
