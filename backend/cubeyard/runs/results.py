"""A run's results as files, made frame by frame: no process holds a whole sweep."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import orjson

from cubeyard.kit.db import Database
from cubeyard.runs.repository import Frame, RunRepository
from cubeyard.runs.schemas import Run

Json = dict[str, Any]

POINT_COLUMNS = (
    "point", "topology", "title", "failure_kind", "failure_ratio", "seed", "routing", "abt_gbps", "flows", "dropped_flows",
    "max_link_flows", "path_hops_mean", "path_hops_max", "maxmin_total_gbps", "maxmin_min_gbps", "maxmin_median_gbps",
    "engine_version",
)  # fmt: skip
REPORT_COLUMNS = (
    "flow", "source", "destination", "goodput_bits_per_sec", "ideal_bits_per_sec", "fidelity_verdict", "fidelity_reason",
)  # fmt: skip
FIGURE_COLUMNS = ("name", "paper", "ours", "unit", "low", "high", "verdict", "reason")


def as_json(database: Database, run: Run) -> Iterator[bytes]:
    """One object with the run, its points in the order of their numbers in the stream, the figure and the report."""
    complete = b"true" if run.state == "succeeded" else b"false"
    yield b'{"run":' + run.model_dump_json().encode() + b',"complete":' + complete + b',"points":['
    alone = {"figure": b"null", "report": b"null"}
    first = True
    for frame in frames_of(database, run.id):
        if frame.kind in alone:
            alone[frame.kind] = frame.payload.encode()
            continue
        yield (b"" if first else b",") + frame.payload.encode()
        first = False
    yield b'],"figure":' + alone["figure"] + b',"report":' + alone["report"] + b"}"


def as_csv(database: Database, run: Run, titles: list[str]) -> Iterator[bytes]:
    """A row a point, a row a number of the figure, or a row a flow that was measured."""
    columns = {"figure": FIGURE_COLUMNS, "emulation": REPORT_COLUMNS}.get(run.kind, POINT_COLUMNS)
    yield _lines([list(columns)])
    for frame in frames_of(database, run.id):
        payload = orjson.loads(frame.payload)
        if frame.kind == "report":
            verdict = {f"fidelity_{name}": payload["fidelity"][name] for name in ("verdict", "reason")}
            rows = [{**row, **verdict} for row in payload["per_flow"]]
        else:
            rows = payload.get("rows", []) if frame.kind == "figure" else [_flat(payload, titles)]
        yield _lines([[_cell(row.get(column)) for column in columns] for row in rows])


def _flat(payload: Json, titles: list[str]) -> Json:
    result = payload["result"]
    hops, maxmin = result.get("path_hops") or {}, result.get("maxmin") or {}
    return {
        **result,
        **{key: value for key, value in payload.items() if key != "result"},
        "title": titles[payload["topology"]],
        **{f"path_hops_{name}": hops.get(name) for name in ("mean", "max")},
        **{f"maxmin_{name}": maxmin.get(name) for name in ("total_gbps", "min_gbps", "median_gbps")},
    }


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets an apostrophe."""
    if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t", "\r"}:
        return f"'{value}"
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else value


def _lines(rows: list[list[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def frames_of(database: Database, run_id: str) -> Iterator[Frame]:
    """Each batch in a transaction of its own: a slow client holds no connection."""
    after = 0
    while True:
        with database.session() as session:
            frames = RunRepository(session).frames(run_id, after, points_only=True)
        if not frames:
            return
        yield from frames
        after = frames[-1].seq
