"""A row of the table in test.py next to this file, and how rows are run."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from commands import Asked, Turns
from runner import IN_CI, Result, turn


@dataclass(frozen=True)
class Stage:
    name: str
    title: str
    budget_secs: int | None
    """Of the short run; none if it runs beside other stages, or is not part of it."""
    commands: Callable[[Asked], Turns]
    files: tuple[str, ...] = ()
    """The tests that it runs; of several rows that fit a file the longest pattern counts."""
    beside: tuple[str, ...] = ()
    """The stages beside which it runs: from the beginning of the first of them that is asked for to the end of the last."""
    whole_run: str = "short"
    """The least run that has it; empty if only its name asks for it."""


def run_stage(stage: Stage, asked: Asked, *, live: bool = True) -> list[Result]:
    """What its commands came to. Where nobody reads a log afterwards, the first failure ends it."""
    results = list[Result]()
    for commands in stage.commands(asked):
        results += turn(commands, width=len(commands), live=live)
        if not IN_CI and any(one.status for one in results):
            break
    return results


def run_stages(stages: list[Stage], asked: Asked) -> dict[str, tuple[float, list[Result]]]:
    """Seconds by the clock and results by stage. A stage beside others is counted with the last of them."""
    done: dict[str, tuple[float, list[Result]]] = {}
    waiting = {stage.name: [one for one in stage.beside if one in asked.stages] for stage in stages}
    running: dict[str, Future[list[Result]]] = {}
    with ThreadPoolExecutor() as background:
        for stage in [one for one in stages if not waiting[one.name]]:
            began = time.monotonic()
            for guest in stages:
                if waiting[guest.name][:1] == [stage.name]:
                    running[guest.name] = background.submit(run_stage, guest, asked, live=False)
            results = run_stage(stage, asked)
            for guest in stages:
                if waiting[guest.name][-1:] == [stage.name]:
                    results += running[guest.name].result()
            done[stage.name] = time.monotonic() - began, results
            if not IN_CI and any(one.status for one in results):
                break
    return done
