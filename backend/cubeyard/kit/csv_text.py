"""Reads CSV files in any common encoding, with commas, semicolons or tabs between cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Protocol


class CsvRows(Protocol):
    """Python's `csv.reader`: rows, and the number of the line that was read last, from 1."""

    @property
    def line_num(self) -> int: ...

    def __iter__(self) -> Iterator[list[str]]: ...

    def __next__(self) -> list[str]: ...


def csv_rows(data: bytes) -> tuple[CsvRows, str]:
    """The rows of a file and its delimiter, the most frequent candidate in the first line.

    Encodings: UTF-8 and UTF-16 with a byte order mark, UTF-8 without, else Windows-1252. The reader
    raises `csv.Error` if the text is not CSV.
    """
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    head = text[:4096].split("\n", 1)[0]
    delimiter = max(",;\t", key=head.count)
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), delimiter
