"""Folders that are this user's alone. In `/tmp` or below a folder of somebody else others may have been there first: with a link,
or a folder of theirs, in which what is written and removed, by root too, would be where they want it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cubeyard.kit.errors import ProblemError

WRITABLE_FOR_OTHERS = 0o022
FIX = "Remove it, or set XDG_RUNTIME_DIR or CUBEYARD_FABRIC_DIR to a folder of your own."


class ForeignFolderError(ProblemError):
    """A folder that is not this user's."""

    def __init__(self, path: Path, what: str, fix: str) -> None:
        super().__init__(503, "foreign-folder", f"{path} is {what}: nothing in it was touched. {fix}")


def own_folder(path: Path, mode: int = 0o700) -> None:
    """Makes it unless it is there. Raises ForeignFolderError for a link, and for a folder of another user or that others can write
    to."""
    try:
        path.mkdir(mode)
    except FileExistsError:
        _check(path)


def check_around(path: Path) -> None:
    """Raises ForeignFolderError where somebody but root and this user could put another folder in the place of this one."""
    parent = path.parent
    found = parent.stat()
    if found.st_uid not in (0, os.geteuid()):
        raise ForeignFolderError(parent, f"a folder of user {found.st_uid}, not of {os.geteuid()}", FIX)
    if found.st_mode & WRITABLE_FOR_OTHERS and not found.st_mode & stat.S_ISVTX:
        raise ForeignFolderError(parent, _writable(found.st_mode), FIX)


def is_own(path: Path) -> bool:
    """Whether a folder is this user's alone."""
    try:
        _check(path)
    except (ForeignFolderError, FileNotFoundError):
        return False
    return True


def _check(path: Path) -> None:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise ForeignFolderError(path, "a link" if stat.S_ISLNK(found.st_mode) else "no folder", FIX)
    if found.st_uid != os.geteuid():
        raise ForeignFolderError(path, f"a folder of user {found.st_uid}, not of {os.geteuid()}", FIX)
    if found.st_mode & WRITABLE_FOR_OTHERS:
        fix = f"See that what is in it is yours, then: chmod 0700 {path}"
        raise ForeignFolderError(path, _writable(found.st_mode), fix)


def _writable(mode: int) -> str:
    return f"a folder of mode {stat.S_IMODE(mode):04o}, which others can write to"
