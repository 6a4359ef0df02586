"""The `--workload` option: a kind, a workload as JSON, or a file with flows or a traffic matrix:
CSV, XLSX or Parquet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

from cubeyard.cli.common import read_json, refuse
from cubeyard.engine import Json
from cubeyard.kit.json_text import MAX_INTEGER
from cubeyard.reading import foreign, numbers
from cubeyard.reading.cells import Special
from cubeyard.reading.header import Columns, Header, key
from cubeyard.reading.problems import TwoReadingsError, refused
from cubeyard.reading.tables import SEPARATORS, Row, Table, read_table, table_of
from cubeyard.reading.text import lenient, strict
from cubeyard.reading.units import data_unit, size_factor, time_factor

_FROM = {
    "source": ("source", "src", "from", "sender"),
    "destination": ("destination", "dst", "dest", "to", "target", "receiver"),
    "weight": ("weight",),
    "start_secs": ("startsecs",),
}
_SIZES = ("", "size", "flowsize", "volume", "data", "payload", "length")
_STARTS = ("start", "starttime", "starts", "startat", "startsat", "at", "time", "begin", "arrival", "arrivaltime")
_UNIT = re.compile(r"(.*?)[\s_.-]*[(\[]?\s*([A-Za-z\u03bc\u00b5]+)\s*[)\]]?\s*")
_COMMENT = re.compile(r"#(?:\s|$)|//")
_INDEX = re.compile(r"\s*|__index_level_\d+__|Unnamed: \d+")
"""The numbers of rows that pandas writes before the columns."""
COLUMNS = (
    "The columns of flows are source, destination, a size with its unit (bytes, kilobytes, bits, size_MB) and a start with "
    "its unit (start_secs, start_ms); those of a matrix are source, destination and weight."
)


class _FlowHeader(Header):
    """Columns in any order, sizes and starts by the unit in their name. A column with another name
    is rejected, because it may change the meaning of the others."""

    def of(self, cells: Sequence[str]) -> Columns | None:
        names = {words: column for column, all_names in self.names.items() for words in all_names}
        each = [("-" if _INDEX.fullmatch(words) else names.get(key(words), ""), "") for words in cells]
        if not {"source", "destination"} <= {column for column, _ in each}:
            return None
        each = [known if known[0] else _with_unit(words) for known, words in zip(each, cells, strict=True)]
        if unknown := [words.strip() for (column, _), words in zip(each, cells, strict=True) if not column]:
            are = " is no column" if len(unknown) == 1 else " are no columns"
            message = f"{', '.join(repr(word[:40]) for word in unknown[:5])}{are} of flows or of a matrix."
            raise refused("header", message, f"{COLUMNS}{_ambiguous(unknown)}")
        at = {column: index for index, (column, _) in enumerate(each) if column != "-"}
        for index, (column, _) in enumerate(each):
            if column in at and at[column] != index:
                both = f"{cells[index].strip()[:40]!r} and {cells[at[column]].strip()[:40]!r}"
                what = {"bytes": "size", "start_secs": "start"}.get(column, column)
                raise refused("header", f"{both} are both the {what}.", "Remove one of them.")
        if "bytes" in at and "weight" in at:
            raise refused("header", "It has sizes and weights.", COLUMNS)
        if "start_secs" in at and "bytes" not in at:
            raise refused("header", "It has starts and no sizes.", COLUMNS)
        return Columns(self, at, {column: unit for column, unit in each if unit}, [words.strip() for words in cells])


def _with_unit(words: str) -> tuple[str, str]:
    """The column that a name with a unit means, and the unit; empty for other names."""
    for written in (words.strip(), re.sub(r"(?<=[a-z])(?=[A-Z])", "_", words.strip())):  # startMs
        if (parts := _UNIT.fullmatch(written)) is None:
            continue
        noun, unit = key(parts[1]), parts[2]
        if noun in _SIZES and size_factor(unit) is not None and not re.fullmatch("[kmgt]?i?b", unit):
            return "bytes", unit
        if noun in _STARTS and time_factor(unit) is not None:
            return "start_secs", unit
    return "", ""


def _ambiguous(unknown: Sequence[str]) -> str:
    for words in unknown:
        parts = _UNIT.fullmatch(words)
        unit = data_unit(parts[2]) if parts and key(parts[1]) in _SIZES else None
        if parts and unit and unit.base == "bit" and not unit.per_sec:
            return f" {parts[2]} may be bits or bytes: write kB or kilobits."
        if key(words) in (*_SIZES, *_STARTS):
            return f" {words[:40]} needs a unit."
    return ""


HEADER = _FlowHeader(
    "Flows or traffic matrix", _FROM, (("source",), ("destination",)), numbers=("bytes", "start_secs", "weight")
)
MAX_ROWS = 10_000_000
"""For a Parquet file: at most the number of flows that the packet engine takes."""
WORKLOADS = "all-to-all, one-to-one, one-to-several, one-to-all, permutation, random-pairs, incast, shuffle, hot-racks, matrix or requests"


def read_workload(text: str) -> Json | str:
    """A kind as a word, everything else as an object. Exits with 2 for unreadable files and
    values."""
    if text.lstrip().startswith("{"):
        return read_json(text, "--workload")
    if Path(text).suffix:
        try:
            return _of_file(text)
        except TwoReadingsError as error:
            mistake = error.mistakes[0]
            refuse(
                f"--workload: {text}, {mistake.where}: {mistake.message} Write numbers without separators of thousands."
            )
        except OSError as error:
            words = error.strerror or error
            refuse(f"--workload: {text} cannot be opened: {words}. Give the path of a CSV, XLSX or Parquet file.")
        except ValueError as error:
            sentence = str(error)
            refuse(f"--workload: {text} cannot be read as flows or as a matrix: {sentence[:1].lower()}{sentence[1:]}")
    return text


def _of_file(path: str) -> Json:
    """Raises OSError, and ValueError for a file that has no flows."""
    if path.lower().endswith(".parquet"):
        return _parquet(path)
    data = Path(path).read_bytes()
    if path.lower().endswith(".json"):
        return read_json(strict(data), "--workload")
    foreign.refuse(data)
    if data.startswith(b"PK"):
        return _workload(read_table(data, (HEADER,), f"No row is a header of flows. {COLUMNS}"))
    return workload_of(lenient(data))


def _parquet(path: str) -> Json:
    """Lines are counted as in the same table in CSV; the first row is line 2. Raises OSError, and
    ValueError for a file that has no flows."""
    from pyarrow import ArrowInvalid, parquet

    try:
        file = parquet.ParquetFile(path)
    except ArrowInvalid as error:
        raise ValueError("it is not a Parquet file") from error
    with file:
        if file.metadata.num_rows > MAX_ROWS:
            raise ValueError(f"it has {file.metadata.num_rows:,} rows; {MAX_ROWS:,} are the limit")
        names = file.schema_arrow.names
        if (columns := HEADER.of(names)) is None:
            raise ValueError(f"its columns are {', '.join(names)}. {COLUMNS}")
        cells = [[_cell(value) for value in column.to_pylist()] for column in file.read().columns]
    return _workload(Table(columns, list(enumerate(zip(*cells, strict=True), start=2)), fallback="point"))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return Special(str(value), "boolean")
    return Special(str(value), "number" if isinstance(value, int | float | Decimal) else "date")


def workload_of(text: str) -> Json:
    """Flows or a traffic matrix from CSV: by the names in the header, without one by the number of
    cells: three are a matrix, four are flows.

    Raises ValueError that names line and column.
    """
    if (table := table_of(text, (HEADER,))) is None:
        first = next((line for line in text.splitlines() if line.strip()), "")
        separator = max(SEPARATORS, key=first.count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
        rows = [row for _, row in lines]
        if rows and len(rows[0]) > 1 and not numbers.readings(corner := rows[0][0].strip()):
            along, down = _sides(rows)
            if not corner or (along == down and len(along) > 1):
                return _filled(_square(rows))
        if rows and (names := [cell for cell in rows[0][2:] if cell.strip() and not numbers.readings(cell)]):
            raise ValueError(f"Line 1 has {names[0].strip()[:40]!r} where a number is expected. {COLUMNS}")
        given = ("source", "destination", *(("bytes", "start_secs") if rows and len(rows[0]) == 4 else ("weight",)))
        columns = Columns(HEADER, {name: index for index, name in enumerate(given)}, {}, given)
        table = Table(columns, lines, separator=separator)
    if table.separator == ",":  # programs write it, with a decimal point
        table.fallback = "point"
    return _workload(table)


def _workload(table: Table) -> Json:
    return _filled(_flows(table) if table.has("bytes") else _entries(table))


def _filled(workload: Json) -> Json:
    if not (workload.get("flows") or workload.get("entries") or workload.get("rows")):
        raise ValueError("it has no flows: no line has a source and a destination")
    return workload


def _flows(table: Table) -> Json:
    units = table.columns.units
    of_size = Decimal(str(size_factor(units.get("bytes", "bytes"))))
    of_start = Decimal(str(time_factor(units.get("start_secs", "s"))))
    flows: list[tuple[str, str, int, float]] = []
    for row in _rows(table):
        given = row.number_of("bytes")
        if given is None and row.cell("bytes"):
            continue
        size = 0 if given is None else Decimal(str(given)) * of_size
        if not 1 <= size <= MAX_INTEGER or size != int(size):
            most = f"1 to {MAX_INTEGER}"
            table.wrong(row.number, "bytes", f"{row.cell('bytes')!r} is not a whole number of bytes from {most}.")
            continue
        start = float(Decimal(str(row.number_of("start_secs") or 0.0)) * of_start)
        flows.append((*_ends(row), int(size), start))
    table.done()
    return {"kind": "listed", "flows": flows}


def _entries(table: Table) -> Json:
    entries: list[tuple[str, str, float]] = []
    for row in _rows(table):
        weight = row.number_of("weight") if row.cell("weight") else 1.0
        entries.append((*_ends(row), weight or 0.0))
    table.done()
    return {"kind": "matrix", "entries": entries}


def _rows(table: Table) -> Iterator[Row]:
    """Without comments. Notes a mistake for a line with more cells than the table has columns."""
    most = len(table.columns.titles)
    for row in table.rows():
        if row.cell("source")[:1] in ("", "#") and any(_COMMENT.match(words) for words in row.cells[:1]):
            continue
        if row.width > most:
            table.wrong(row.number, "source", f"The line has {row.width} cells, and the table {most} columns.")
        yield row


def _ends(row: Row) -> tuple[str, str]:
    """Source and destination. Notes a mistake where one is missing."""
    ends = row.text("source"), row.text("destination")
    for column, name in zip(("source", "destination"), ends, strict=True):
        if not name:
            row.table.wrong(row.number, column, "The cell is empty.", COLUMNS)
    return ends


def _sides(rows: list[list[str]]) -> tuple[list[str], list[str]]:
    """The names along the top and down the side of a square."""
    return [cell.strip() for cell in rows[0][1:]], [row[0].strip() for row in rows[1:]]


def _square(rows: list[list[str]]) -> Json:
    names, down = _sides(rows)
    if down != names:
        raise ValueError("the names down the side are not those along the top")
    mark = numbers.judged(cell for row in rows[1:] for cell in row[1:]) or "point"
    weights: list[list[float]] = []
    for line, row in enumerate(rows[1:], start=2):
        try:
            weights.append([0.0 if numbers.is_nothing(cell) else numbers.number(cell, mark) for cell in row[1:]])
        except ValueError as error:
            raise ValueError(f"line {line}: {error}") from None
    return {"kind": "matrix", "servers": names, "rows": weights}
