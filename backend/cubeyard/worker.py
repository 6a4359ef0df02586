"""The worker: takes exports, runs and deliveries of webhooks from their queues, does them, and
picks up what dead workers left.

One runs inside `cubeyard run`; `cubeyard worker` runs more, on this machine or on others with the
same database. It has two connections there: one for everything that it reads and writes, one on
which it listens. A worker says every third of a lease that it lives. A job whose worker was not
heard of for a lease goes back to the queue, and after too many such deaths it fails: a job is never
stuck. [ours]
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Set
from datetime import timedelta
from typing import Any

import structlog
from procrastinate import App
from procrastinate.exceptions import ProcrastinateException
from procrastinate.jobs import Status
from procrastinate.manager import get_channel_for_queues
from starlette.concurrency import run_in_threadpool

from cubeyard.emulation.runner import EmulationRunner
from cubeyard.engine import Engine
from cubeyard.experiments.engines import EMULATION
from cubeyard.exports import ExportOptions, render
from cubeyard.figures.catalog import FigureCatalog
from cubeyard.jobs.models import CHUNK_BYTES, JobRow
from cubeyard.jobs.queue import EXPORTS, Queue
from cubeyard.jobs.repository import JobRepository
from cubeyard.jobs.service import FINISHED
from cubeyard.kit.connector import PoolConnector
from cubeyard.kit.db import AWAY, Database
from cubeyard.kit.ear import Ear, Sign
from cubeyard.kit.errors import ProblemError
from cubeyard.kit.queue import make_app
from cubeyard.kit.schema import refuse_other
from cubeyard.plans.service import PlanService
from cubeyard.plans.view import PlanView
from cubeyard.runs.lease import Watch, beat_secs
from cubeyard.runs.queue import QUEUES, QUICK_SECS, REAL, RUNS, Lane
from cubeyard.runs.reaper import RunReaper
from cubeyard.runs.repository import OVER_CHANNEL, RunRepository
from cubeyard.runs.runner import RunRunner
from cubeyard.settings import Settings
from cubeyard.webhooks.queue import DELIVERIES
from cubeyard.webhooks.repository import WebhookRepository
from cubeyard.webhooks.sender import DeliveryReaper, Sender

log = structlog.get_logger(__name__)

REPORT_EVERY_SECS = 0.25
RESTART_AFTER_SECS = 1.0
WEBHOOK_CONCURRENCY = 4
POLL_SECS = 5.0
"""How often a queue is looked into of which nothing is heard."""
IDLE_LOOK_SECS = 1.0
IDLE_LOOKS = 2
ABLE_SECS, UNABLE_SECS = 30.0, 5.0
"""How often a worker without long runs looks how it can emulate, as long as it can, and as long as
it cannot. Two refusals in a row count: a busy machine may be late once."""


class _OverError(Exception):
    """The job was cancelled, or given to another worker, while this one was at it."""


class ExportRunner:
    """Does one job at a time, by its id. Safe to call again for a job that was left half done."""

    def __init__(self, settings: Settings, database: Database, engine: Engine) -> None:
        self._settings = settings
        self._database = database
        self._engine = engine

    def __call__(self, job_id: str) -> None:
        attempt = self._begin(job_id)
        if attempt is None:
            return
        bound = log.bind(job=job_id, attempt=attempt)
        started = time.perf_counter()
        try:
            size_bytes = self._render(job_id, attempt)
        except _OverError:
            bound.info("export_over")
        except AWAY:
            raise  # the queue tries again
        except Exception as error:
            bound.exception("export_failed")
            message = error.detail if isinstance(error, ProblemError) else f"{type(error).__name__}: {error}"
            with self._database.session() as session:
                JobRepository(session).finish(job_id, attempt, "failed", error=message[:2000])
        else:
            with self._database.session() as session:
                JobRepository(session).finish(job_id, attempt, "done", size_bytes=size_bytes)
            bound.info("export_done", size_bytes=size_bytes, seconds=round(time.perf_counter() - started, 2))

    def _begin(self, job_id: str) -> int | None:
        """The number of this attempt, or None if there is nothing to do."""
        with self._database.session() as session:
            repository = JobRepository(session)
            row = repository.job(job_id, lock=True)
            if row is None or row.state in FINISHED:
                return None
            row.attempts += 1
            row.state, row.progress, row.doing, row.started_at = "running", 0.0, "", repository.now()
            repository.clear_chunks(job_id)
            return row.attempts

    def _render(self, job_id: str, attempt: int) -> int:
        with self._database.session() as session:
            row = JobRepository(session).job(job_id)
            if row is None:
                raise _OverError
            options = ExportOptions(**row.options)
            plans = PlanService(session, self._engine)
            plan, _, build = plans.buildable(row.plan_id, row.revision, paper=options.paper)
            wanted = row.format
        view = PlanView.of(build(), plan.name)  # may take long: without the connection, which runs and beats need
        report = self._reporter(job_id, attempt)
        position = size_bytes = 0
        waiting = bytearray()
        for piece in render(wanted, view, report, options):
            waiting += piece
            size_bytes += len(piece)
            while len(waiting) >= CHUNK_BYTES:
                self._write(job_id, attempt, position, bytes(waiting[:CHUNK_BYTES]))
                del waiting[:CHUNK_BYTES]
                position += 1
        if waiting:
            self._write(job_id, attempt, position, bytes(waiting))
        return size_bytes

    def _reporter(self, job_id: str, attempt: int) -> Callable[[float, str], None]:
        last = 0.0

        def report(fraction: float, doing: str) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last < REPORT_EVERY_SECS:
                return
            last = now
            with self._database.session() as session:
                if not JobRepository(session).report(job_id, attempt, min(max(fraction, 0.0), 1.0), doing):
                    raise _OverError

        return report

    def _write(self, job_id: str, attempt: int, position: int, data: bytes) -> None:
        with self._database.session() as session:
            repository = JobRepository(session)
            row = repository.job(job_id, lock=True)
            if row is None or row.attempts != attempt or row.state != "running":
                raise _OverError
            repository.add_chunk(job_id, position, data)


class Reaper:
    """Gives the jobs and runs of dead workers back to their queues, and forgets results nobody
    fetched."""

    def __init__(
        self, settings: Settings, database: Database, app: App, emulations: EmulationRunner, watch: Watch
    ) -> None:
        self._settings = settings
        self._database = database
        self._app = app
        self._emulations = emulations
        self._watch = watch
        self._queue = Queue()
        self._deliveries = DeliveryReaper(settings, database)
        self._runs = RunReaper(
            database,
            lease_secs=settings.job_lease_secs,
            attempts=settings.job_attempts,
            keep_days=settings.run_keep_days,
        )

    async def run(self, stopping: asyncio.Event) -> None:
        async def look() -> None:
            await self.once()
            await self._forget_dead_entries()
            await run_in_threadpool(self._runs.once)
            await run_in_threadpool(self._deliveries.once)
            await run_in_threadpool(self._adopt_orphans)
            await run_in_threadpool(self._forget_old)

        await self._repeat("reaper", look, stopping)

    async def run_emulations(self, stopping: asyncio.Event) -> None:
        """A separate task: a host that does not answer keeps no job waiting."""

        async def look() -> None:
            await run_in_threadpool(self._emulations.reap)

        await self._repeat("reaper of emulations", look, stopping)

    async def _repeat(self, name: str, look: Callable[[], Awaitable[None]], stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            with self._watch.call(name):
                await look()
            try:
                await asyncio.wait_for(stopping.wait(), self._settings.job_lease_secs / 3)
            except TimeoutError:
                continue

    async def once(self) -> None:
        manager = self._app.job_manager
        for job in await manager.get_stalled_jobs(
            queue=EXPORTS.queue, seconds_since_heartbeat=self._settings.job_lease_secs
        ):
            job_id = str(job.task_kwargs["job_id"])
            verdict = await run_in_threadpool(self._take_back, job_id)
            try:
                if verdict == "again":
                    await manager.retry_job(job)
                else:
                    await manager.finish_job(job, Status.FAILED, delete_job=True)
            except ProcrastinateException as error:
                log.info("reaper_was_second", job=job_id, error=str(error))  # another worker's reaper did it
                continue
            log.warning("job_reaped", job=job_id, verdict=verdict)

    async def _forget_dead_entries(self) -> None:
        """The reapers of runs and deliveries queue them again, so the entries that a dead worker
        held there are deleted."""
        manager = self._app.job_manager
        lease_secs = self._settings.job_lease_secs
        for queue in (*QUEUES.values(), DELIVERIES.queue):
            for job in await manager.get_stalled_jobs(queue=queue, seconds_since_heartbeat=lease_secs):
                try:
                    await manager.finish_job(job, Status.FAILED, delete_job=True)
                except ProcrastinateException as error:
                    log.info("reaper_was_second", **job.task_kwargs, error=str(error))

    def _take_back(self, job_id: str) -> str:
        with self._database.session() as session:
            repository = JobRepository(session)
            row = repository.job(job_id, lock=True)
            if row is None or row.state in FINISHED:
                return "over"
            return self._verdict(repository, row, f"The worker died {row.attempts} times at this job.")

    def _verdict(self, repository: JobRepository, row: JobRow, why_failed: str) -> str:
        if row.attempts >= self._settings.job_attempts:
            row.state, row.error, row.finished_at = "failed", why_failed, repository.now()
            repository.clear_chunks(row.id)
            return "failed"
        row.state, row.progress, row.doing = "queued", 0.0, "waiting for another worker: the last one died"
        return "again"

    def _adopt_orphans(self) -> None:
        """Jobs that the queue lost go back into it, so often and no more."""
        with self._database.session() as session:
            repository = JobRepository(session)
            for row in repository.orphans(timedelta(seconds=self._settings.job_lease_secs)):
                row.attempts += 1
                if self._verdict(repository, row, "The queue gave the job up.") == "again":
                    row.queue_id = self._queue.put(session, row.id)
                    row.started_at = repository.now()
                log.warning("job_adopted", job=row.id, state=row.state)

    def _forget_old(self) -> None:
        with self._database.session() as session:
            forgotten = JobRepository(session).delete_finished_before(timedelta(hours=self._settings.job_keep_hours))
        if forgotten:
            log.info("jobs_forgotten", jobs=forgotten)


async def run_worker(
    settings: Settings,
    database: Database,
    engine: Engine,
    stopping: asyncio.Event,
    *,
    until_idle: bool = False,
    watch: Watch,
) -> None:
    """Work until told to stop, or with `until_idle` until nothing is left to do. Raises if the
    database goes away for good."""
    concurrency = {
        EXPORTS.queue: settings.worker_concurrency,
        QUEUES["quick"]: settings.quick_run_concurrency,
        QUEUES["long"]: settings.run_concurrency,
        **{QUEUES[lane]: settings.run_concurrency for lane in REAL.values()},
        **({DELIVERIES.queue: WEBHOOK_CONCURRENCY} if settings.webhook_hosts else {}),
    }
    ear = Ear(database.conninfo, [*get_channel_for_queues(concurrency), OVER_CHANNEL])
    app = make_app(PoolConnector(database, ear), EXPORTS, RUNS, DELIVERIES)
    emulations = EmulationRunner(settings, database, engine)
    figures = FigureCatalog(engine, settings, emulations.lab)
    export = ExportRunner(settings, database, engine)
    deliver = Sender(settings, database)

    async def heard(_: str, run_id: str | None) -> None:
        watch.look(run_id)

    ear.follow(OVER_CHANNEL, heard)

    def run_of(quick_secs: float | None) -> RunRunner:
        runners = {EMULATION.name: emulations}
        every_secs = beat_secs(settings.job_lease_secs)
        return RunRunner(
            database, engine, stopping.is_set, runners, figures, quick_secs, every_secs, watch, lambda: real_lanes(ear)
        )

    def work(*queues: str) -> asyncio.Task[None]:
        """A worker for these queues: exports do not wait for a long sweep, nor a table of a
        second."""
        do_run = long_runs if QUEUES["long"] in queues else run_of(QUICK_SECS)
        does = {"run_export": export, "do_run": do_run, "deliver": deliver}
        return asyncio.create_task(
            app.run_worker_async(
                queues=list(queues),
                concurrency=concurrency[queues[0]],
                install_signal_handlers=False,
                fetch_job_polling_interval=POLL_SECS,
                update_heartbeat_interval=settings.job_lease_secs / 3,
                stalled_worker_timeout=settings.job_lease_secs,
                shutdown_graceful_timeout=10.0,
                delete_jobs="always",
                additional_context=does,
            )
        )

    long_runs = Counted(run_of(None))
    long_lane = LongLane(ear, work, emulations.can_emulate, long_runs, watch)
    async with app.open_async():
        reaper = Reaper(settings, database, app, emulations, watch)
        tasks: list[asyncio.Task[Any]] = [
            work(EXPORTS.queue),
            work(QUEUES["quick"]),
            asyncio.create_task(long_lane.run()),
            asyncio.create_task(reaper.run(stopping)),
            asyncio.create_task(reaper.run_emulations(stopping)),
            asyncio.create_task(ear.listen()),
            asyncio.create_task(stopping.wait()),
        ]
        if settings.webhook_hosts:
            tasks.append(work(DELIVERIES.queue))
        if until_idle:
            tasks.append(asyncio.create_task(_idle(settings, database, stopping, long_lane)))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            await run_in_threadpool(emulations.close)
        for result in results:
            if isinstance(result, Exception):
                raise result


class Counted:
    """Runs, and how many of them are under way."""

    def __init__(self, run: Callable[[str], None]) -> None:
        self._run = run
        self._lock = threading.Lock()
        self.under_way = 0

    def __call__(self, run_id: str) -> None:
        self._count(1)
        try:
            self._run(run_id)
        finally:
            self._count(-1)

    def _count(self, change: int) -> None:
        with self._lock:
            self.under_way += change


def real_lanes(ear: Ear) -> list[Lane]:
    """The lanes of real packets of which this worker does runs."""
    return [lane for sign, lane in REAL.items() if sign in ear.shows]


class LongLane:
    """Works at long runs; in turn with them at runs of real packets, as this worker can emulate
    them, so that no sweep takes the processor from an emulation."""

    def __init__(
        self,
        ear: Ear,
        work: Callable[..., asyncio.Task[None]],
        can_emulate: Callable[[], Set[Sign]],
        runs: Counted,
        watch: Watch,
    ) -> None:
        self._ear = ear
        self._work = work
        self._can_emulate = can_emulate
        self._runs = runs
        self._watch = watch
        self._looked = False

    @property
    def lanes(self) -> list[Lane] | None:
        """The lanes of which this worker does runs; None before its first look."""
        return ["quick", "long", *real_lanes(self._ear)] if self._looked else None

    async def run(self) -> None:
        task = self._work(QUEUES["long"])
        refusals = 0
        try:
            while not task.done():
                if self._runs.under_way == 0:
                    with self._watch.call("probe of emulations"):
                        able = await run_in_threadpool(self._can_emulate)
                    refusals = 0 if able and able >= self._ear.shows else refusals + 1
                    shows = frozenset(able if refusals != 1 else able | self._ear.shows)
                    if shows != self._ear.shows and self._runs.under_way == 0:
                        self._ear.shows = shows
                        await _ended(task)
                        task = self._work(QUEUES["long"], *(QUEUES[lane] for lane in real_lanes(self._ear)))
                    self._looked = True
                await asyncio.wait([task], timeout=ABLE_SECS if self._ear.shows and refusals == 0 else UNABLE_SECS)
            task.result()
        finally:
            self._ear.shows = frozenset()
            await _ended(task)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _idle(settings: Settings, database: Database, stopping: asyncio.Event, long_lane: LongLane) -> None:
    """Ends, and tells everybody to stop, when two looks in a row found nothing to do. What another
    worker is at counts: were that one to die, its work would be there to do."""

    def nothing() -> bool:
        lanes = long_lane.lanes
        if lanes is None:
            return False
        with database.session() as session:
            return not (
                RunRepository(session).any_unfinished(lanes)
                or JobRepository(session).any_unfinished()
                or (settings.webhook_hosts and WebhookRepository(session).any_due())
            )

    looks = 0
    while looks < IDLE_LOOKS:
        await asyncio.sleep(IDLE_LOOK_SECS)
        looks = looks + 1 if await run_in_threadpool(nothing) else 0
    log.info("worker_idle")
    stopping.set()


async def supervise(
    settings: Settings,
    database: Database,
    engine: Engine,
    stopping: asyncio.Event,
    *,
    until_idle: bool = False,
    watch: Watch | None = None,
) -> None:
    """Keep a worker running; when the database went away, wait for it (an embedded one is started
    again) and continue. It also waits while the tables have another version's revision."""
    watch = watch or Watch()
    while not stopping.is_set():
        try:
            await run_in_threadpool(refuse_other, database.engine)
            await run_worker(settings, database, engine, stopping, until_idle=until_idle, watch=watch)
        except Exception as error:
            log.warning("worker_interrupted", error=f"{type(error).__name__}: {error}")
            if database.embedded is not None:
                try:
                    await run_in_threadpool(database.embedded.ensure_running)
                except Exception as unavailable:
                    log.warning("embedded_postgres_unavailable", error=str(unavailable))
            try:
                await asyncio.wait_for(stopping.wait(), RESTART_AFTER_SECS)
            except TimeoutError:
                continue
