"""One session: servers up, a pair calibrated, the workload sent and measured, faults injected and mended, everything removed.

The session knows nothing of databases or terminals: whoever runs it gives it a sink for its frames, which also says when to
stop and what was asked for meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Protocol

import structlog

from cubeyard.emulation import report
from cubeyard.emulation.containers import DockerGoneError
from cubeyard.emulation.damage import WHOLE, Damage
from cubeyard.emulation.deploy import Deployment
from cubeyard.emulation.fabric_client import FabricGoneError
from cubeyard.emulation.faults import Fault, Schedule
from cubeyard.emulation.fidelity import Calibration
from cubeyard.emulation.flows import for_fabric
from cubeyard.emulation.guard import Guard
from cubeyard.emulation.injector import Injector
from cubeyard.emulation.network import OUTSIDE_ADDRESS, outside_namespace
from cubeyard.emulation.orders import Order
from cubeyard.emulation.place import Place
from cubeyard.emulation.question import Question
from cubeyard.emulation.recorder import Part, Recorder, Tick
from cubeyard.emulation.seconds import Seconds
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings

Json = dict[str, Any]
log = structlog.get_logger(__name__)

SILENT_SECS = 15.0
"""A fabric that sends no frame for so long hangs; one that has gone is noticed at once."""
WATCH_SECS = 2.0
"""How often the Docker engine is asked what it still runs."""
DOCKER_GONE_SECS = 8.0
SERVERS_ENDED = "All servers' containers ended at once: the Docker engine was started again, or something stopped them. Start the run again."


class Sink(Protocol):
    """Where a session's frames go, and where its orders come from."""

    def frame(self, kind: str, payload: Json) -> None: ...

    def progress(self, share: float) -> None: ...

    def check(self) -> None:
        """Raises when the session is to end: cancelled, or told to stop."""
        ...

    def orders(self) -> list[Order]: ...

    def done(self, order: Order, outcome: Json) -> None: ...


class Session:
    """Runs once."""

    def __init__(self, settings: Settings, place: Place, run_id: str, question: Question, sink: Sink) -> None:
        self._place = place
        self._run = run_id
        self._question = question
        self._sink = sink
        self._deployment = Deployment(settings, place, run_id, question)
        self._injector = Injector(run_id, self._deployment)
        self._schedule: Schedule = question.schedule.again()
        self._guard = Guard(question.settings.hypothesis)
        self._recorder = Recorder(question)
        self._seconds = Seconds()
        self._faults: list[Json] = []
        """Everything injected, with its times."""
        self._known: dict[str, Fault] = {fault.id: fault for fault in question.schedule.faults}
        self._damage = WHOLE
        """As it was told last."""
        self._predicted: list[Json] = []
        """What was expected from when on, as the frames say it."""
        self._had_fault = False
        self._at_secs = 0.0

    def run(self) -> Json:
        """The report. Whatever happens, nothing of the run is left when this returns or raises."""
        with self._place.held(self._run) as mine:
            if not mine:
                raise ProblemError(409, "run-held", f"Another process is at run {self._run}.")
            timings: Json = {}
            if self._deployment.in_containers:
                self._place.remember(self._run)
            try:
                timings = self._up()
                calibration = self._calibrate()
                ended = self._measure()
                self._tell_second(self._seconds.rest())
            finally:
                self._sink_quietly("phase", {"phase": "removing"})
                timings.update(self._deployment.down())
                if not timings["kept"]:
                    self._place.forget(self._run)
        document = report.make(self._recorder, self._guard, calibration, self._faults, ended=ended, timings=timings)
        document["predicted_steps"] = self._predicted
        self._sink.progress(1.0)
        return document

    def _sink_quietly(self, kind: str, payload: Json) -> None:
        """A frame on the way out: what ends the session must not keep the rest from being removed."""
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
        self._sink.frame("phase", {"phase": "up", **timings, **self._outside()})
        return timings

    def _outside(self) -> Json:
        """Where the external network is, if the run has gateways to one."""
        if not self._question.network.gateways:
            return {}
        return {"outside": {"namespace": outside_namespace(self._run), "address": OUTSIDE_ADDRESS}}

    def _calibrate(self) -> Calibration | None:
        """What one connection reaches alone between two servers that share a switch."""
        secs = self._question.settings.calibrate_secs
        if secs <= 0:
            return None
        self._sink.frame("phase", {"phase": "calibrating", "secs": secs})
        network = self._question.network
        source, destination = _neighbours(self._question)
        flow = {
            **for_fabric(self._question.flows[:1], self._question.settings)[0],
            "source": source,
            "destination": destination,
            "proto": "tcp",
            "bytes": None,
            "rate_bits_per_sec": None,
        }
        slow_start_secs = min(1.0, secs / 2)
        goodput, measured_secs, last_secs = 0, 0.0, None
        for frame in self._sent([flow], slow_start_secs + secs):
            tick = Tick.of(frame, len(network.servers), len(network.links), 1)
            if last_secs is not None and last_secs >= slow_start_secs:
                goodput += int(tick.flows[0])
                measured_secs += tick.at_secs - last_secs
            last_secs = tick.at_secs
        rate = goodput * 8 / measured_secs if measured_secs > 0 else 0.0
        names = network.servers
        found = Calibration(names[source], names[destination], round(rate), network.rate_bits_per_sec)
        self._sink.frame("phase", {"phase": "calibrated", **found.document()})
        return found

    def _measure(self) -> str:
        """Send the workload for as long as was asked. How it ended: `done`, `aborted` or `stopped`."""
        settings = self._question.settings
        self._sink.frame("phase", {"phase": "settling", "secs": settings.settle_secs})
        flows = for_fabric(self._question.flows, settings)
        total_secs = settings.settle_secs + settings.seconds
        watched_at = time.monotonic()
        began = False
        for frame in self._sent(flows, total_secs):
            tick, secs = self._recorder.take(frame)
            self._at_secs = tick.at_secs - settings.settle_secs
            self._recorder.events.hear(tick.events, time.monotonic_ns(), self._at_secs)
            counted = self._at_secs >= 0
            if counted and not began:
                began = True
                self._sink.frame("phase", {"phase": "measuring", "secs": settings.seconds})
            reading = self._recorder.reading
            part = self._part()
            if counted:
                reading = self._recorder.count(tick, secs, self._at_secs, part, self._injector.dead)
            self._tell(self._recorder.payload(tick, self._at_secs, part if counted else "settling"), secs)
            self._sink.progress(0.15 + 0.85 * min(tick.at_secs / total_secs, 1.0))
            if counted and part == "before":
                self._guard.before(reading)
            if counted and self._guard.watch(self._at_secs, secs, reading):
                self._stop_all("the hypothesis is broken")
                return "aborted"
            if counted and self._recorder.all_received:
                break
            self._act(counted)
            watched_at = self._watch_docker(watched_at)
        return "done"

    def _tell(self, tick: Json, secs: float) -> None:
        self._sink.frame("tick", tick)
        self._tell_second(self._seconds.add(tick, secs))

    def _tell_second(self, second: Json | None) -> None:
        if second is not None:
            self._sink.frame("second", second)

    def _sent(self, flows: list[Json], secs: float) -> Iterator[Json]:
        """Send these flows for so long, and yield the fabric's frames of that time."""
        fabrics = self._deployment.fabrics
        assert fabrics is not None
        fabrics.call("workload", run=self._run, flows=flows)
        # Frames hold differences: one that is missed is missing in every sum, so they come before anything is sent.
        with fabrics.stream(self._run) as stream:
            fabrics.call("start", run=self._run)
            for frame in stream.frames(SILENT_SECS, self._sink.check):
                if frame.get("at_secs", 0.0) > 0:
                    yield frame
                if frame.get("at_secs", 0.0) >= secs:
                    break
        fabrics.call("stop", run=self._run)

    def _part(self) -> Part:
        if not self._had_fault:
            return "before"
        return "during" if self._injector.active else "after"

    def _act(self, counted: bool) -> None:
        """What is due by the schedule, and what was asked for meanwhile."""
        if counted:
            for due in self._schedule.due(self._at_secs):
                self._do(due.action, due.fault)
        for order in self._sink.orders():
            self._sink.done(order, self._obey(order))

    def _obey(self, order: Order) -> Json:
        if order.kind == "stop-all":
            return self._stop_all("asked for")
        if order.kind == "recover":
            fault = self._known.get(order.fault_id)
            if fault is None:
                return {"ok": False, "reason": f"There is no fault {order.fault_id} in this run."}
            self._schedule.cancel(fault.id)
            return self._do("recover", fault)
        assert order.fault is not None
        fault = order.fault.at(self._at_secs)
        self._known[fault.id] = fault
        self._schedule.add(fault)
        return {"ok": True}

    def _do(self, action: str, fault: Fault) -> Json:
        """Inject or mend, and say so in a frame. A failure is the fault's, not the session's."""
        outcome: Json = {"ok": True}
        if action == "recover" and fault.id not in self._injector.active:
            return outcome  # one that flaps is whole at its end, or was never injected
        try:
            if action == "inject":
                at_nanos = self._injector.inject(fault)
                self._had_fault = True
                self._faults.append(
                    {
                        **fault.described(),
                        "injected_at_secs": round(self._at_secs, 3),
                        "recovered_at_secs": None,
                        "at_nanos": at_nanos,
                    }
                )
            else:
                at_nanos = self._injector.recover(fault)
                for one in self._faults:
                    if one["id"] == fault.id and one["recovered_at_secs"] is None:
                        one["recovered_at_secs"] = round(self._at_secs, 3)
        except FabricGoneError:
            raise
        except ProblemError as error:
            outcome = {"ok": False, "reason": error.detail}
        state = {"inject": "injected", "recover": "recovered"}[action] if outcome["ok"] else "failed"
        happened = {"state": state, "at_secs": round(self._at_secs, 3)}
        self._sink.frame("fault", {**fault.described(), **happened, **outcome})
        if outcome["ok"]:
            self._predict()
        return outcome

    def _predict(self) -> None:
        """Say what is expected of the network as it is broken now."""
        damage = Damage.of(self._injector.active.values())
        if self._question.predicted_with is None or damage == self._damage:
            return
        self._damage = damage
        expected = self._question.predicted_with(damage).document()
        self._predicted.append({"at_secs": round(self._at_secs, 3), **damage.document(), **expected})
        self._sink.frame("predicted", self._predicted[-1])

    def _stop_all(self, why: str) -> Json:
        """Cancel what is to come, mend what is broken, and confirm it."""
        self._schedule.cancel()
        failed = [
            outcome
            for fault in list(self._injector.active.values())
            if not (outcome := self._do("recover", fault))["ok"]
        ]
        confirmed = not failed and not self._injector.active
        payload = {"why": why, "recovered": confirmed, "at_secs": round(self._at_secs, 3)}
        self._sink.frame("stop-all", payload)
        return {"ok": confirmed, **({"reason": failed[0]["reason"]} if failed else {})}

    def _watch_docker(self, watched_at: float) -> float:
        """Ask the engine now and then whether it is still there. Raises when it has gone for good."""
        now = time.monotonic()
        if not self._deployment.in_containers or now - watched_at < WATCH_SECS:
            return watched_at
        try:
            self._deployment.ask_engines()
        except DockerGoneError:
            if now - watched_at > DOCKER_GONE_SECS:
                raise
            return watched_at
        if not self._injector.active and self._deployment.all_ended():
            # One server that ends is a failure to be watched; an engine that starts again ends them all.
            raise ProblemError(503, "servers-ended", SERVERS_ENDED)
        return now


def _neighbours(question: Question) -> tuple[int, int]:
    """Two servers on one switch, or the ends of the first flow."""
    first: dict[int, int] = {}
    for link in question.network.links:
        for near, far in ((link.a[0], link.b[0]), (link.b[0], link.a[0])):
            if near in question.network.servers and far in question.network.switches:
                if far in first and first[far] != near:
                    return first[far], near
                first.setdefault(far, near)
    return question.flows[0].source, question.flows[0].destination


def described(question: Question) -> Json:
    """What every tick's columns mean, and what is expected of them."""
    network = question.network
    return {
        "family": network.family,
        "spec": network.spec,
        "whole": network.whole,
        "gateways": network.gateways,
        "mode": question.settings.mode,
        "dataplane": question.settings.dataplane,
        "rate_bits_per_sec": network.rate_bits_per_sec,
        "mtu": network.mtu,
        "seed": question.seed,
        "settle_secs": question.settings.settle_secs,
        "seconds": question.settings.seconds,
        "header_efficiency": round(network.header_efficiency, 4),
        "servers": {"id": list(network.servers), "name": list(network.servers.values())},
        "switches": {"id": list(network.switches), "name": list(network.switches.values())},
        "links": {
            "id": [link.id for link in network.links],
            "a": [link.a[0] for link in network.links],
            "b": [link.b[0] for link in network.links],
            "a_port": [link.a[1] for link in network.links],
            "b_port": [link.b[1] for link in network.links],
            "level": [link.level for link in network.links],
        },
        "flows": {
            "source": [flow.source for flow in question.flows],
            "destination": [flow.destination for flow in question.flows],
            "ideal_bits_per_sec": [round(flow.ideal_bits_per_sec) for flow in question.flows],
        },
        "predicted": question.prediction.document(),
        "schedule": [fault.described() for fault in question.schedule.faults],
        "estimate": question.estimate.document(),
    }
