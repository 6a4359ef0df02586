"""One session: starts servers, calibrates a pair, sends and measures the workload, injects and
recovers faults, removes everything.

The session is independent of databases and terminals: the caller provides a sink, which takes
frames and returns orders, including the order to stop.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Literal

import structlog

from cubeyard.emulation.deploy.containers import GONE
from cubeyard.emulation.deploy.deployment import Deployment
from cubeyard.emulation.fabric.client import FabricClient, FabricGoneError
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.faults.impossible import NEEDS, missing_kinds, refuse_missing
from cubeyard.emulation.judge import report
from cubeyard.emulation.judge.fidelity import Calibration, Observed
from cubeyard.emulation.judge.guard import Guards
from cubeyard.emulation.measure.recorder import Recorder
from cubeyard.emulation.measure.seconds import Seconds
from cubeyard.emulation.network.network import OUTSIDE_ADDRESS, outside_namespace
from cubeyard.emulation.session.beside import Programs
from cubeyard.emulation.session.calibration import LEAST_SECS, calibrate
from cubeyard.emulation.session.fault_control import FaultControl
from cubeyard.emulation.session.injector import Injector
from cubeyard.emulation.session.opening import described
from cubeyard.emulation.session.sink import Sink
from cubeyard.emulation.session.traffic import sent
from cubeyard.emulation.session.upgrading import Upgrading
from cubeyard.emulation.setup.flows import for_fabric
from cubeyard.emulation.setup.question import Question
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings

Json = dict[str, Any]
log = structlog.get_logger(__name__)

DYING_SECS = 10.0
"""Time for a run's previous process to end: the kernel releases its lock last."""
WATCH_SECS = 2.0
"""The interval at which the session checks with the Docker engine which containers run."""
PROBE_SECS = 10.0
DOCKER_GONE_SECS = 8.0
"""A Docker engine that does not respond for longer ends the session; a restart takes less time."""
SERVERS_ENDED = "All servers' containers ended at once: the Docker engine restarted, the node was drained, or something stopped them. Start the run again."


class Session:
    """One session; `run` can be called once."""

    def __init__(self, settings: Settings, place: Place, run_id: str, question: Question, sink: Sink) -> None:
        self._place = place
        self._run = run_id
        self._question = question
        self._sink = sink
        self._deployment = Deployment(settings, place, run_id, question)
        self._injector = Injector(run_id, self._deployment)
        self._recorder = Recorder(question)
        self._programs = Programs(run_id, question, self._deployment)
        self._upgrading = Upgrading(question.upgrade, run_id, self._deployment, sink)
        self._faults = FaultControl(question, self._injector, sink, self._recorder.clock, self._upgrading)
        self._guards = Guards(question.hypotheses)
        self._seconds = Seconds()
        self._at_secs = 0.0

    def run(self) -> Json:
        """Runs the session and returns its report. Everything of the run is removed when this
        returns or raises.

        Raises ProblemError: 422 for a fault that this machine cannot inject, 409 if another process
        holds the run, 503 if the fabric or the Docker engine does not respond, and the errors of
        the deployment and the sink.
        """
        self._refuse_impossible()
        with self._place.held(self._run, DYING_SECS) as mine:
            if not mine:
                raise ProblemError(409, "run-held", f"Another process holds run {self._run}.")
            timings: Json = {}
            if self._deployment.in_containers:
                self._place.remember(self._run, self._deployment.where())
            try:
                timings = self._up()
                calibration = self._calibrate()
                ended = self._measure()
                self._tell_second(self._seconds.rest())
                with suppress(*GONE):
                    self._look_at_programs()
            except (FabricGoneError, *GONE):
                self._deployment.look_for_hosts()
                raise
            finally:
                self._sink_quietly("phase", {"phase": "removing"})
                timings.update(self._deployment.down())
                if not timings["kept"]:
                    self._place.forget(self._run)
            self._faults.end(self._at_secs)
        document = report.make(
            self._recorder,
            self._guards,
            calibration,
            self._faults.happened,
            ended=ended,
            timings=timings,
            not_injected=self._faults.missing,
            upgrade=self._upgrading.document(self._recorder.events.connections_lost),
            ended_at_secs=self._at_secs,
        )
        document["predicted_steps"] = self._faults.predicted
        if self._question.beside:
            document["images"] = self._programs.document()
        self._sink.progress(1.0)
        return document

    def _refuse_impossible(self) -> None:
        """Refuses faults that the hosts' kernels cannot inject, before anything starts."""
        faults = self._question.schedule.faults
        kinds = [(f"body.faults.{number}.kind", fault.kind) for number, fault in enumerate(faults)]
        if not any(kind in NEEDS for _, kind in kinds):
            return
        for host in self._deployment.spread.hosts:
            with FabricClient(host.socket) as client:
                refuse_missing(kinds, missing_kinds(client.call("probe", PROBE_SECS)))

    def _sink_quietly(self, kind: str, payload: Json) -> None:
        """Sends a frame during cleanup: an exception of the sink must not stop the cleanup."""
        try:
            self._sink.frame(kind, payload)
        except Exception as error:
            log.info("frame_not_written", run=self._run, kind=kind, error=str(error))

    def _up(self) -> Json:
        spread = self._deployment.spread.document(self._question.network)
        unit = {"unit_bytes": self._recorder.format.unit_bytes}
        self._sink.frame("network", {**described(self._question), **unit, **spread})

        def told(done: int, total: int) -> None:
            self._sink.check()
            self._sink.progress(0.1 * done / total)

        self._sink.frame("phase", {"phase": "deploying", "servers": len(self._question.network.servers)})
        timings = self._deployment.up(told)
        if self._deployment.in_containers:
            self._place.remember(self._run, self._deployment.where(), self._deployment.containers)
        self._upgrading.unplug()
        self._sink.frame("phase", {"phase": "up", **timings, **self._outside()})
        return timings

    def _outside(self) -> Json:
        """The location of the external network, if the run has gateways to one."""
        if not self._question.network.gateways:
            return {}
        return {"outside": {"namespace": outside_namespace(self._run), "address": OUTSIDE_ADDRESS}}

    def _calibrate(self) -> Calibration | None:
        secs = self._question.settings.calibrate_secs
        if secs < LEAST_SECS:
            return None
        assert self._deployment.fabrics is not None
        self._sink.frame("phase", {"phase": "calibrating", "secs": secs})
        result = calibrate(self._deployment.fabrics, self._run, self._question, self._sink.check)
        if result is not None:
            self._sink.frame("phase", {"phase": "calibrated", **result.document()})
        return result

    def _measure(self) -> Literal["done", "aborted"]:
        """Sends the workload for the duration in the experiment, and measures it. Returns how it
        ended."""
        settings = self._question.settings
        assert self._deployment.fabrics is not None
        self._sink.frame("phase", {"phase": "settling", "secs": settings.settle_secs})
        requests = self._question.requests
        flows = for_fabric(self._question.flows, settings) if requests is None else requests.for_fabric(settings)
        total_secs = settings.settle_secs + settings.seconds
        watched_at = time.monotonic()
        began = False
        for frame in sent(self._deployment.fabrics, self._run, flows, total_secs, self._sink.check):
            counted = frame.get("at_secs", 0.0) >= settings.settle_secs
            if counted and not began:
                began = True
                self._sink.frame("phase", {"phase": "measuring", "secs": settings.seconds})
            aborted = self._take(frame, counted=counted)
            self._sink.progress(0.15 + 0.85 * min(frame.get("at_secs", 0.0) / total_secs, 1.0))
            if aborted:
                self._faults.stop_all(self._at_secs, "the hypothesis is not met")
                return "aborted"
            if counted and (self._recorder.all_received or self._sink.over()):
                break
            self._faults.act(self._at_secs, scheduled=counted)
            watched_at = self._watch_docker(watched_at)
        return "done"

    def _take(self, frame: Json, *, counted: bool) -> bool:
        """Adds a frame of the fabric and writes its tick. Returns whether a hypothesis ends the run
        now."""
        tick, secs = self._recorder.take(frame)
        self._at_secs = tick.at_secs - self._question.settings.settle_secs
        self._recorder.events.hear(tick.events, self._at_secs)
        state = self._faults.state(self._at_secs)
        reading, part = self._recorder.reading, state.part
        if counted:
            reading = self._recorder.count(tick, secs, self._at_secs, part, state.dead, state.cut_off)
        payload: Json = {**self._recorder.payload(tick, self._at_secs, part if counted else "settling")}
        self._sink.frame("tick", payload)
        self._tell_second(self._seconds.add(payload, secs))
        if not counted:
            return False
        if part == "before":
            self._guards.before(reading)
        return self._faults.is_tested(state) and self._guards.watch(
            self._at_secs, secs, reading, self._delayed(), state.expected, struck=part != "before"
        )

    def _delayed(self) -> float:
        """1 if this machine has delayed the run within the last second, else 0."""
        return float(bool(Observed(None, None, 1.0, **self._recorder.lately).delays))

    def _tell_second(self, second: Json | None) -> None:
        if second is not None:
            self._sink.frame("second", second)

    def _look_at_programs(self) -> None:
        """Reports users' programs that have ended."""
        if self._question.beside:
            self._recorder.events.hear(self._programs.look(self._injector.dead, self._at_secs), self._at_secs)

    def _watch_docker(self, watched_at: float) -> float:
        """Checks from time to time whether the engine still runs the servers. Raises if the engine
        does not respond for too long."""
        now = time.monotonic()
        if not self._deployment.in_containers or now - watched_at < WATCH_SECS:
            return watched_at
        try:
            self._deployment.ask_engines()
            self._look_at_programs()
        except GONE:
            if now - watched_at > DOCKER_GONE_SECS:
                raise
            return watched_at
        if not self._injector.active and (ended := self._deployment.ended_on()):
            # A single server that ends is part of the experiment. An engine that restarts, or a
            # node that is drained, ends all of them.
            raise ProblemError(503, "servers-ended", " ".join(host.said(SERVERS_ENDED) for host in ended))
        return now
