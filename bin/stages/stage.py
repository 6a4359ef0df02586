"""A row of the table in test.py beside this file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from commands import Asked, Turns


@dataclass(frozen=True)
class Stage:
    name: str
    title: str
    budget_secs: int | None
    """Of the short run; none if it runs beside another stage, or is not part of it."""
    commands: Callable[[Asked], Turns]
    files: tuple[str, ...] = ()
    """The tests that it runs; of several rows that fit a file the longest pattern counts."""
    beside: str = ""
    """The stage beside whose last commands it runs, if both are asked for."""
    whole_run: str = "short"
    """The least run that has it; empty if only its name asks for it."""
