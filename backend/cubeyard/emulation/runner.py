"""Runs sessions for a worker: writes frames to the database, reads orders from it, and stops when
the lease is lost."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import structlog
from sqlalchemy.exc import DBAPIError

from cubeyard.emulation.deploy.reaper import reap, reap_left_alone
from cubeyard.emulation.fabric.hosts import Hosts
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.fabric.process import FabricProcess
from cubeyard.emulation.live.elsewhere import answering
from cubeyard.emulation.live.models import OrderRow
from cubeyard.emulation.live.repository import OrderRepository
from cubeyard.emulation.live.service import live_fault
from cubeyard.emulation.session.orders import Order
from cubeyard.emulation.setup.question import Question, read
from cubeyard.engine import Engine, OnProgress
from cubeyard.experiments.points import Json
from cubeyard.experiments.scenario.verdict import missing_in_words, off_schedule_in_words, unfinished_in_words
from cubeyard.kit.db import Database
from cubeyard.kit.ear import Sign
from cubeyard.kit.errors import ProblemError
from cubeyard.runs.frames import Frames
from cubeyard.settings import Settings

if TYPE_CHECKING:
    from cubeyard.emulation.deploy.shell_relay.serving import ShellRelay
    from cubeyard.emulation.figures.lab import Lab

log = structlog.get_logger(__name__)


class DatabaseSink:
    """A session's sink, over one attempt at a run."""

    def __init__(self, database: Database, engine: Engine, question: Question, run_id: str, frames: Frames) -> None:
        self._database = database
        self._engine = engine
        self._question = question
        self._run = run_id
        self._frames = frames
        self._outcomes: dict[int, Json] = {}
        """Results of orders that were carried out while the database was unavailable."""
        with database.session() as session:
            repository = OrderRepository(session)
            # Orders to an earlier attempt ended with it. Orders from the time before the first
            # attempt are still valid.
            self._after = repository.last(run_id) if frames.lease.attempt > 1 else 0

    def frame(self, kind: str, payload: Json) -> None:
        self._frames.write(kind, payload)

    def progress(self, share: float) -> None:
        self._frames.lease.progress = share

    def check(self) -> None:
        self._frames.lease.check()

    def over(self) -> bool:
        return False

    def orders(self) -> list[Order]:
        try:
            self._tell_outcomes()
            with self._database.session() as session:
                matches = [self._read(row) for row in OrderRepository(session).waiting(self._run, self._after)]
        except DBAPIError as error:
            # A database that restarts is soon back, and the next tick tries again. If it does not
            # return, writing frames fails too.
            log.warning("orders_not_read", run=self._run, error=str(error.orig))
            return []
        if matches:
            self._after = matches[-1].id
        return matches

    def _read(self, row: OrderRow) -> Order:
        if row.kind == "inject":
            question = self._question
            return Order(row.id, "inject", fault=live_fault(self._engine, question.network, row, question.seed))
        if row.kind == "recover":
            return Order(row.id, "recover", fault_id=row.fault_id)
        return Order(row.id, "upgrade" if row.kind == "upgrade" else "stop-all")

    def done(self, order: Order, outcome: Json) -> None:
        self._outcomes[order.id] = outcome
        with suppress(DBAPIError):
            self._tell_outcomes()

    def _tell_outcomes(self) -> None:
        if not self._outcomes:
            return
        with self._database.session() as session:
            for id_, outcome in self._outcomes.items():
                OrderRepository(session).carried_out(id_, outcome)
        self._outcomes.clear()


class EmulationRunner:
    """Runs the emulations of one worker, one after the other or in parallel, with one fabric."""

    def __init__(self, settings: Settings, database: Database, engine: Engine) -> None:
        self._settings = settings
        self._database = database
        self._engine = engine
        self._place = Place.of(settings)
        self._fabric = FabricProcess(settings, self._place)
        self._starting = threading.Lock()
        self._entered: int | None = None
        self._relay: ShellRelay | None = None

    def run(self, run_id: str, document: Json, frames: Frames) -> str:
        from cubeyard.emulation.session.session import Session

        question = read(self._engine, document)
        self.ready()
        sink = DatabaseSink(self._database, self._engine, question, run_id, frames)
        hosts = Hosts.of(self._settings, self._place)
        with answering(self._database, hosts, run_id):
            report = Session(self._settings, self._place, run_id, question, sink).run()
        frames.lease.check()
        frames.write("report", {"point": 0, **report}, 0)
        missing = [missing_in_words(fault) for fault in report["not_injected"]]
        unfinished = unfinished_in_words(report.get("upgrade"))
        return " ".join(filter(None, [*missing, *off_schedule_in_words(report["faults"]), unfinished]))

    def lab(self, told: OnProgress | None) -> Lab:
        """The lab for measuring figures, with the same fabric."""
        from cubeyard.emulation.figures.lab import Lab

        return Lab(self._settings, self._engine, self._place, self.ready, told)

    def can_emulate(self) -> frozenset[Sign]:
        """The kinds of runs that could start here now with everything they need."""
        from cubeyard.emulation.deploy.probe import probe

        try:
            modes = probe(self._settings, works=True).modes
        except Exception as error:
            log.warning("emulation_probe", error=f"{type(error).__name__}: {error}")
            return frozenset()
        images: list[Sign] = ["images"] if "containers" in modes and self._settings.user_images else []
        return frozenset([*modes, *images])

    def ready(self) -> None:
        """Ensures that there is a fabric. Raises an error with the fix if there is none and none
        can be started."""
        with self._starting:
            if self._settings.fabric_start:
                if self._entered is None:
                    self._entered = self._place.enter()
                self._fabric.ensure()

    def reap(self) -> None:
        """Removes leftovers of dead runs on this machine. Never fails, since it is tried again."""
        try:
            # Start the fabric before sudo requires the password again, which a worker cannot enter.
            settings = self._settings
            if settings.spread or settings.fabric_sudo or self._place.folder.exists():
                self._wake()
                reap(self._settings, self._place)
            reap_left_alone(self._settings)
            if self._tells:
                from cubeyard.emulation.deploy.probe import tell

                tell(self._settings)
                self._relay_shells()
        except Exception as error:
            log.warning("emulation_reaper", error=f"{type(error).__name__}: {error}")

    def _relay_shells(self) -> None:
        """Opens shells for an API that has no Docker engine."""
        if self._relay is None and self._settings.terminals and self._settings.cluster is None:
            from cubeyard.emulation.deploy.shell_relay.serving import ShellRelay

            relay = ShellRelay.of(self._settings)
            relay.start()
            self._relay = relay

    def _wake(self) -> None:
        """Starts the fabric, which at its start removes what its journal names."""
        try:
            self.ready()
        except ProblemError as error:
            log.info("no_fabric", error=error.detail)

    def close(self) -> None:
        """Stops the worker and its shells. The last worker of a home also ends the fabric that one
        of them started, with everything that the fabric still has."""
        if self._relay is not None:
            self._relay.close()
        with self._starting:
            if self._entered is not None:
                handle, self._entered = self._entered, None
                self._place.leave(handle, self._fabric.stop)
        if self._tells:
            from cubeyard.emulation.deploy.probe import take_back

            take_back(self._settings)

    @property
    def _tells(self) -> bool:
        """Whether the API may run in a separate container without access to a Docker engine."""
        return not self._settings.fabric_start and os.access(self._place.folder, os.W_OK)
