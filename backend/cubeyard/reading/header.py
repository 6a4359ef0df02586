"""The header of a table: which column is which, by the names that people give it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cubeyard.reading.numbers import UNITS
from cubeyard.reading.problems import refused

_UNIT = re.compile(
    r"(.*?)(?:\s*[(\[]\s*([^()\[\]]{1,16}?)\s*[)\]]|(?:[\s_]+in)?[\s_]+([a-z]{1,12}))\s*:?", re.IGNORECASE
)


@dataclass(frozen=True)
class Header:
    """The columns of a format, by the names that a header may have for each. Letter case, spaces
    and marks do not matter."""

    title: str
    names: Mapping[str, Sequence[str]]
    """Of two names of one column that a file has, the first one here counts."""
    needed: Sequence[Sequence[str]]
    """Of each group the file must have at least one column."""
    numbers: Sequence[str] = ()
    """Columns whose numbers show the decimal mark of the file."""
    lengths: Sequence[str] = ()
    """Those of them that are lengths: their names may end in a unit, as `Length (ft)`."""

    @cached_property
    def _keys(self) -> dict[str, dict[str, None]]:
        return {column: dict.fromkeys(map(key, names)) for column, names in self.names.items()}

    def of(self, cells: Sequence[str]) -> Columns | None:
        """Where each column is in a header row; None if this is not the format's. Raises
        `BadFileError` for two columns of one name."""
        keys = _numbered([key(words) for words in cells])
        at = {words: index for index, words in reversed(list(enumerate(keys)))}
        result: dict[str, int] = {}
        units: dict[str, str] = {}
        for column, names in self._keys.items():
            place = next((at[name] for name in names if name in at), None)
            if place is None and column in self.lengths:
                place, units[column] = _with_unit(cells, names)
            if place is not None:
                result[column] = place
        if not all(any(entry in result for entry in group) for group in self.needed):
            return None
        for column, place in result.items():
            if keys.count(keys[place]) > 1:
                message = f"Two columns are called {cells[place].strip()[:40]!r}."
                raise refused(f"header, column {column}", message, "Rename or remove the column that does not count.")
        return Columns(self, result, units, [words.strip() for words in cells])

    def wanted(self) -> str:
        """`a_host_name (or a_paper_name), a_port`."""
        groups = [[self.names[column][0] for column in group] for group in self.needed]
        return ", ".join(group[0] + (f" (or {', '.join(group[1:])})" if group[1:] else "") for group in groups)


@dataclass(frozen=True)
class Columns:
    """A header that a file has."""

    header: Header
    at: Mapping[str, int]
    units: Mapping[str, str]
    """Units of lengths, where the column's name has one."""
    titles: Sequence[str]

    def title(self, column: str) -> str:
        return self.titles[self.at[column]] if column in self.at else column


def key(words: str) -> str:
    """A column's name without case, spaces and marks: `A_Host name` and `a host-name` are one."""
    plain = unicodedata.normalize("NFKC", words).casefold()
    return "".join(letter for letter in plain if letter.isalnum())


def _numbered(keys: list[str]) -> list[str]:
    """Names that occur exactly twice, as `Device, Port, Device, Port` below a row of sides, with 1
    and 2 behind them."""
    pairs = {
        name
        for name, count in Counter(keys).items()
        if count == 2 and name in ("device", "host", "node", "port", "interface")
    }
    seen: Counter[str] = Counter()
    out: list[str] = []
    for name in keys:
        seen[name] += 1
        out.append(f"{name}{seen[name]}" if name in pairs else name)
    return out


def _with_unit(cells: Sequence[str], names: Mapping[str, None]) -> tuple[int | None, str]:
    for index, words in enumerate(cells):
        result = _UNIT.fullmatch(words.strip())
        unit = ((result[2] or result[3] or "") if result else "").casefold()
        if result and unit in UNITS and key(result[1]) in names:
            return index, unit
    return None, ""
