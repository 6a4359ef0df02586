"""Folders that only this user can write to.

In `/tmp`, another user can create the folder or a link first, and so redirect the writes and
removals of this process, or of root."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cubeyard.kit.errors import ProblemError

WRITABLE_FOR_OTHERS = 0o022
FIX = "Remove it, or set XDG_RUNTIME_DIR or CUBEYARD_FABRIC_DIR to a folder of your own."


class ForeignFolderError(ProblemError):
    """The folder does not belong to this user."""

    def __init__(self, path: Path, what: str, fix: str) -> None:
        super().__init__(503, "foreign-folder", f"{path} is {what}: nothing in it was touched. {fix}")


def own_folder(path: Path, mode: int = 0o700) -> None:
    """Creates the folder if it is missing. Raises ForeignFolderError for a link, for a folder of
    another user, and for one that others can write to."""
    try:
        path.mkdir(mode)
    except FileExistsError:
        _check(path)


def check_around(path: Path) -> None:
    """Raises ForeignFolderError if a user other than root and this one can replace the folder."""
    parent = path.parent
    status = parent.stat()
    if status.st_uid not in (0, os.geteuid()):
        raise ForeignFolderError(parent, f"a folder of user {status.st_uid}, not of {os.geteuid()}", FIX)
    if status.st_mode & WRITABLE_FOR_OTHERS and not status.st_mode & stat.S_ISVTX:
        raise ForeignFolderError(parent, _writable(status.st_mode), FIX)


def is_own(path: Path) -> bool:
    """Whether only this user can write to a folder."""
    try:
        _check(path)
    except (ForeignFolderError, FileNotFoundError):
        return False
    return True


def _check(path: Path) -> None:
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise ForeignFolderError(path, "a link" if stat.S_ISLNK(status.st_mode) else "no folder", FIX)
    if status.st_uid != os.geteuid():
        raise ForeignFolderError(path, f"a folder of user {status.st_uid}, not of {os.geteuid()}", FIX)
    if status.st_mode & WRITABLE_FOR_OTHERS:
        fix = f"Check that its content is yours, then: chmod 0700 {path}"
        raise ForeignFolderError(path, _writable(status.st_mode), fix)


def _writable(mode: int) -> str:
    return f"a folder of mode {stat.S_IMODE(mode):04o}, which others can write to"
