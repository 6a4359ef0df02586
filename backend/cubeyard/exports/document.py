"""The whole plan as one JSON document, streamed; its `spec` plans the same plan again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from cubeyard.exports.formats import Progress
from cubeyard.plans.view import PlanView

FORMAT = "cubeyard-plan"
FORMAT_VERSION = 1
_CHUNK_VALUES = 65_536
# With sorted keys, a spec from the database gives the same bytes as the original spec.
_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY


def _dump(value: Any) -> bytes:
    return orjson.dumps(value, option=_OPTIONS)


def _column(name: str, values: Any) -> Iterator[bytes]:
    """`"name":[...]` in pieces, so that a million labels are not encoded at once."""
    yield _dump(name) + b":["
    for start in range(0, len(values), _CHUNK_VALUES):
        piece = _dump(values[start : start + _CHUNK_VALUES])[1:-1]
        yield b"," + piece if start else piece
    yield b"]"


def plan_document(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """`{format, format_version, name, plan_hash, engine_version, spec, summary, scene, bom, cables}`.

    `cables` is columnar as in the REST response:
    `{count, columns: {name: [...]}, routes, colours}`, with the labels and port names as further
    columns.
    """
    head = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "name": plan.name,
        "plan_hash": plan.plan_hash,
        "engine_version": plan.engine_version,
        "spec": plan.spec,
        "summary": plan.summary,
        "scene": plan.scene,
        "bom": plan.bom,
    }
    progress(0.0, "plan document")
    first = True
    for key, value in head.items():
        yield (b"{" if first else b",") + _dump(key) + b":" + _dump(value)
        first = False
    yield b',"cables":{"count":' + _dump(plan.cable_count)
    yield b',"routes":' + _dump(plan.routes) + b',"colours":' + _dump(plan.colours) + b',"columns":{'
    columns: dict[str, Any] = dict(plan.cables)
    columns |= {
        "near_label": plan.near_labels,
        "far_label": plan.far_labels,
        "a_port_name": plan.a_port_names,
        "b_port_name": plan.b_port_names,
    }
    for i, (name, values) in enumerate(columns.items()):
        if i:
            yield b","
        yield from _column(name, values)
        progress((i + 1) / len(columns), "plan document")
    yield b"}}}\n"
