"""Mistakes of a file by their place, and rows that are left out of an import with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from cubeyard.kit.errors import FieldError, ProblemError

MAX_MISTAKES = 20
"""How many mistakes of one file are reported."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong with a file."""

    where: str
    """`line 12, column a_port`, `sheet BOM, row 9, column Quoted price`, or a field of JSON like
    `h00.lldp.interface[1].port`."""
    message: str
    hint: str = ""
    line: int | None = None
    value: str | None = None

    def __str__(self) -> str:
        return " ".join(filter(None, [f"{self.where[:1].upper()}{self.where[1:]}: {self.message}", self.hint]))


class Skipped(NamedTuple):
    """A row that is left out of an import, or a cell of it that is ignored."""

    where: str
    reason: str
    line: int | None = None


class BadFileError(ValueError):
    """The file cannot be read as it should; `mistakes` has the reasons, at least one."""

    code = "invalid"

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = list(mistakes)
        more = len(self.mistakes) - 1
        super().__init__(str(self.mistakes[0]) + (f" (and {more:,} more)" if more else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.mistakes,)


class TwoReadingsError(BadFileError):
    """Numbers of the file may be read in two ways: the caller has to name the decimal mark."""

    code = "ambiguous-decimal"


def refused(
    where: str, message: str, hint: str = "", *, line: int | None = None, value: str | None = None
) -> BadFileError:
    """The error for a file with one mistake."""
    return BadFileError([Mistake(where, message, hint, line, value)])


def problem(error: BadFileError) -> ProblemError:
    """A 422 with every mistake of the file."""
    field = "query.decimal" if isinstance(error, TwoReadingsError) else ""
    errors = [
        FieldError(
            field=field or f"body.{entry.where}",
            value=entry.value,
            message=f"{entry.where[:1].upper()}{entry.where[1:]}: {entry.message}" if field else entry.message,
            hint=entry.hint or None,
            line=entry.line,
        )
        for entry in error.mistakes
    ]
    most = "at least " if len(errors) >= MAX_MISTAKES else ""
    first = str(Mistake(error.mistakes[0].where, error.mistakes[0].message))
    detail = f"The file has {most}{len(errors)} mistakes." if len(errors) > 1 else first
    return ProblemError(422, error.code, detail, errors=errors)
