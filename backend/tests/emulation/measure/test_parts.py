"""Long texts of events in parts."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.emulation.measure.events import EVENT_BYTES, Events
from cubeyard.emulation.measure.parts import MOST_PARTS, in_parts

Json = dict[str, Any]


def event(text: str) -> Json:
    cells = [
        {"name": "service", "kind": "text", "value": "store"},
        {"name": "answer", "kind": "text", "value": text},
    ]
    return {"kind": "protocol", "name": "service-answer", "server": 3, "cells": cells, "at_nanos": 2**62}


def texts(parts: list[Json]) -> list[str]:
    return [part["cells"][1]["value"] for part in parts]


@given(st.text(st.characters(codec="utf-8"), max_size=3000), st.integers(400, 2000))
def test_parts_are_short_enough_and_add_up_to_the_text(text: str, most_bytes: int) -> None:
    parts = in_parts(event(text), most_bytes)
    assert all(len(orjson.dumps({**part, "at_secs": -1234.5678})) <= most_bytes for part in parts)
    left = [[cell["value"] for cell in part["cells"] if cell["name"] == "parts_left"] for part in parts]
    assert left == [*([index] for index in reversed(range(1, len(parts)))), []]
    whole = "".join(texts(parts))
    assert whole == text if len(parts) < MOST_PARTS else text.startswith(whole)


def test_an_event_that_no_text_makes_long_is_left_as_it_is() -> None:
    long = {**event("short"), "cells": [{"name": "n", "kind": "servers", "value": list(range(500))}]}
    assert in_parts(long, EVENT_BYTES) == [long]
    assert in_parts(event("short"), EVENT_BYTES) == [event("short")]


@given(st.text(st.characters(codec="utf-8"), max_size=4000))
def test_answers_of_services_are_reported_completely(answer: str) -> None:
    events = Events(0)
    events.hear([{**event(answer), "kind": "service-answer", "at_nanos": 5}], 1.0)
    reported: list[Json] = []
    while tick := events.tick():
        assert len(orjson.dumps(tick)) < 9000
        reported += tick["events"]
    assert {item["kind"] for item in reported} == {"protocol"}, "none is refused"
    whole = "".join(texts(reported))
    assert whole == answer if len(reported) < MOST_PARTS else answer.startswith(whole)
