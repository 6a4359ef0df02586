"""Injects and recovers faults while the workload runs, by the schedule and by orders. Each change
is a frame."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Any

from cubeyard.emulation.fabric.client import FabricGoneError
from cubeyard.emulation.faults.damage import WHOLE, Damage
from cubeyard.emulation.faults.faults import LATE_SECS, NEVER, Fault, Schedule
from cubeyard.emulation.measure.clock import Clock
from cubeyard.emulation.measure.recorder import Part
from cubeyard.emulation.measure.window import Reading
from cubeyard.emulation.session.injector import Injector
from cubeyard.emulation.session.orders import Order
from cubeyard.emulation.session.sink import Sink
from cubeyard.emulation.session.upgrading import Upgrading
from cubeyard.emulation.setup.prediction import Prediction
from cubeyard.emulation.setup.question import Question
from cubeyard.kit.errors import ProblemError

Json = dict[str, Any]

STATES = {"inject": "injected", "recover": "recovered"}
MOST_TRIES = 20
"""If a recovery fails, it is tried again with each tick, for two seconds."""

LONGER_SHARE = 0.1
"""If a fault lasts longer than planned by more than this share, the schedule was not met."""
REVIVE_SECS = 2.0
"""A killed server's container is up again within this time."""


@dataclass
class Stuck:
    """A fault whose recovery has failed."""

    fault: Fault
    due_secs: float
    reason: str
    tries: int = 1


@dataclass(frozen=True)
class State:
    """The network's damage from some time on, and the prediction for it."""

    at_secs: float
    part: Part
    dead: frozenset[int]
    """Ids of servers that are off."""
    cut_off: frozenset[int]
    """Flows without a path, or with a dead end. ABT only includes the others, as in a
    prediction."""
    expected: Reading
    """The prediction of the flow engine."""


class FaultControl:
    """Tracks all faults of the run, and the prediction for the network's current state."""

    def __init__(self, question: Question, injector: Injector, sink: Sink, clock: Clock, upgrading: Upgrading) -> None:
        self._question = question
        self._injector = injector
        self._sink = sink
        self._clock = clock
        self._upgrading = upgrading
        self._schedule: Schedule = question.schedule.again()
        self._known: dict[str, Fault] = {fault.id: fault for fault in question.schedule.faults}
        self._ordered: dict[str, Fault] = {}
        """Ordered faults that were neither injected nor rejected yet."""
        upgrade = question.upgrade
        self._damage = Damage.of(upgrade.missing) if upgrade is not None else WHOLE
        """The damage in the latest `predicted` frame."""
        self._prediction = question.prediction
        self.happened: list[Json] = []
        """All injections with their times."""
        self._states = deque([self._state_from(-inf)])
        """States in order of time. The first is the one in the latest tick."""
        self._missing: dict[str, Json] = {}
        self._stuck: dict[str, Stuck] = {}
        self.predicted: list[Json] = []
        """The payloads of all `predicted` frames."""

    def state(self, at_secs: float) -> State:
        """The network's state in the tick that ends at `at_secs`. Ticks must come in order."""
        while len(self._states) > 1 and self._states[1].at_secs < at_secs:
            self._states.popleft()
        return self._states[0]

    def _state_from(self, at_secs: float) -> State:
        active = bool(self._injector.active)
        part = self._upgrading.part if not self.happened else "during" if active else "after"
        cut_off, expected = self._cut_off_by(self._prediction), self._expected_by(self._prediction)
        return State(at_secs, part, frozenset(self._injector.dead), cut_off, expected)

    def is_tested(self, state: State) -> bool:
        """Whether hypotheses are tested: from the first fault on, or without a schedule always."""
        return state.part != "before" or not self._question.schedule.faults

    @property
    def missing(self) -> list[Json]:
        """Planned or ordered faults that were not injected, each with the reason."""
        return list(self._missing.values())

    def _expected_by(self, prediction: Prediction) -> Reading:
        stalled = len(self._cut_off_by(prediction))
        return Reading(prediction.ideal_bits_per_sec, prediction.abt_bits_per_sec, stalled)

    def _cut_off_by(self, prediction: Prediction) -> frozenset[int]:
        settings = self._question.settings
        return prediction.cut_off(settings.connections) if settings.delivery == "unicast" else frozenset()

    def act(self, at_secs: float, *, scheduled: bool) -> None:
        """Carries out new orders and, if `scheduled`, the faults that are due at `at_secs` of the
        measured time."""
        # A tick may be read late, so use the current time.
        at_secs = max(at_secs, self._clock.secs(time.monotonic_ns()))
        for stuck in list(self._stuck.values()):
            if stuck.tries < MOST_TRIES:
                self._do("recover", stuck.fault, at_secs, stuck.due_secs)
        if scheduled:
            for due in self._schedule.due(at_secs):
                if due.action == "recover" or at_secs < self._question.settings.seconds:
                    self._do(due.action, due.fault, at_secs, due.at_secs)
        for order in self._sink.orders():
            self._sink.done(order, self._carry_out(order, at_secs))
        if scheduled and self._upgrading.act(at_secs):
            self._predict(at_secs)
            self._states.append(self._state_from(at_secs))

    def stop_all(self, at_secs: float, why: str) -> Json:
        """Cancels scheduled faults, recovers active ones, and writes a frame. Returns
        `{ok, reason}`."""
        active = [(fault, self._schedule.ends_secs(fault.id)) for fault in self._injector.active.values()]
        self._schedule.cancel()
        self._ordered.clear()
        failed = [
            outcome
            for fault, due_secs in active
            if not (outcome := self._do("recover", fault, at_secs, due_secs))["ok"]
        ]
        confirmed = not failed and not self._injector.active
        self._sink.frame("stop-all", {"why": why, "recovered": confirmed, "at_secs": round(at_secs, 3)})
        return {"ok": confirmed, **({"reason": failed[0]["reason"]} if failed else {})}

    def end(self, at_secs: float) -> None:
        """Ends all faults after the run: refuses late orders, writes a frame for each fault that
        was not injected, and records why others could not be recovered."""
        for order in self._sink.orders():
            if order.fault is not None:
                self._ordered[order.fault.id] = order.fault.at(at_secs)
            self._sink.done(order, {"ok": False, "reason": NEVER})
        tried = {*self._missing, *(item["id"] for item in self.happened)}
        planned = (fault for fault in self._question.schedule.faults if fault.id not in tried)
        for fault in [*planned, *self._ordered.values()]:
            self._miss(fault, at_secs, NEVER)
        self._ordered.clear()
        for stuck in self._stuck.values():
            self._ended(
                stuck.fault, not_recovered=stuck.reason, overran_secs=round(max(at_secs - stuck.due_secs, 0.0), 3)
            )

    def _miss(self, fault: Fault, at_secs: float, reason: str) -> None:
        """Reports a fault that was not injected."""
        self._missing.setdefault(fault.id, {**fault.described(), "reason": reason})
        self._tell(fault, "failed", at_secs, {"ok": False, "reason": reason})

    def _tell(self, fault: Fault, state: str, at_secs: float, outcome: Json) -> None:
        times = {"at_secs": round(at_secs, 3), "planned_secs": fault.at_secs}
        self._sink.frame("fault", {**fault.described(), "state": state, **times, **outcome})

    def _carry_out(self, order: Order, at_secs: float) -> Json:
        if order.kind == "stop-all":
            return self.stop_all(at_secs, "requested")
        if order.kind == "upgrade":
            return self._upgrading.order(at_secs)
        if order.kind == "recover":
            fault = self._known.get(order.fault_id)
            if fault is None:
                return {"ok": False, "reason": f"There is no fault {order.fault_id} in this run."}
            due_secs = self._schedule.ends_secs(fault.id)
            self._schedule.cancel(fault.id)
            return self._do("recover", fault, at_secs, due_secs)
        assert order.fault is not None
        fault = order.fault.at(at_secs)
        self._known[fault.id] = self._ordered[fault.id] = fault
        self._schedule.add(fault)
        return {"ok": True}

    def _do(self, action: str, fault: Fault, at_secs: float, due_secs: float) -> Json:
        """Injects or recovers a fault that was due at `due_secs`, and writes a frame. Returns
        `{ok, reason}`: a failure does not end the session."""
        outcome: Json = {"ok": True}
        self._ordered.pop(fault.id, None)
        if action == "recover" and fault.id not in self._injector.active:
            return outcome  # a flapping fault may be off at its end, and a fault may never have been injected
        stuck = self._stuck.get(fault.id)
        if stuck is not None and action == "recover":
            due_secs = stuck.due_secs
        began_secs = max(at_secs, self._clock.secs(time.monotonic_ns()))
        try:
            at_nanos = self._injector.inject(fault) if action == "inject" else self._injector.recover(fault)
        except FabricGoneError:
            raise
        except ProblemError as error:
            outcome = {"ok": False, "reason": error.detail}
            if action == "inject":
                self._miss(fault, at_secs, error.detail)
                return outcome
            if stuck is not None:
                stuck.tries += 1
                return outcome  # the first try was reported
            self._stuck[fault.id] = Stuck(fault, min(due_secs, at_secs), error.detail)
        else:
            self._stuck.pop(fault.id, None)
            at_secs = max(at_secs, self._clock.secs(at_nanos))
            done_secs = max(at_secs, self._clock.secs(time.monotonic_ns()))
            self._keep_length(fault, due_secs, done_secs)
            self._remember(action, fault, round(at_secs, 3), at_nanos, began_secs - due_secs, done_secs - began_secs)
        self._tell(fault, STATES[action] if outcome["ok"] else "failed", at_secs, outcome)
        if outcome["ok"]:
            self._predict(at_secs)
            self._states.append(self._state_from(at_secs))
        return outcome

    def _keep_length(self, fault: Fault, due_secs: float, done_secs: float) -> None:
        """Shifts the remaining times of a fault after a late change, so that it keeps its length.
        Not for later changes of a flapping fault: they are carried out with ticks, and repeated
        shifts would add up."""
        late_secs = done_secs - due_secs
        if late_secs > LATE_SECS or due_secs == fault.at_secs:
            self._schedule.delay(fault.id, max(late_secs, 0.0))

    def _remember(
        self, action: str, fault: Fault, at_secs: float, at_nanos: int, late_secs: float, took_secs: float
    ) -> None:
        if action == "inject":
            times = {"injected_at_secs": at_secs, "recovered_at_secs": None, "at_nanos": at_nanos}
            slow = {"late_secs": late_secs, "took_secs": took_secs}
            long = {name: round(secs, 3) for name, secs in slow.items() if secs > LATE_SECS}
            self.happened.append({**fault.described(), **times, **long})
            return
        planned_secs = fault.flap_secs or (fault.until_secs or inf) - fault.at_secs
        is_late = late_secs > max(LATE_SECS, LONGER_SHARE * planned_secs)
        total_secs = late_secs + took_secs
        overran = {"overran_secs": round(total_secs, 3)} if is_late or total_secs > REVIVE_SECS else {}
        self._ended(fault, recovered_at_secs=at_secs, **overran)

    def _ended(self, fault: Fault, **fields: Any) -> None:
        for item in self.happened:
            if item["id"] == fault.id and item["recovered_at_secs"] is None:
                item.update(fields)

    def _predict(self, at_secs: float) -> None:
        """Writes the prediction for the network's current state, if the state has changed."""
        damage = Damage.of([*self._injector.active.values(), *self._upgrading.missing])
        if self._question.predicted_with is None or damage == self._damage:
            return
        self._damage = damage
        self._prediction = self._question.predicted_with(damage)
        expected = self._prediction.document()
        self.predicted.append({"at_secs": round(at_secs, 3), **damage.document(), **expected})
        self._sink.frame("predicted", self.predicted[-1])
