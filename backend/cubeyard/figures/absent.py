"""Published numbers that no figure computes or measures yet, and what is missing for them. Remove
an entry when its figure is added."""

from __future__ import annotations

from typing import NamedTuple


class Absent(NamedTuple):
    """A number of values (`numbers`) at one place in a paper."""

    source: str
    what: str
    numbers: int
    needs: str


ABSENT = (
    Absent("[bcube §8, Table 1]", "one-to-several of DCell", 1, "a construction: its paths are of different lengths"),
    Absent(
        "[dcell §8, Table 3]",
        "numbers of 8 other structures, but for 11 that the text names",
        21,
        "the table's columns: the text of the paper that we have lost them",
    ),
    Absent("[dcell §7.3]", "CPU of sender, receiver and forwarder", 3, "the CPU of each server, measured"),
)


def absent_of(paper: str) -> int:
    """The known number of a paper's values without a row."""
    return sum(item.numbers for item in ABSENT if item.source[1:].split()[0] == paper)
