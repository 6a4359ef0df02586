"""Carrying out an upgrade while the workload runs: the cables of one switch after those of another, each step a frame."""

from __future__ import annotations

from typing import Any

from cubeyard.emulation.deploy.deployment import Deployment
from cubeyard.emulation.faults.faults import Fault
from cubeyard.emulation.measure.recorder import Part
from cubeyard.emulation.session.injector import Injector
from cubeyard.emulation.session.sink import Sink
from cubeyard.emulation.setup.upgrade import Upgrade

Json = dict[str, Any]


class Upgrading:
    """Knows which cables are not plugged in yet."""

    def __init__(self, upgrade: Upgrade | None, run_id: str, deployment: Deployment, sink: Sink) -> None:
        self._upgrade = upgrade
        self._cables = Injector(run_id, deployment)
        self._sink = sink
        self._next = 0
        self._due_secs = upgrade.at_secs if upgrade is not None else None
        self.times: list[float] = []
        """When each step was done, on the session's clock."""

    @property
    def missing(self) -> list[Fault]:
        """What is not plugged in."""
        return list(self._cables.active.values())

    @property
    def part(self) -> Part:
        """Of the run: before the first step, during the upgrade, or after it."""
        if not self.times:
            return "before"
        return "during" if self.missing else "after"

    def unplug(self) -> None:
        """Before any packet: the plan's network does not have these cables."""
        for fault in self._upgrade.missing if self._upgrade is not None else ():
            self._cables.inject(fault)

    def order(self, at_secs: float) -> Json:
        """Begin now. `{ok, reason}`."""
        if self._upgrade is None:
            return {
                "ok": False,
                "reason": "The run has no plan to be upgraded to: give emulation.upgrade when it starts.",
            }
        if self.times:
            return {"ok": False, "reason": f"The upgrade began at {self.times[0]:.1f} s."}
        self._due_secs = at_secs
        return {"ok": True}

    def act(self, at_secs: float) -> bool:
        """Carry out the step that is due, if one is. Whether something was plugged in."""
        upgrade = self._upgrade
        if upgrade is None or self._due_secs is None or at_secs < self._due_secs or self._next >= len(upgrade.steps):
            return False
        step = upgrade.steps[self._next]
        self._cables.recover(step.cables)
        self._next += 1
        self._due_secs = at_secs + upgrade.step_secs
        self.times.append(round(at_secs, 3))
        done = {"step": self._next, "steps": len(upgrade.steps), "at_secs": round(at_secs, 3)}
        self._sink.frame("upgrade", {**step.described(), **done})
        return True

    def document(self, lost: int) -> Json | None:
        """For the report; None without an upgrade."""
        if self._upgrade is None:
            return None
        return {
            "title": self._upgrade.title,
            "steps": len(self._upgrade.steps),
            "steps_done": self._next,
            "began_at_secs": self.times[0] if self.times else None,
            "ended_at_secs": self.times[-1] if self.times and not self.missing else None,
            "connections_lost": lost,
        }
