"""The `--workload` option: a kind, a workload as JSON, or a CSV or Parquet file with flows or a
traffic matrix."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from cubeyard.cli.common import read_json, refuse
from cubeyard.engine import Json
from cubeyard.reading import numbers
from cubeyard.reading.header import Columns, Header
from cubeyard.reading.problems import TwoReadingsError
from cubeyard.reading.tables import SEPARATORS, Row, Table, table_of
from cubeyard.reading.text import lenient

FLOW_COLUMNS = ["source", "destination", "bytes", "start_secs"]
_FROM = {
    "source": ("source", "src", "from", "sender"),
    "destination": ("destination", "dst", "dest", "to", "target", "receiver"),
}
_ENDS = (("source",), ("destination",))
FLOWS = Header(
    "Flows",
    {**_FROM, "bytes": ("bytes",), "start_secs": ("start_secs",)},
    (*_ENDS, ("bytes",)),
    numbers=("bytes", "start_secs"),
)
MATRIX = Header("Traffic matrix", {**_FROM, "weight": ("weight",)}, _ENDS, numbers=("weight",))
MAX_ROWS = 10_000_000
"""Of a Parquet file: as many flows as the packet engine takes."""
WORKLOADS = "all-to-all, one-to-one, one-to-several, one-to-all, permutation, random-pairs, incast, shuffle, hot-racks, matrix or requests"


def read_workload(text: str) -> Json | str:
    """A kind as a word, everything else as an object. Exits with 2 for what cannot be read."""
    if text.lstrip().startswith("{"):
        return read_json(text, "--workload")
    if text.lower().endswith((".csv", ".parquet")):
        try:
            return workload_of(
                _csv_of_parquet(text) if text.lower().endswith(".parquet") else lenient(Path(text).read_bytes())
            )
        except TwoReadingsError as error:
            mistake = error.mistakes[0]
            refuse(
                f"--workload: {text}, {mistake.where}: {mistake.message} Write numbers without separators of thousands."
            )
        except OSError as error:
            words = error.strerror or error
            refuse(f"--workload: {text} cannot be opened: {words}. Give the path of a CSV or Parquet file.")
        except ValueError as error:
            sentence = str(error)
            refuse(f"--workload: {text} cannot be read as flows or as a matrix: {sentence[:1].lower()}{sentence[1:]}")
    return text


def _csv_of_parquet(path: str) -> str:
    """The columns of a workload as CSV, the header in line 1: errors name rows as lines.

    Raises OSError, and ValueError for what is no workload.
    """
    from pyarrow import ArrowInvalid, parquet

    try:
        file = parquet.ParquetFile(path)
    except ArrowInvalid as error:
        raise ValueError("it is no Parquet file") from error
    with file:
        if file.metadata.num_rows > MAX_ROWS:
            raise ValueError(f"it has {file.metadata.num_rows:,} rows; {MAX_ROWS:,} are the limit")
        known = [name for name in (*FLOW_COLUMNS, "weight") if name in file.schema_arrow.names]
        if known[:2] != FLOW_COLUMNS[:2]:
            raise ValueError(
                f"its columns are {', '.join(file.schema_arrow.names)}; {', '.join(FLOW_COLUMNS)} are expected"
            )
        columns: list[Iterable[object]] = [column.to_pylist() for column in file.read(known).columns]
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(known)
    rows.writerows(zip(*columns, strict=True))
    return out.getvalue()


def workload_of(text: str) -> Json:
    """Flows or a traffic matrix from CSV: by the names in the header, without one by the number of
    cells.

    Raises ValueError that names line and column.
    """
    first = next((line for line in text.splitlines() if line.strip()), "")
    separator = max(SEPARATORS, key=first.count)
    cells = csv.reader(io.StringIO(text), delimiter=separator)
    rows = [row for row in cells if any(cell.strip() for cell in row)]
    if rows and not rows[0][0].strip() and len(rows[0]) > 1 and not table_of(text, (FLOWS, MATRIX)):
        return _square(rows)
    table = table_of(text, (FLOWS, MATRIX))
    if table is None:
        if not rows:
            return {"kind": "matrix", "entries": []}
        header = FLOWS if len(rows[0]) == len(FLOW_COLUMNS) else MATRIX
        at = {name: index for index, name in enumerate(header.names)}
        table = Table(Columns(header, at, {}, list(at)), list(enumerate(rows, start=1)), separator=separator)
    if table.separator == ",":  # programs write it, with a decimal point
        table.fallback = "point"
    return _flows(table) if table.header is FLOWS else _entries(table)


def _flows(table: Table) -> Json:
    flows: list[tuple[str, str, int, float]] = []
    for row in table.rows():
        _no_more_cells(row)
        size = row.number_of("bytes")
        if size is None or size < 1 or size != int(size):
            table.wrong(row.number, "bytes", f"{row.cell('bytes')!r} is not a whole number of at least 1.")
            continue
        start = row.number_of("start_secs") or 0.0
        flows.append((row.text("source"), row.text("destination"), int(size), start))
    table.done()
    return {"kind": "listed", "flows": flows}


def _entries(table: Table) -> Json:
    entries: list[tuple[str, str, float]] = []
    for row in table.rows():
        _no_more_cells(row)
        weight = row.number_of("weight") if row.cell("weight") else 1.0
        entries.append((row.text("source"), row.text("destination"), weight or 0.0))
    table.done()
    return {"kind": "matrix", "entries": entries}


def _no_more_cells(row: Row) -> None:
    most = len(row.table.columns.titles)
    if row.width > most:
        row.table.wrong(row.number, "source", f"The line has {row.width} cells, and the table {most} columns.")


def _square(rows: list[list[str]]) -> Json:
    names = [cell.strip() for cell in rows[0][1:]]
    if [row[0].strip() for row in rows[1:]] != names:
        raise ValueError("the names down the side are not those along the top")
    mark = numbers.judged(cell for row in rows[1:] for cell in row[1:]) or "point"
    weights: list[list[float]] = []
    for line, row in enumerate(rows[1:], start=2):
        try:
            weights.append([0.0 if numbers.is_nothing(cell) else numbers.number(cell, mark) for cell in row[1:]])
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from None
    return {"kind": "matrix", "servers": names, "rows": weights}
