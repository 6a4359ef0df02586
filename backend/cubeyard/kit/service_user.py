"""The system user that PostgreSQL runs as where this program is root, and how it reaches its files
without a change to folders that are not ours."""

from __future__ import annotations

import json
import os
import pwd
import stat
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from cubeyard.kit import passage

NAME = "cubeyard-postgres"


class NoServiceUserError(RuntimeError):
    """The system has none, and none can be made."""


def service_user() -> pwd.struct_passwd:
    """Makes the user where the system has none."""
    try:
        return pwd.getpwnam(NAME)
    except KeyError:
        command = [
            "useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent",
            "--shell", "/usr/sbin/nologin", NAME,
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            reason = done.stderr.strip()
        except OSError as error:
            reason = f"useradd: {error.strerror}"
        try:
            return pwd.getpwnam(NAME)  # another process may have made it meanwhile
        except KeyError:
            raise NoServiceUserError(
                f"PostgreSQL does not run as root, and the system user {NAME} cannot be made: {reason}. "
                "Run as another user, or set DATABASE_URL."
            ) from None


def closed_above(place: Path, user: pwd.struct_passwd) -> Path | None:
    """The highest folder above the place that the user cannot pass."""
    return next((folder for folder in reversed(place.parents) if not _passes(folder, user)), None)


def _passes(folder: Path, user: pwd.struct_passwd) -> bool:
    status = folder.stat()
    if status.st_uid == user.pw_uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == user.pw_gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)


def passable(folder: Path, user: pwd.struct_passwd) -> None:
    """Lets the user pass a folder that we made, and nobody else."""
    os.chown(folder, -1, user.pw_gid)
    folder.chmod(0o710)


def passing(user: pwd.struct_passwd, places: Iterable[Path], command: Sequence[str]) -> tuple[list[str], list[Path]]:
    """The command that runs `command` as the user with these places in reach, and the folders above
    them that are closed to the user."""
    within = {place: folder for place in places if (folder := closed_above(place, user)) is not None}
    closed = sorted(set(within.values()))
    request = {
        "uid": user.pw_uid,
        "gid": user.pw_gid,
        "closed": [str(folder) for folder in closed],
        "places": [str(place) for place in within],
        "command": list(command),
    }
    return [sys.executable, "-I", "-S", str(Path(passage.__file__)), json.dumps(request)], closed
