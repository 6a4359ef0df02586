"""Making faults happen and end: the fabric breaks links and switches, Docker kills and freezes servers."""

from __future__ import annotations

import time
from typing import Any

from cubeyard.emulation.deploy import Deployment
from cubeyard.emulation.faults import BY_ENGINE, KINDS, Fault, Strike

Json = dict[str, Any]


class Injector:
    """Knows what is broken now."""

    def __init__(self, run_id: str, deployment: Deployment) -> None:
        self._run = run_id
        self._deployment = deployment
        self.active: dict[str, Fault] = {}

    @property
    def dead(self) -> set[int]:
        """Servers that are off, killed or frozen: what they send and receive is nobody's to save."""
        strikes = [strike for fault in self.active.values() for strike in fault.strikes]
        return {strike.target["server"] for strike in strikes if KINDS[strike.kind] == "server"}

    @property
    def _containers(self) -> bool:
        return self._deployment.in_containers

    def inject(self, fault: Fault) -> int:
        """Break everything that the fault strikes. When the first of it was broken, by the machine's monotonic clock."""
        struck_nanos = time.monotonic_ns()
        self.active[fault.id] = fault
        for strike in fault.strikes:
            self._break(strike)
        return struck_nanos

    def recover(self, fault: Fault) -> int:
        """Mend it. What another fault holds broken too stays so until that one ends as well."""
        for strike in fault.strikes:
            self._mend(fault, strike)
        self.active.pop(fault.id, None)
        return time.monotonic_ns()

    def recover_all(self) -> int:
        for fault in list(self.active.values()):
            self.recover(fault)
        return time.monotonic_ns()

    def _held_by_another(self, fault: Fault, strike: Strike) -> bool:
        """Of what Docker does: of everything else the fabric knows by itself."""
        dead = {"server-killed", "server-off"}
        kinds = dead if strike.kind in dead else {strike.kind}
        others = [other for one in self.active.values() if one.id != fault.id for other in one.strikes]
        return any(other.kind in kinds and other.target == strike.target for other in others)

    def _break(self, strike: Strike) -> None:
        assert self._deployment.fabrics is not None
        if self._containers and strike.kind in BY_ENGINE:
            server = strike.target["server"]
            if strike.kind == "server-killed":
                self._deployment.kill(server)
            else:
                self._deployment.freeze(server)
            return
        self._deployment.fabrics.inject(self._run, strike.for_fabric())
        if self._containers and strike.kind == "server-off":
            self._deployment.kill(strike.target["server"])

    def _mend(self, fault: Fault, strike: Strike) -> None:
        assert self._deployment.fabrics is not None
        if self._containers and strike.kind in (*BY_ENGINE, "server-off") and not self._held_by_another(fault, strike):
            server = strike.target["server"]
            if strike.kind == "server-frozen":
                self._deployment.thaw(server)
            else:
                self._deployment.revive(server)
        if not (self._containers and strike.kind in BY_ENGINE):
            self._deployment.fabrics.call("recover", run=self._run, fault=strike.id)
