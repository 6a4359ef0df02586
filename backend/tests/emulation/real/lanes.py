"""Distributes test files among lanes: pytest processes that run in parallel, each as if on a
separate machine (`bin/apart`).

`CUBEYARD_TEST_LANES` is a shared folder. The first lane that creates an entry for a test file there
runs the whole file; so a lane that has finished takes the next file, and no lane waits for
another's long files.
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
"""Test files that take minutes. They are taken first, so that no lane runs one of them alone at the
end."""


def shared() -> Path | None:
    """The folder in which lanes record the files they have taken; None if this process runs all
    tests alone."""
    folder = os.environ.get(FOLDER)
    return Path(folder) if folder else None


def longest_first(items: list[pytest.Item]) -> None:
    """Orders tests in place: files of `LONG` in that order, then the others in theirs."""
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path.stem, len(LONG)))


def claimed(folder: Path, name: str) -> bool:
    """Whether this lane is the first to take a test file."""
    try:
        (folder / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def run(session: pytest.Session, folder: Path) -> None:
    """Runs the test files that no other lane has taken, one after the other, in the order of the
    session.

    The next file is taken just before the last test of a file, because its teardown depends on the
    fixtures of the next test.
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
