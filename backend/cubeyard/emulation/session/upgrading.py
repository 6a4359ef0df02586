"""Carries out an upgrade while the workload runs: one switch after another, with a frame for each
step."""

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
    """Carries out the steps, and tracks how the current network differs from the run's, which has
    the cables of both plans."""

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
        """Parts of the run's network with no or less capacity: cables that are not plugged in (yet,
        or any more), and ports that are still slow."""
        return list(self._cables.active.values())

    @property
    def part(self) -> Part:
        """The part of the run: before the first step, during the upgrade, or after it."""
        if not self.times:
            return "before"
        return "after" if self._ended else "during"

    @property
    def _ended(self) -> bool:
        return self._upgrade is not None and self._next == len(self._upgrade.steps)

    def unplug(self) -> None:
        """Before any packet: unplugs the cables, and lowers the rates, that the plan's own network
        does not have."""
        for fault in self._upgrade.missing if self._upgrade is not None else ():
            self._cables.inject(fault)

    def order(self, at_secs: float) -> Json:
        """Starts the upgrade now. Returns `{ok, reason}`."""
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
        """Carries out the next step if it is due; returns whether one was."""
        upgrade = self._upgrade
        if upgrade is None or self._due_secs is None or at_secs < self._due_secs or self._next >= len(upgrade.steps):
            return False
        step = upgrade.steps[self._next]
        # A cable that is moved must be pulled before it is plugged in again.
        if step.after.strikes:
            self._cables.inject(step.after)
        self._cables.recover(step.before)
        self._next += 1
        self._due_secs = at_secs + upgrade.step_secs
        self.times.append(round(at_secs, 3))
        done = {"step": self._next, "steps": len(upgrade.steps), "at_secs": round(at_secs, 3)}
        self._sink.frame("upgrade", {**step.described(), **done})
        return True

    def document(self, lost: int) -> Json | None:
        """The upgrade's part of the report; None without an upgrade."""
        if self._upgrade is None:
            return None
        return {
            "title": self._upgrade.title,
            "steps": len(self._upgrade.steps),
            "steps_done": self._next,
            "began_at_secs": self.times[0] if self.times else None,
            "ended_at_secs": self.times[-1] if self._ended else None,
            "connections_lost": lost,
        }
