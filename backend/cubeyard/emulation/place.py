"""Where an owner of runs keeps them on this machine: the fabric's socket and journal, and a lock for each run.

A lock is the kernel's: whoever dies, however suddenly, lets go of it. A run whose lock is free is nobody's, and is removed. [ours]
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cubeyard.settings import Settings

SHARED = Path("/run/cubeyard")
"""Short, because a Unix socket's path may have 107 bytes."""


@dataclass(frozen=True)
class Place:
    """A folder. Its name is in the labels of the containers that belong to it."""

    folder: Path

    @classmethod
    def of(cls, settings: Settings) -> Place:
        """The one of these settings: the same for every process with the same home."""
        if settings.fabric_dir is not None:
            return cls(settings.fabric_dir)
        name = hashlib.sha256(str(settings.home.resolve()).encode()).hexdigest()[:8]
        return cls(_root() / name)

    @classmethod
    def own(cls) -> Place:
        """One for this process alone."""
        return cls(_root() / f"cli-{os.getpid()}")

    @classmethod
    def left_alone(cls) -> Iterator[Place]:
        """Those that processes made for themselves and left when they died."""
        for folder in sorted(_root().glob("cli-*")):
            place = cls(folder)
            if place.free("owner"):
                yield place

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def socket(self) -> Path:
        return self.folder / "fabric.sock"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def make(self) -> None:
        for folder in (self.folder, self.state, self.folder / "locks"):
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)

    @contextmanager
    def held(self, what: str) -> Iterator[bool]:
        """Hold a lock by name for as long as the context lasts. False: somebody else has it."""
        self.make()
        handle = self._locked(what)
        if handle is None:
            yield False
            return
        try:
            yield True
        finally:
            self._lock(what).unlink(missing_ok=True)
            os.close(handle)

    def _locked(self, what: str) -> int | None:
        while True:
            handle = os.open(self._lock(what), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(handle).st_ino == self._lock(what).stat().st_ino:
                    return handle
            except BlockingIOError:
                os.close(handle)
                return None
            except FileNotFoundError:
                pass  # its last holder removed it in between: take the new one
            os.close(handle)

    def free(self, what: str) -> bool:
        """Whether nobody holds the lock."""
        try:
            handle = os.open(self._lock(what), os.O_RDWR | os.O_CLOEXEC)
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


def _root() -> Path:
    """For root where everybody looks; for others where they may write."""
    if os.geteuid() == 0:
        return SHARED
    return Path(os.environ.get("XDG_RUNTIME_DIR") or f"/tmp/cubeyard-{os.geteuid()}") / "cubeyard"  # noqa: S108 - the owner's id is in it
