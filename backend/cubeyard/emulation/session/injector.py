"""Injects and recovers faults: the fabric changes links and switches, Docker kills and pauses
servers."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

from cubeyard.emulation.deploy.containers import GONE
from cubeyard.emulation.deploy.deployment import Deployment
from cubeyard.emulation.fabric.client import FabricGoneError
from cubeyard.emulation.faults.faults import Fault, Strike
from cubeyard.experiments.fault_kinds import KINDS
from cubeyard.kit.errors import ProblemError

Json = dict[str, Any]


class Injector:
    """Tracks the active faults."""

    def __init__(self, run_id: str, deployment: Deployment) -> None:
        self._run = run_id
        self._deployment = deployment
        self.active: dict[str, Fault] = {}
        self._standing: dict[str, list[Strike]] = {}
        """The targets of each active fault that are not recovered yet, by the fault's id."""

    @property
    def dead(self) -> set[int]:
        """Servers that are off, killed or paused: their flows cannot survive."""
        return {strike.target["server"] for strike in self._every if "server" in strike.target}

    @property
    def _every(self) -> list[Strike]:
        return [strike for strikes in self._standing.values() for strike in strikes]

    @property
    def _containers(self) -> bool:
        return self._deployment.in_containers

    def inject(self, fault: Fault) -> int:
        """Injects the fault at all its targets. Returns the time of the first injection, by the
        machine's monotonic clock.

        If a target fails, recovers the others and raises ProblemError. Targets that could not be
        recovered stay active.
        """
        struck_nanos = time.monotonic_ns()
        self.active[fault.id] = fault
        standing = self._standing.setdefault(fault.id, [])
        for strike in fault.strikes:
            if strike in standing:
                continue
            try:
                self._break(strike)
            except ProblemError:
                with suppress(ProblemError):
                    self.recover(fault)
                raise
            standing.append(strike)
        return struck_nanos

    def recover(self, fault: Fault) -> int:
        """Recovers the fault. A target that another fault also affects stays in that state until
        the other fault ends.

        Raises ProblemError for the first target that cannot be recovered, after recovering all
        others: it stays active, and the caller can retry.
        """
        failed: ProblemError | None = None
        for strike in list(self._standing.get(fault.id, [])):
            try:
                self._mend(strike)
            except (FabricGoneError, *GONE):
                raise
            except ProblemError as error:
                failed = failed or error
            else:
                self._standing[fault.id].remove(strike)
        if failed is not None:
            raise failed
        self._standing.pop(fault.id, None)
        self.active.pop(fault.id, None)
        return time.monotonic_ns()

    def _by_docker(self, strike: Strike) -> bool:
        """Whether the Docker engine alone injects it."""
        return self._containers and KINDS[strike.kind].process_only

    def _held_by_another(self, strike: Strike) -> bool:
        """Whether another fault affects the same server process. Only for faults injected through
        Docker; the fabric tracks all others itself."""
        process = KINDS[strike.kind].process
        others = (other for other in self._every if other != strike and other.target == strike.target)
        return any(KINDS[other.kind].process == process for other in others)

    def _break(self, strike: Strike) -> None:
        assert self._deployment.fabrics is not None
        if self._by_docker(strike):
            server = strike.target["server"]
            if KINDS[strike.kind].process == "ends":
                self._deployment.kill(server)
            else:
                self._deployment.freeze(server)
            return
        self._deployment.fabrics.inject(self._run, strike.for_fabric())
        if self._containers and KINDS[strike.kind].process == "ends":
            try:
                self._deployment.kill(strike.target["server"])
            except ProblemError:
                with suppress(ProblemError):
                    self._deployment.fabrics.call("recover", run=self._run, fault=strike.id)
                raise

    def _mend(self, strike: Strike) -> None:
        assert self._deployment.fabrics is not None
        if self._containers and KINDS[strike.kind].process and not self._held_by_another(strike):
            server = strike.target["server"]
            if KINDS[strike.kind].process == "pauses":
                self._deployment.thaw(server)
            else:
                self._deployment.revive(server)
                if any(
                    KINDS[other.kind].process == "pauses" and other.target == strike.target for other in self._every
                ):
                    self._deployment.freeze(server)
        if not self._by_docker(strike):
            self._deployment.fabrics.call("recover", run=self._run, fault=strike.id)
