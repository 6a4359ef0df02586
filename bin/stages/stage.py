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
    """The stages during which it runs: from the start of the first to the end of the last."""
    whole_run: str = "short"
    """The least run that has it; empty if only its name asks for it."""


def run_stage(stage: Stage, request: Asked, *, live: bool = True) -> list[Result]:
    """Run its commands, turn by turn. Outside CI the first failure ends it."""
    results = list[Result]()
    for commands in stage.commands(request):
        results += turn(commands, width=len(commands), live=live)
        if not IN_CI and any(result.status for result in results):
            break
    return results


def run_stages(stages: list[Stage], request: Asked) -> dict[str, tuple[float, list[Result]]]:
    """Seconds of wall time and results by stage; a stage that runs during others counts with the
    last."""
    done: dict[str, tuple[float, list[Result]]] = {}
    waiting = {stage.name: [name for name in stage.beside if name in request.stages] for stage in stages}
    running: dict[str, Future[list[Result]]] = {}
    with ThreadPoolExecutor() as background:
        for stage in [row for row in stages if not waiting[row.name]]:
            began = time.monotonic()
            for guest in stages:
                if waiting[guest.name][:1] == [stage.name]:
                    running[guest.name] = background.submit(run_stage, guest, request, live=False)
            results = run_stage(stage, request)
            for guest in stages:
                if waiting[guest.name][-1:] == [stage.name]:
                    results += running[guest.name].result()
            done[stage.name] = time.monotonic() - began, results
            if not IN_CI and any(result.status for result in results):
                break
    return done
