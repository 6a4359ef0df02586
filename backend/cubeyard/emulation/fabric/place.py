"""An owner's folder for its runs on this machine: the fabric's socket and journal, and a lock for
each run.

The kernel releases the lock of a process that dies. A run whose lock is free has no owner and is
removed. A lock's file exists as long as parts of its run can exist; the last user removes the
folder if it contains no such file. [ours]
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cubeyard.emulation.fabric.own_folder import check_around, is_own, own_folder
from cubeyard.kit.disk import disk_of
from cubeyard.settings import Settings

HOME_NAME = re.compile("[0-9a-f]{8}")
JOURNAL = "cubeyard-fabric's journal"
LEAVING = ".gone-"
MAKE_TRIES = 100
LOOK_SECS = 0.05
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
SHARED = Path("/run/cubeyard")
"""Short, because the path of a Unix socket is limited to 107 bytes."""


@dataclass(frozen=True)
class Place:
    """The folder of one owner. Its name is in the labels of the owner's containers."""

    folder: Path

    @classmethod
    def of(cls, settings: Settings) -> Place:
        """The place for these settings: the same for every process with the same home."""
        if settings.fabric_dir is not None:
            return cls(settings.fabric_dir)
        name = hashlib.sha256(str(settings.home.resolve()).encode()).hexdigest()[:8]
        return cls(_root() / name)

    @classmethod
    def own(cls) -> Place:
        """A private place for this process."""
        return cls(_root() / f"cli-{os.getpid()}")

    @classmethod
    def left_alone(cls) -> Iterator[Place]:
        """Private places of processes that died without removing them."""
        for place in cls._found("cli-*"):
            if place.free("owner"):
                yield place

    @classmethod
    def of_homes(cls) -> Iterator[Place]:
        """The places of all home folders of this user."""
        for place in cls._found("*"):
            if HOME_NAME.fullmatch(place.name):
                yield place

    @classmethod
    def _found(cls, pattern: str) -> Iterator[Place]:
        """This user's places; folders of other users are skipped."""
        if all(is_own(folder) for folder in _own_roots()):
            yield from (cls(folder) for folder in sorted(_root().glob(pattern)) if is_own(folder))

    @classmethod
    def sweep(cls) -> None:
        """Removes folders whose removal was interrupted by a kill."""
        for place in cls._found(f"*{LEAVING}*"):
            shutil.rmtree(place.folder, ignore_errors=True)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def socket(self) -> Path:
        return self.folder / "fabric.sock"

    @property
    def for_api(self) -> Path:
        """The folder that the API shares with the worker. In Compose it is `api`, the only part
        that the API's container sees."""
        inner = self.folder / "api"
        return inner if inner.is_dir() else self.folder

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def disk(self) -> AbstractContextManager[None]:
        """The context for writes to this disk. Raises DiskFullError."""
        return disk_of(JOURNAL, self.folder)

    def make(self) -> None:
        """Creates the folders, except `state`, which the fabric creates. Raises ForeignFolderError
        if a folder belongs to another user."""
        if self.folder.parent == _root():
            for folder in _own_roots():
                own_folder(folder, 0o755)
        else:
            self.folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            check_around(self.folder)
        # The folder's last user may remove it meanwhile.
        for _ in range(MAKE_TRIES):
            with suppress(FileNotFoundError):
                own_folder(self.folder)
                own_folder(self.folder / "locks")
                return
        raise FileNotFoundError(self.folder)

    def enter(self) -> int:
        """Registers this process as a user of the folder. Returns a handle for `leave`."""
        while True:
            with self.disk():
                self.make()
            try:
                handle = os.open(self.folder, FOLDER)
            except FileNotFoundError:
                continue  # somebody removed it in between: make a new one
            fcntl.flock(handle, fcntl.LOCK_SH)
            if _same(handle, self.folder):
                return handle
            os.close(handle)

    def leave(self, handle: int, end: Callable[[], None]) -> None:
        """Leaves the place. The last user ends the shared fabric, and removes the folder if nothing
        is left of any run."""
        try:
            if self._alone(handle):
                end()
                self._remove_unused()
        finally:
            os.close(handle)

    def remove_abandoned(self) -> bool:
        """Removes the folder if its users have died and nothing of theirs is left. Returns whether
        it did."""
        try:
            handle = os.open(self.folder, FOLDER)
        except FileNotFoundError:
            return False
        try:
            return self._alone(handle) and self._remove_unused()
        finally:
            os.close(handle)

    def _alone(self, handle: int) -> bool:
        """Whether nobody else uses the folder. Nobody can begin to before the handle is closed."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return _same(handle, self.folder)

    def _remove_unused(self) -> bool:
        """Removes the folder if it is unused. Nobody else must be using it."""
        kept = [path for part in ("journal", "runs") for path in (self.state / part).glob("*")]
        if self.locks() or kept or not self.fabric_gone():
            return False
        # Renamed first, so that a new user creates a new folder.
        leaving = self.folder.with_name(f"{self.name}{LEAVING}{os.getpid()}")
        self.folder.rename(leaving)
        shutil.rmtree(leaving, ignore_errors=True)
        return True

    def fabric_gone(self) -> bool:
        """Whether no fabric, no matter who started it, has its journal here."""
        try:
            handle = _locked(self.state / "lock")
        except FileNotFoundError:
            return True
        except PermissionError:
            return False  # it is root's, who started one by hand
        if handle is not None:
            os.close(handle)
        return handle is not None

    @contextmanager
    def held(self, what: str, wait_secs: float = 0.0) -> Iterator[bool]:
        """Holds a named lock for the duration of the context. Yields False if another process still
        has it after `wait_secs`."""
        deadline = time.monotonic() + wait_secs
        with self.disk():
            self.make()
            while (handle := _locked(self._lock(what))) is None and time.monotonic() < deadline:
                time.sleep(LOOK_SECS)
        if handle is None:
            yield False
            return
        try:
            yield True
        finally:
            if os.fstat(handle).st_size == 0:
                self._lock(what).unlink(missing_ok=True)
            os.close(handle)

    def remember(self, run: str, engines: Sequence[tuple[str, str]] = (), containers: Sequence[str] = ()) -> None:
        """Records that a held run may have containers, by id if they are known, that only these
        Docker engines (address and id) can list and remove."""
        if engines or not self.remembered(run):
            with self.disk():
                self._lock(run).write_text(json.dumps({"engines": engines, "containers": containers}))

    def engines(self, run: str) -> list[tuple[str, str]]:
        """Address and id of the Docker engines that may have containers of a run."""
        return [(str(address), str(engine)) for address, engine in self._recorded(run, "engines")]

    def containers(self, run: str) -> list[str]:
        """The recorded ids of a run's containers."""
        return [str(container) for container in self._recorded(run, "containers")]

    def _recorded(self, run: str, what: str) -> list[Any]:
        try:
            return list(json.loads(self._lock(run).read_text())[what])
        except (OSError, ValueError, KeyError, TypeError):
            return []  # nothing is recorded, or a process was killed while it wrote

    def forget(self, run: str) -> None:
        """Records that a held run has no containers any more."""
        self._lock(run).write_text("")

    def remembered(self, run: str) -> bool:
        return self._lock(run).stat().st_size > 0

    def free(self, what: str) -> bool:
        """Whether nobody holds the lock."""
        try:
            handle = os.open(self._lock(what), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(handle)
        return True

    def locks(self) -> list[str]:
        return [path.name for path in (self.folder / "locks").glob("*")]

    def _lock(self, what: str) -> Path:
        return self.folder / "locks" / what


def _locked(path: Path) -> int | None:
    """Opens and locks a file, which is created if it is missing; None if another process has the
    lock."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        if _same(handle, path):
            return handle
        os.close(handle)  # its last holder removed it in between: take the new one


def _same(handle: int, path: Path) -> bool:
    """Whether the opened file is still the file at the path."""
    try:
        return os.fstat(handle).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def _root() -> Path:
    """The folder of all places: for root a common one, for other users one that only they can write
    to."""
    return _own_roots()[-1]


def _own_roots() -> list[Path]:
    """That folder, preceded by its parents that must also belong to this user."""
    if os.geteuid() == 0:
        return [SHARED]
    if given := os.environ.get("XDG_RUNTIME_DIR"):
        return [Path(given) / "cubeyard"]
    # In /tmp, any user can take a name first.
    folder = Path(f"/tmp/cubeyard-{os.geteuid()}")  # noqa: S108 - `own_folder` checks it
    return [folder, folder / "cubeyard"]
