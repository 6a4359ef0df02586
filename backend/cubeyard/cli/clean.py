"""`cubeyard clean`: remove what killed emulations left on this machine, without starting another
one."""

from __future__ import annotations

import typer

from cubeyard.cli.common import errors, explained, quiet_logs, settings_of


def clean() -> None:
    """Remove containers, namespaces and processes of emulations whose process is gone. Running ones
    are left alone.

    Exit status 1 if something may be left: a Docker engine or a process does not answer.
    """
    from cubeyard.emulation.deploy.reaper import reap, reap_left_alone
    from cubeyard.emulation.fabric.client import FabricHungError
    from cubeyard.emulation.fabric.place import Place
    from cubeyard.emulation.fabric.process import FabricProcess

    settings = settings_of()
    quiet_logs(settings)
    place = Place.of(settings)
    removed: list[str] = []
    kept: list[str] = []
    with explained():
        if settings.spread or place.folder.exists():
            fabric = FabricProcess(settings, place)
            entered = place.enter()
            try:
                if settings.fabric_start:
                    fabric.ensure()
                removed += [f"run {run}" for run in reap(settings, place, kept)]
            except FabricHungError as error:
                kept.append(error.detail)
            finally:
                place.leave(entered, fabric.stop)
        removed += [f"folder {name}" for name in reap_left_alone(settings, kept)]
    if removed or not kept:
        errors.print(f"Removed {', '.join(removed)}." if removed else "Nothing was left.", highlight=False)
    for sentence in kept:
        errors.print(f"Left: {sentence}", highlight=False, markup=False)
    if kept:
        raise typer.Exit(1)
