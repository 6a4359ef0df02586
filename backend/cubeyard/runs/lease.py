"""A worker's lease of a run: a separate thread renews it every few seconds; it is lost when the run
ended or another worker has it.

A heartbeat reports that the worker is alive and its progress, and returns whether the worker still
has the run. The end of a run is also notified on a database channel, so that workers check
immediately and stop working at a cancelled run within a second. [ours]
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from cubeyard.kit.db import AWAY, Database
from cubeyard.runs.chunks import Beaten, ChunkRepository
from cubeyard.runs.repository import RunRepository

log = structlog.get_logger(__name__)

BEAT_SECS = 2.0
BEATS_A_LEASE = 4
"""A short lease survives this number of lost heartbeats."""
HUNG_SECS = 900.0
"""A run's thread uses its lease more often than this, in all that it does; the longest is a pull of
an image, 5 minutes. Regular calls of a worker end sooner, too."""


def beat_secs(lease_secs: float) -> float:
    """The interval of a worker's heartbeats."""
    return min(BEAT_SECS, lease_secs / BEATS_A_LEASE)


class OverError(Exception):
    """The run was cancelled, or given to another worker, or this worker is to stop."""


class Watch:
    """The leases of a process, for notifications that a run has ended; and whether a thread
    hangs, which the event loop does not notice."""

    def __init__(self) -> None:
        self._leases: set[Lease] = set()
        self._calls: dict[str, float] = {}
        self._lock = threading.Lock()

    @contextmanager
    def call(self, name: str) -> Iterator[None]:
        """A regular call in a thread, one at a time by that name."""
        self._calls[name] = time.monotonic()
        try:
            yield
        finally:
            del self._calls[name]

    @property
    def hung(self) -> list[str]:
        """The calls and runs whose threads hang."""
        since = time.monotonic() - HUNG_SECS
        with self._lock:
            return [
                *(name for name, begun in self._calls.items() if begun < since),
                *(f"run {lease.run_id}" for lease in self._leases if lease.hangs),
            ]

    def add(self, lease: Lease) -> None:
        with self._lock:
            self._leases.add(lease)

    def discard(self, lease: Lease) -> None:
        with self._lock:
            self._leases.discard(lease)

    def look(self, run_id: str | None) -> None:
        """Checks that run, or all runs, in the database now. A notification only triggers the
        check."""
        with self._lock:
            for lease in self._leases:
                if run_id in {None, lease.run_id}:
                    lease.look()


class Lease:
    """This worker's hold on a run, or with a `holder` on a chunk of it at a time, for as long as it
    is renewed."""

    def __init__(
        self,
        database: Database,
        run_id: str,
        attempt: int,
        stopping: Callable[[], bool],
        *,
        holder: str | None = None,
        every_secs: float = BEAT_SECS,
        watch: Watch | None = None,
    ) -> None:
        self.run_id = run_id
        self.attempt = attempt
        self.holder = holder
        self.progress = 0.0
        """Progress of the whole run, if one worker does all of it."""
        self.part = 0.0
        """Points of the chunk that are computed and not written yet, a part of one included."""
        self.lost_chunk = threading.Event()
        """Set if another worker took the chunk, because this one sent no heartbeat for too long."""
        self.writing = threading.Lock()
        """Held while writing: written points must leave `part` before the next heartbeat."""
        self._database = database
        self._stopping = stopping
        self._every_secs = every_secs
        self._watch = watch or Watch()
        self._lost = threading.Event()
        self._done = False
        self._wake = threading.Event()
        self._used_at = time.monotonic()
        self._thread = threading.Thread(target=self._beats, name=f"lease-{run_id}", daemon=True)

    @property
    def hangs(self) -> bool:
        return time.monotonic() - self._used_at > HUNG_SECS

    def held(self) -> bool:
        self._used_at = time.monotonic()
        return not self._lost.is_set() and not self._stopping()

    def check(self) -> None:
        if not self.held():
            raise OverError

    def look(self) -> None:
        """Sends a heartbeat now."""
        self._wake.set()

    @contextmanager
    def renewed(self) -> Iterator[None]:
        self._watch.add(self)
        self._thread.start()
        try:
            yield
        finally:
            self._watch.discard(self)
            self._done = True
            self._wake.set()
            self._thread.join()

    def _beats(self) -> None:
        reported = -1.0
        while not self._done:
            self._wake.wait(self._every_secs)
            self._wake.clear()
            if self._done:
                return
            if self.hangs:
                # Not renewed, it goes to another worker.
                log.error("run_hangs", run=self.run_id, secs=HUNG_SECS)
                self._lost.set()
                return
            try:
                with self.writing:
                    at = self.progress if self.holder is None else self.part
                    result = self._beat(at, tell=at != reported)
            except AWAY as error:
                log.warning("lease_not_renewed", run=self.run_id, error=str(error))
                continue
            reported = at
            if not result.run:
                self._lost.set()
                return
            if not result.chunk:
                self.lost_chunk.set()

    def _beat(self, at: float, *, tell: bool) -> Beaten:
        with self._database.session() as session:
            runs = RunRepository(session)
            if self.holder is None:
                result = Beaten(run=runs.beat(self.run_id, self.attempt, at), chunk=True)
            else:
                result = ChunkRepository(session).beat(self.run_id, self.attempt, self.holder, at)
            if result.run and tell:
                runs.tell(self.run_id)
            return result
