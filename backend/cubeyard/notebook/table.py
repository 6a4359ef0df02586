"""A table in columns, which converts to a data frame of pandas or polars, or to rows of plain
Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, overload

from cubeyard.notebook.errors import MissingPackageError, mistake

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

SHOWN_ROWS = 10
"""Rows that a notebook shows at each end of a longer table."""
SHORT_CHARACTERS = 48


class Table:
    """Equally long columns by name. Iterating gives rows as dicts; `table["stock_metres"]` is a
    column as a list.

    `table[10:20]` and `head` are tables of some rows. `to_pandas`, `to_polars` and `frame` give
    data frames, `to_dicts` the rows and `to_dict` the columns. Programs that read Arrow take the
    table itself: `pyarrow.table(table)`, `polars.DataFrame(table)`.
    """

    def __init__(self, title: str, columns: Mapping[str, Sequence[Any]]) -> None:
        lengths = {len(column) for column in columns.values()}
        assert len(lengths) <= 1, "columns of one table are equally long"
        self.title = title
        self._columns = {name: list(column) for name, column in columns.items()}
        self._rows = lengths.pop() if lengths else 0

    @classmethod
    def of_rows(cls, title: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
        """The named columns of rows, with None for missing values."""
        return cls(title, {name: [row.get(name) for row in rows] for name in names})

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return self._rows

    @overload
    def __getitem__(self, column: str) -> list[Any]: ...
    @overload
    def __getitem__(self, column: slice) -> Table: ...

    def __getitem__(self, column: str | slice) -> list[Any] | Table:
        if isinstance(column, slice):
            return Table(self.title, {name: each[column] for name, each in self._columns.items()})
        if column not in self._columns:
            raise mistake(column, column, "There is no such column", limit=f"one of {', '.join(self._columns)}")
        return list(self._columns[column])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for i in range(self._rows):
            yield self.row(i)

    def head(self, rows: int = 5) -> Table:
        """The first rows; with a negative number, all but the last ones."""
        return self[:rows]

    def row(self, index: int) -> dict[str, Any]:
        """One row, by column."""
        return {name: column[index] for name, column in self._columns.items()}

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists, by name."""
        return {name: list(column) for name, column in self._columns.items()}

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts. O(rows x columns)."""
        return list(self)

    def to_pandas(self) -> pd.DataFrame:
        """A data frame of pandas. Raises `MissingPackageError` without pandas."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingPackageError("pandas") from None
        return pd.DataFrame(self._columns)

    def to_polars(self) -> pl.DataFrame:
        """A data frame of polars. Raises `MissingPackageError` without polars."""
        try:
            import polars as pl
        except ImportError:
            raise MissingPackageError("polars", "polars") from None
        return pl.DataFrame(self._columns, infer_schema_length=None)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's interface. Raises `MissingPackageError` without pyarrow and polars."""
        try:
            import pyarrow as pa
        except ImportError:
            return self.to_polars().__arrow_c_stream__(requested_schema)
        return pa.table(self._columns).__arrow_c_stream__(requested_schema)

    def frame(self) -> Any:
        """A pandas data frame if pandas is installed, else a polars data frame, else the rows as
        dicts."""
        for make in (self.to_pandas, self.to_polars):
            try:
                return make()
            except MissingPackageError:
                continue
        return self.to_dicts()

    def __repr__(self) -> str:
        return f"<Table {self.title!r}: {self._rows:,} rows of {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> str:
        """As an HTML table: all rows, or the first and last rows of a long table."""
        names = "".join(f"<th>{escape(name)}</th>" for name in self._columns)
        few = self._rows <= 2 * SHOWN_ROWS
        first = range(self._rows if few else SHOWN_ROWS)
        last = range(0) if few else range(self._rows - SHOWN_ROWS, self._rows)
        body = "".join(self._html_row(i) for i in first)
        if last:
            more = f"\u2026 {self._rows - 2 * SHOWN_ROWS:,} more"
            body += f'<tr><td colspan="{len(self._columns)}" style="text-align:left">{more}</td></tr>'
            body += "".join(self._html_row(i) for i in last)
        title = f"{escape(self.title)}: {self._rows:,} {'row' if self._rows == 1 else 'rows'}"
        table = f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
        return f'<div>{title}</div><div style="overflow-x:auto">{table}</div>'

    def _html_row(self, index: int) -> str:
        return "<tr>" + "".join(_cell(column[index]) for column in self._columns.values()) + "</tr>"


def _cell(value: Any) -> str:
    """Numbers are aligned right; short texts stay on one line."""
    if value is None:
        return "<td></td>"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    styles = ["text-align:" + ("right" if isinstance(value, int | float) else "left")]
    if len(text) <= SHORT_CHARACTERS:
        styles.append("white-space:nowrap")
    return f'<td style="{";".join(styles)}">{escape(text)}</td>'
