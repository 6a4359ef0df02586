"""Sweeps shared by workers: real `cubeyard worker` processes over a real PostgreSQL with durable
commits.

How workers stand in each other's way is the subject, so tiny points are timed by the wall clock,
the best of several, and the load is told. How heavy points scale is measured so that other work on
the machine does not count: the kernel tells how long a worker computed and how long it was ready to
but had no core. What is neither is the time that sharing costs.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import text

from bench.service import START_LIMIT_SECS
from bench.table import Row, print_rows
from cubeyard.app import prepare
from cubeyard.engine import Engine
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.experiments.repository import ExperimentRepository
from cubeyard.experiments.service import ExperimentService
from cubeyard.kit.db import Database
from cubeyard.runs.queue import QUEUES, RunQueue
from cubeyard.runs.service import RunService
from cubeyard.settings import Settings

TINY: dict[str, Any] = {"family": "bcube", "n": 4, "k": 1}
HEAVY: dict[str, Any] = {"family": "bcube", "n": 8, "k": 2}
RATIOS = [0, 0.05, 0.1, 0.15]
SEEDS = {"tiny": 750, "heavy": 120}
WORKERS = (1, 2, 4)
ROUNDS = 2
BEFORE_MS = 1000 / 32
"""A tiny point when one worker took all of a run's, each in transactions of its own: 13 to 32 a
second on two busy cores."""
LEAST_TINY = 10.0
LEAST_SCALING = 1.9
PROCESSES_QUEUES = 3
"""A worker says in the database that it is there, once for each of its queues."""
RUN_LIMIT_SECS = 600


@dataclass(frozen=True)
class Timed:
    """Milliseconds a point."""

    wall: float
    alone: float
    """Were there a free core for each worker."""


class Bench:
    """A database, and sweeps in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.pids: list[int] = []
        """Of the workers that run now."""
        self.settings = Settings(database_url=None, home=home)
        self.engine = Engine(self.settings)
        self.database = Database(self.settings)
        prepare(self.database, self.engine)

    def started(self, spec: dict[str, Any], seeds: int) -> str:
        """A run in the lane in which workers share, as one that is known to take long."""
        axes = {"failure": {"kind": "switch", "ratios": RATIOS}, "seeds": seeds}
        request = ExperimentCreate.model_validate({"plan": spec, "workload": {"kind": "all-to-all"}, "axes": axes})
        with self.database.session() as session:
            experiment = ExperimentService(session, self.engine).create(request)
            row = ExperimentRepository(session).experiment(experiment.id)
            assert row is not None
            run = RunService(session, RunQueue()).start(row).id
            session.execute(text("UPDATE runs SET lane = 'long' WHERE id = :id"), {"id": run})
            queue = {"queue": QUEUES["long"]}
            session.execute(text("UPDATE procrastinate_jobs SET queue_name = :queue WHERE status = 'todo'"), queue)
        with self.database.engine.begin() as connection:  # moving the entry notifies nobody
            connection.execute(text("SELECT pg_notify(:on, '{\"type\": \"job_inserted\", \"job_id\": 0}')"),
                               {"on": f"procrastinate_queue_v1#{QUEUES['long']}"})  # fmt: skip
        return run

    def measure(self, spec: dict[str, Any], seeds: int) -> Timed:
        """A run from its first worker on, by the database's clock."""
        before = self._used()
        run = self.started(spec, seeds)
        deadline = time.monotonic() + RUN_LIMIT_SECS
        while True:
            with self.database.session() as session:
                reported = (
                    "SELECT state, extract(epoch FROM finished_at - started_at), points_total FROM runs WHERE id = :id"
                )
                state, secs, points = session.execute(text(reported), {"id": run}).one()
            if state == "succeeded":
                computed, ready = (after - first for after, first in zip(self._used(), before, strict=True))
                busy = min((computed + ready) / (float(secs) * len(self.pids)), 1.0)
                return Timed(float(secs) * 1e3 / points, computed * 1e3 / points / (busy * len(self.pids)))
            if state == "failed" or time.monotonic() > deadline:
                raise SystemExit(f"the sweep is {state} after {RUN_LIMIT_SECS} s")
            time.sleep(0.05)

    @contextmanager
    def workers(self, count: int) -> Iterator[None]:
        """So many worker processes, all of them ready."""
        program = Path(sys.executable).with_name("cubeyard")
        url = self.database.url.render_as_string(hide_password=False)
        environment = {**os.environ, "CUBEYARD_HOME": str(self.home / "worker"), "CUBEYARD_LOG_LEVEL": "warning"}
        environment |= {"DATABASE_URL": url}
        with (self.home / "log").open("ab") as log:
            processes = [
                subprocess.Popen([program, "worker"], env=environment, stdout=log, stderr=log) for _ in range(count)
            ]
            self.pids = [process.pid for process in processes]
            try:
                deadline = time.monotonic() + START_LIMIT_SECS
                while self._ready() < count * PROCESSES_QUEUES:
                    if time.monotonic() > deadline:
                        raise SystemExit(f"the workers do not start:\n{(self.home / 'log').read_text()[-3000:]}")
                    time.sleep(0.1)
                yield
            finally:
                for process in processes:
                    process.send_signal(signal.SIGTERM)
                for process in processes:
                    process.wait(timeout=60)

    def _used(self) -> tuple[float, float]:
        """Seconds that the workers computed, and that they waited for a core, all their threads
        together."""
        matches = [
            [int(field) / 1e9 for field in (task / "schedstat").read_text().split()[:2]]
            for pid in self.pids
            for task in Path(f"/proc/{pid}/task").iterdir()
        ]
        return sum(item[0] for item in matches), sum(item[1] for item in matches)

    def _ready(self) -> int:
        with self.database.session() as session:
            return session.scalars(text("SELECT count(*) FROM procrastinate_workers")).one()


def measured(bench: Bench) -> dict[tuple[str, int], list[Timed]]:
    """By kind of points and number of workers."""
    result: dict[tuple[str, int], list[Timed]] = {}
    for _ in range(ROUNDS):
        for count in WORKERS:
            with bench.workers(count):
                for kind, spec in (("tiny", TINY), ("heavy", HEAVY)):
                    result.setdefault((kind, count), []).append(bench.measure(spec, SEEDS[kind]))
    return result


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="cubeyard-bench-") as home:
        bench = Bench(Path(home))
        try:
            result = measured(bench)
        finally:
            bench.database.close()
    load = f"load {os.getloadavg()[0]:.1f}"
    wall = {key: min(item.wall for item in several) for key, several in result.items()}
    rows = []
    for count in WORKERS:
        note = f"{1000 / wall['tiny', count]:,.0f} a second of BCube(4,1), wall clock, {load}"
        what = f"a tiny point of a sweep, {count} worker{'s' if count > 1 else ''}"
        rows.append(Row(what, wall["tiny", count], BEFORE_MS, "before sharing", "ms", LEAST_TINY, note))
    a_second = ", ".join(f"{1000 / wall['heavy', count]:,.1f} with {count}" for count in WORKERS)
    note = f"of BCube(8,2), reckoned with a core for each; by the wall clock a second: {a_second}, {load}"
    entry, two = (statistics.median(each.alone for each in result["heavy", count]) for count in (1, 2))
    rows.append(Row("a heavy point of a sweep, 2 workers", two, entry, "1 worker", "ms", LEAST_SCALING, note))
    return rows


if __name__ == "__main__":
    print_rows(rows())
