"""The `--workload` option: a kind, a workload as JSON, or a CSV or Parquet file with flows or a traffic matrix."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from cubeyard.cli.common import read_json, refuse
from cubeyard.engine import Json

FLOW_COLUMNS = ["source", "destination", "bytes", "start_secs"]
MAX_ROWS = 10_000_000
"""Of a Parquet file: as many flows as the packet engine takes."""
WORKLOADS = "all-to-all, one-to-one, one-to-several, one-to-all, permutation, random-pairs, incast, shuffle, hot-racks, matrix or requests"


def read_workload(text: str) -> Json | str:
    """A kind as a word, everything else as an object. Exits with 2 for what cannot be read."""
    if text.lstrip().startswith("{"):
        return read_json(text, "--workload")
    if text.lower().endswith((".csv", ".parquet")):
        try:
            content = _csv_of_parquet(text) if text.lower().endswith(".parquet") else Path(text).read_text("utf-8-sig")
            return flows_of(content) if _has_flows(content) else matrix_of(content)
        except OSError as error:
            words = error.strerror or error
            refuse(f"--workload: {text} cannot be opened: {words}. Give the path of a CSV or Parquet file.")
        except ValueError as error:
            refuse(f"--workload: {text} cannot be read as flows or as a matrix: {error}")
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


def _has_flows(text: str) -> bool:
    """Whether CSV lists flows: its first line names their columns, or has as many."""
    first = next((row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)), [])
    names = [cell.strip().lower() for cell in first]
    return names[:3] == FLOW_COLUMNS[:3] or (len(names) == len(FLOW_COLUMNS) and names[0] != "")


def flows_of(text: str) -> Json:
    """Flows from CSV: lines `source,destination,bytes,start_secs`; a flow without a start starts at 0.

    Raises ValueError that names the line.
    """
    flows: list[tuple[str, str, int, float]] = []
    for line, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (not flows and cells[:3] == FLOW_COLUMNS[:3]):
            continue
        if len(cells) not in (3, 4):
            raise ValueError(f"line {line} has {len(cells)} cells; {', '.join(FLOW_COLUMNS)} are expected")
        size = _number(cells[2], line)
        if size < 1 or size != int(size):
            raise ValueError(f"line {line} has {cells[2]!r} bytes; a whole number of at least 1 is expected")
        flows.append((cells[0], cells[1], int(size), _number(cells[3], line) if len(cells) == 4 else 0.0))
    return {"kind": "listed", "flows": flows}


def matrix_of(text: str) -> Json:
    """A traffic matrix from CSV: lines `source,destination,weight`, or a square with server names along both sides.

    Raises ValueError that names the line.
    """
    rows = [row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)]
    if not rows:
        return {"kind": "matrix", "entries": []}
    head = [cell.strip() for cell in rows[0]]
    if head[0] == "" and len(head) > 1:
        names = head[1:]
        if [row[0].strip() for row in rows[1:]] != names:
            raise ValueError("the names down the side are not those along the top")
        return {
            "kind": "matrix",
            "servers": names,
            "rows": [[_number(cell, line) for cell in row[1:]] for line, row in enumerate(rows[1:], start=2)],
        }
    body = enumerate(rows, start=1)
    if head[0].lower() == "source":
        next(body)
    entries: list[tuple[str, str, float]] = []
    for line, row in body:
        if len(row) not in (2, 3):
            raise ValueError(f"line {line} has {len(row)} cells; source, destination and weight are expected")
        weight = _number(row[2], line) if len(row) == 3 else 1.0
        entries.append((row[0].strip(), row[1].strip(), weight))
    return {"kind": "matrix", "entries": entries}


def _number(cell: str, line: int) -> float:
    try:
        return float(cell) if cell.strip() else 0.0
    except ValueError as error:
        raise ValueError(f"line {line} has {cell!r} where a number is expected") from error
