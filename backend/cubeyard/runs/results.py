"""A run's results as files, made frame by frame: no process holds a whole sweep."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import orjson

from cubeyard.experiments.rows import POINT_COLUMNS, row_of
from cubeyard.kit.db import Database
from cubeyard.runs.repository import Frame, RunRepository
from cubeyard.runs.schemas import Run

Json = dict[str, Any]

COLUMNS: dict[str, dict[str, str]] = {
    **POINT_COLUMNS,
    "emulation": {
        "flow": "int64", "source": "string", "destination": "string", "goodput_bits_per_sec": "float64",
        "ideal_bits_per_sec": "float64", "fidelity_verdict": "string", "fidelity_reason": "string",
    },
    "figure": {
        "name": "string", "paper": "float64", "predicted": "float64", "predicted_by": "string", "ours": "float64", "unit": "string", "low": "float64", "high": "float64",
        "verdict": "string", "reason": "string",
    },
}  # fmt: skip
"""The tables' columns, each with its Arrow type."""


def as_json(database: Database, run: Run) -> Iterator[bytes]:
    """One object with the run, its points in the order of their numbers, the figure and the
    report."""
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
    columns = columns_of(run)
    yield _lines([list(columns)])
    for rows in _tables(database, run, titles):
        yield _lines([[_cell(row.get(column)) for column in columns] for row in rows])


def as_parquet(database: Database, run: Run, titles: list[str]) -> Iterator[bytes]:
    """The same table with its types; the file's metadata names its run."""
    import pyarrow
    from pyarrow import parquet

    about = {
        "run": run.id,
        "kind": run.kind,
        "title": run.title,
        "state": run.state,
        "engine_version": run.engine_version,
    }
    fields = [(name, pyarrow.type_for_alias(kind)) for name, kind in columns_of(run).items()]
    schema = pyarrow.schema(fields, metadata={f"cubeyard.{name}": value for name, value in about.items()})
    rows = [row for rows in _tables(database, run, titles) for row in rows]
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), sink, compression="zstd")
    yield sink.getvalue().to_pybytes()


def columns_of(run: Run) -> dict[str, str]:
    return COLUMNS.get(run.kind, COLUMNS["points"])


def _tables(database: Database, run: Run, titles: list[str]) -> Iterator[list[Json]]:
    """The rows of each frame, by the columns' names and more."""
    for frame in frames_of(database, run.id):
        payload = orjson.loads(frame.payload)
        match frame.kind:
            case "figure":
                yield payload.get("rows", [])
            case "report":
                verdict = {f"fidelity_{name}": payload["fidelity"][name] for name in ("verdict", "reason")}
                yield [{**row, **verdict} for row in payload["per_flow"]]
            case _:
                yield [row_of(payload, titles)]


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
    """The frames of points, by number. Each batch has a separate transaction, so that a slow client
    holds no connection."""
    after = -1
    while True:
        with database.session() as session:
            result = RunRepository(session).results(run_id, after)
        if not result:
            return
        yield from (frame for _, frame in result)
        after = result[-1][0]
