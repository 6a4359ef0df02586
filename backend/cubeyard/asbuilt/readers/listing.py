"""What a reader gives: the cables of a list, named as the file names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from cubeyard.kit.errors import FieldError, ProblemError

Format = Literal["csv", "netbox", "lldp"]
MAX_MISTAKES = 20
"""How many mistakes of one file are told."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing that is wrong with a file."""

    where: str
    """`line 12, column a_port`, or a field of a JSON document like `h00.lldp.interface[1].port`."""
    message: str
    hint: str = ""
    line: int | None = None
    value: str | None = None

    def __str__(self) -> str:
        return " ".join(filter(None, [f"{self.where[:1].upper()}{self.where[1:]}: {self.message}", self.hint]))


class BadListError(ValueError):
    """The file is no list of cables that can be read; `mistakes` says why, at least one."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = list(mistakes)
        more = len(self.mistakes) - 1
        super().__init__(str(self.mistakes[0]) + (f" (and {more:,} more)" if more else ""))


def problem(error: BadListError) -> ProblemError:
    """A 422 with every mistake of the file."""
    errors = [
        FieldError(
            field=f"body.{one.where}", value=one.value, message=one.message, hint=one.hint or None, line=one.line
        )
        for one in error.mistakes
    ]
    most = "at least " if len(errors) >= MAX_MISTAKES else ""
    first = f"{errors[0].field.removeprefix('body.')}: {errors[0].message}"
    detail = f"The file has {most}{len(errors)} mistakes." if len(errors) > 1 else first[:1].upper() + first[1:]
    return ProblemError(422, "invalid", detail, errors=errors)


@dataclass(frozen=True, slots=True)
class SeenEnd:
    """One end of a cable in the list."""

    device: str
    ports: tuple[str, ...]
    """What the port may be called, the likeliest name first: LLDP tells an id and a description."""


@dataclass(frozen=True, slots=True)
class SeenCable:
    """A cable that the list names. With LLDP each device reports on its own, so that one cable may be seen twice."""

    a: SeenEnd
    b: SeenEnd
    length_mm: int | None
    """None where the list does not tell it."""
    where: str
    """`line 12`, or the device and port that reported."""


@dataclass(frozen=True, slots=True)
class Listing:
    """All of a file."""

    format: Format
    cables: list[SeenCable]
    reporters: frozenset[str] | None = None
    """LLDP: the devices that reported. Nothing is known of a cable with neither end at one of them. None: the list is of all cables."""
    skipped: int = 0
    """Rows of the file that are no cables of the network: power and console cables in NetBox."""
    notes: list[str] = field(default_factory=list)
