"""Files of tests shared out among lanes: pytest processes that run side by side, each as on a
machine of its own (`bin/apart`).

`CUBEYARD_TEST_LANES` names a folder that they share. A lane runs a file of tests whole, once it is
the first to make a note of that name there; so a lane that is done takes the next file, and none
waits for another's long ones.
"""

from __future__ import annotations

import os
from itertools import groupby
from pathlib import Path

import pytest

FOLDER = "CUBEYARD_TEST_LANES"

LONG = (
    "test_figures",
    "test_chip_calls",
    "test_kills",
    "test_chip_switches",
    "test_services",
    "test_upgrade",
    "test_sessions",
)
"""Files that take minutes: they are taken first, so that no lane ends with one alone."""


def shared() -> Path | None:
    """Where lanes note what they take; none if this process runs its tests alone."""
    folder = os.environ.get(FOLDER)
    return Path(folder) if folder else None


def longest_first(items: list[pytest.Item]) -> None:
    """Orders tests in place: files of `LONG` in that order, then the others in theirs."""
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path.stem, len(LONG)))


def claimed(folder: Path, name: str) -> bool:
    """Whether this lane is the first to take a file of tests, which is then its own."""
    try:
        (folder / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def run(session: pytest.Session, folder: Path) -> None:
    """Runs the files of tests that no other lane has taken, one after the other, in the order of
    the session.

    The next file is taken just before the last test of one, which must know at its end which
    fixtures are wanted further.
    """
    files = groupby(session.items, key=lambda item: item.path)
    mine = (item for path, tests in files if claimed(folder, path.stem) for item in tests)
    item = next(mine, None)
    while item is not None:
        following = next(mine, None)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        item = following
