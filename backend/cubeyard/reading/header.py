"""The header of a table: which column is which, by the names that people give it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cubeyard.reading.numbers import UNITS
from cubeyard.reading.problems import refused

_UNIT = re.compile(
    r"(.*?)(?:\s*[(\[]\s*([^()\[\]]{1,16}?)\s*[)\]]|(?:[\s_]+in)?[\s_]+([a-z]{1,12}))\s*:?", re.IGNORECASE
)

MAX_TITLE = 100
"""Longer cells are no name of a column with its unit."""


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
    """The columns that are lengths: their names may end in a unit, as `Length (ft)`."""
    sides: Sequence[tuple[str, str, Sequence[str]]] = ()
    """Pairs of columns, with nouns that are a name for either. A noun alone is
    the side that has no other name: `Device, Port, Neighbor, Neighbor port`. Two
    are both sides, in their order: `Host, Port, Switch, Port`."""

    @cached_property
    def _ranks(self) -> dict[str, dict[str, int]]:
        return {
            column: {words: rank for rank, words in reversed(list(enumerate(map(key, names))))}
            for column, names in self.names.items()
        }

    @cached_property
    def _nouns(self) -> list[tuple[str, str, frozenset[str]]]:
        return [(a, b, frozenset(map(key, nouns))) for a, b, nouns in self.sides]

    def of(self, cells: Sequence[str]) -> Columns | None:
        """Where each column is in a header row; None if this is not the format's. Raises
        `BadFileError` for two columns of one name."""
        keys = [key(words) for words in cells]
        at = {words: index for index, words in reversed(list(enumerate(keys)))}
        result: dict[str, int] = {}
        units: dict[str, str] = {}
        for column, ranks in self._ranks.items():
            named = [words for words in at if words in ranks]
            place = at[min(named, key=ranks.__getitem__)] if named else None
            if place is None and column in self.lengths:
                place, units[column] = _with_unit(cells, ranks)
            if place is not None:
                result[column] = place
        marked = dict(result)
        self._add_sides(keys, result)
        if not all(any(entry in result for entry in group) for group in self.needed):
            return None
        for column, place in marked.items():
            if keys.count(keys[place]) > 1:
                message = f"Two columns are called {cells[place].strip()[:40]!r}."
                raise refused(f"header, column {column}", message, "Rename or remove the column that does not count.")
        return Columns(self, result, units, [words.strip() for words in cells])

    def _add_sides(self, keys: Sequence[str], result: dict[str, int]) -> None:
        for a, b, nouns in self._nouns:
            free = [index for index, words in enumerate(keys) if words in nouns and index not in result.values()]
            lacking = [column for column in (a, b) if column not in result]
            if len(free) == len(lacking):
                result |= dict(zip(lacking, free, strict=True))

    def grouped(self, groups: Sequence[str], cells: Sequence[str]) -> list[str]:
        """The titles of a header in two rows: those under a title of a side that the format has
        with it, as `From` over `Device` and `Port`."""
        titles: list[str] = []
        group = ""
        for index, cell in enumerate(cells):
            group = (groups[index].strip() if index < len(groups) and key(groups[index]) else "") or group
            both = f"{group} {cell}"
            known = cell.strip() and any(key(both) in ranks for ranks in self._ranks.values())
            titles.append(both if known else cell)
        return titles

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
    """A column's name without case, accents, spaces and marks: `A_Host name` and `a host-name` are
    one, and so are `Gerät` and `gerat`."""
    plain = words if words.isascii() else unicodedata.normalize("NFKD", words)
    return "".join(letter for letter in plain.casefold() if letter.isalnum())


def _with_unit(cells: Sequence[str], names: Mapping[str, int]) -> tuple[int | None, str]:
    for index, words in enumerate(cells):
        result = _UNIT.fullmatch(words.strip()) if len(words) <= MAX_TITLE else None
        unit = ((result[2] or result[3] or "") if result else "").casefold()
        if result and unit in UNITS and key(result[1]) in names:
            return index, unit
    return None, ""
