"""Real packets from the command line: a folder for the command, its end by Ctrl-C, and a lab for
figures."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from cubeyard.cli.common import errors, quiet_logs
from cubeyard.kit.signals import ending
from cubeyard.settings import Settings

if TYPE_CHECKING:
    from cubeyard.emulation.fabric.place import Place
    from cubeyard.emulation.figures.lab import Lab
    from cubeyard.engine import Engine, OnProgress


@contextmanager
def command_place(settings: Settings) -> Iterator[Place]:
    """For root, who can start a fabric, a separate folder of this process; for other users the
    folder in which a fabric may run."""
    from cubeyard.emulation.deploy.reaper import reap
    from cubeyard.emulation.fabric.place import Place

    if os.geteuid() != 0 or settings.fabric_dir is not None or settings.spread:
        place = Place.of(settings)
        if not settings.spread:
            yield place
            return
        entered = place.enter()
        try:
            # Their fabrics outlive a command that was killed, and nobody else may look for what it
            # left.
            reap(settings, place)
            yield place
        finally:
            place.leave(entered, lambda: None)
        return
    place = Place.own()
    try:
        with place.held("owner"):
            yield place
    finally:
        place.remove_abandoned()


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Ctrl-C, `kill`, a closed terminal and Ctrl-\\ end the session at its next step, which removes
    everything."""
    told = False

    def tell(*_: object) -> None:
        nonlocal told
        told = True

    before = {item: signal.signal(item, tell) for item in ending()}
    try:
        yield lambda: told
    finally:
        for item, handler in before.items():
            signal.signal(item, handler)


def clear_left_alone(settings: Settings) -> None:
    """Remove the leftovers of killed commands, and print why some stay."""
    from cubeyard.emulation.deploy.reaper import reap_left_alone

    kept: list[str] = []
    reap_left_alone(settings, kept)
    for sentence in kept:
        errors.print(f"Left: {sentence}", highlight=False, markup=False)


@contextmanager
def own_lab(settings: Settings, engine: Engine, brevity: float) -> Iterator[Callable[[OnProgress | None], Lab]]:
    """Makes labs that belong to this process alone. Their fabric starts with the first measurement,
    and ends at the end."""
    with ExitStack() as held:

        def lab(told: OnProgress | None) -> Lab:
            # Most figures need none of it.
            from cubeyard.emulation.fabric.process import FabricProcess
            from cubeyard.emulation.figures.lab import Lab

            quiet_logs(settings)
            clear_left_alone(settings)
            interrupted = held.enter_context(stoppable())
            place = held.enter_context(command_place(settings))
            fabric = FabricProcess(settings, place)
            held.callback(fabric.stop)

            def tell(done: int, total: int) -> bool:
                return not interrupted() and (told is None or told(done, total) is not False)

            ready = fabric.ensure if settings.fabric_start else lambda: None
            return Lab(settings, engine, place, ready, tell, brevity)

        yield lab
