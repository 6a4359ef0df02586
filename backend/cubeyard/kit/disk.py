"""Errors of a full disk: which disk, how much is free, and the fix."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cubeyard.kit.errors import ProblemError

FULL = (errno.ENOSPC, errno.EDQUOT)
SAID = ("no space left on device", "disk quota exceeded")
SQL_STATE = "53100"
"""PostgreSQL's `disk_full`."""
SCARCE_BYTES = 2 * 2**20
"""With less than this nothing can be counted on."""


class DiskFullError(ProblemError):
    """The disk of something is full. `path` is on it, if it is of this machine."""

    def __init__(self, what: str, path: Path | None, then: str = "start the run again") -> None:
        free = free_bytes(path)
        where = f" at {path}" if path is not None else ""
        left = f": {free / 2**20:.1f} MiB are free" if free is not None else ""
        super().__init__(507, "disk-full", f"The disk of {what}{where} is full{left}. Free some space, then {then}.")


def free_bytes(path: Path | None) -> int | None:
    """Free space on the disk of a path, which need not exist; None if it is on another machine."""
    if path is None:
        return None
    for place in (path, *path.parents):
        try:
            return shutil.disk_usage(place).free
        except FileNotFoundError:
            continue
        except OSError:
            return None
    return None


def scarce(path: Path | None) -> bool:
    free = free_bytes(path)
    return free is not None and free < SCARCE_BYTES


def is_full(error: BaseException) -> bool:
    """Whether an error means a full disk, by errno, PostgreSQL's code or message."""
    if isinstance(error, OSError) and error.errno in FULL:
        return True
    original = getattr(error, "orig", None)
    if SQL_STATE in (getattr(error, "sqlstate", None), getattr(original, "sqlstate", None)):
        return True
    return any(words in str(error).casefold() for words in SAID)


@contextmanager
def disk_of(what: str, path: Path) -> Iterator[None]:
    """Reports a full disk in this context as the disk of `path`."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise DiskFullError(what, path) from error
        raise
