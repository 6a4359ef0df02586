"""Times of a simulation's flows as a table: CSV and Parquet, of a whole run or of what there is so
far."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any, Literal

Json = dict[str, Any]
Format = Literal["csv", "parquet"]

FLOW_COLUMNS: dict[str, str] = {
    "flow": "int64", "source": "string", "destination": "string", "bytes": "int64", "start_secs": "float64",
    "completion_secs": "float64", "drops": "int64", "retransmits": "int64", "timeouts": "int64",
}  # fmt: skip
"""Columns with their Arrow types; seconds of virtual time. A flow that is not over has no
completion time."""
POINT_COLUMNS: dict[str, str] = {"point": "int64", "seed": "int64"}
"""Before them, of a run with several points."""

Table = tuple[Json, Json]
"""The fixed columns at the start of each row, such as `{"point": 0}`, and the columns of an
engine's `flow_times`."""


def as_csv(tables: Iterable[Table], before: Iterable[str] = ()) -> Iterator[bytes]:
    """A line of names, then a line a flow: as many chunks as tables and one more."""
    names = list(before)
    yield _lines([[*names, *FLOW_COLUMNS]])
    for begins, columns in tables:
        begin = [begins[name] for name in names]
        yield _lines([*begin, *row] for row in zip(*(columns[name] for name in FLOW_COLUMNS), strict=True))


def as_parquet(tables: Iterable[Table], before: Iterable[str] = ()) -> bytes:
    """The same with its types, compressed."""
    import pyarrow
    from pyarrow import parquet

    types = {**{name: POINT_COLUMNS[name] for name in before}, **FLOW_COLUMNS}
    schema = pyarrow.schema([(name, pyarrow.type_for_alias(kind)) for name, kind in types.items()])
    sink = pyarrow.BufferOutputStream()
    with parquet.ParquetWriter(sink, schema, compression="zstd") as writer:
        for begins, columns in tables:
            count = len(columns["flow"])
            whole = {name: [begins[name]] * count if name in begins else columns[name] for name in types}
            writer.write_table(pyarrow.table(whole, schema=schema))
    return sink.getvalue().to_pybytes()


def _lines(rows: Iterable[list[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
