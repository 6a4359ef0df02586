"""Bringing a run's servers up and taking them down: containers or plain namespaces, wired by the fabric."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import structlog

from cubeyard.emulation import images
from cubeyard.emulation.containers import Containers, DockerGoneError, explained
from cubeyard.emulation.fabric_client import FabricClient, FabricError, FabricGoneError
from cubeyard.emulation.fabric_process import NODE, program
from cubeyard.emulation.place import Place
from cubeyard.emulation.question import Question
from cubeyard.kit.disk import DiskFullError
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings

Json = dict[str, Any]
log = structlog.get_logger(__name__)

REMOVE_TRIES = 5
OnServers = Callable[[int, int], None]
"""Told how many servers there are and how many there will be; may raise to end it all."""


class Deployment:
    """The servers of one run."""

    def __init__(self, settings: Settings, place: Place, run_id: str, question: Question) -> None:
        self._settings = settings
        self._place = place
        self._run = run_id
        self._question = question
        self._containers: dict[int, str] = {}
        self.docker = Containers(place.name) if question.settings.mode == "containers" else None
        self.fabric: FabricClient | None = None

    def up(self, told: OnServers) -> Json:
        """Start and wire every server. The times it took, in seconds."""
        began = time.monotonic()
        self.fabric = FabricClient(self._place.socket)
        self._remove_leftovers()
        timers = self._question.settings.timers.model_dump()
        network = self._question.network.for_fabric(
            self._run, self._question.seed, self._question.settings.dataplane, timers
        )
        mounts = {
            int(one["id"]): str(one["mount"])
            for one in self.fabric.call("prepare", run=self._run, network=network)["servers"]
        }
        total = len(self._question.network.servers)
        started = prepared = time.monotonic()
        if self.docker is None:
            told(0, total)
            self.fabric.call("wire", run=self._run, plain=True)
        else:
            self._containers = self.docker.create(
                self._run,
                self._question.network,
                self._image(),
                mounts,
                raw_sockets=self._question.software,
                check=lambda done: told(done, total),
            )
            pids = self.docker.pids(self._containers)
            started = time.monotonic()
            self.fabric.call("wire", run=self._run, pids={str(server): pid for server, pid in pids.items()})
        ready = time.monotonic()
        told(total, total)
        return {
            "prepare_secs": round(prepared - began, 3),
            "containers_secs": round(started - prepared, 3),
            "wire_secs": round(ready - started, 3),
            "up_secs": round(ready - began, 3),
        }

    def _image(self) -> str:
        assert self.docker is not None
        binary = program(self._settings, NODE)
        if binary is None:
            raise ProblemError(503, "no-node", f"There is no {NODE} on this machine. `make setup` builds it.")
        with explained():
            return images.ensure(self.docker.api, binary)

    def _remove_leftovers(self) -> None:
        """Of an earlier attempt at the same run, whose worker died."""
        assert self.fabric is not None
        if self.docker is not None:
            self.docker.remove(self._run)
        self.fabric.call("destroy", run=self._run)

    def kill(self, server: int) -> None:
        assert self.docker is not None
        self.docker.kill(self._containers[server])

    def freeze(self, server: int) -> None:
        assert self.docker is not None
        self.docker.pause(self._containers[server])

    def thaw(self, server: int) -> None:
        assert self.docker is not None
        self.docker.unpause(self._containers[server])

    def revive(self, server: int) -> None:
        """Start a killed server again and give it its cables back."""
        assert self.docker is not None
        assert self.fabric is not None
        pid = self.docker.start(self._containers[server])
        self.fabric.call("wire", run=self._run, pids={str(server): pid})

    def all_ended(self) -> bool:
        """Whether none of the servers' containers lives."""
        return self.docker is not None and not self.docker.living(self._run)

    def down(self) -> Json:
        """Remove everything, whatever state it is in. Tries again for a while; what cannot be removed now is said.

        The containers go first: a dead server leaves nothing that the fabric would have to wait for.
        """
        began = time.monotonic()
        kept: list[str] = []
        if self.docker is not None:
            kept += self._persist("containers", lambda docker=self.docker: docker.remove(self._run))
            self.docker.close()
        kept += self._persist("wires", self._unwire)
        if self.fabric is not None:
            self.fabric.close()
        return {"down_secs": round(time.monotonic() - began, 3), "kept": kept}

    def _unwire(self) -> None:
        """On a new connection: the old one may have broken, or wait for an answer."""
        with FabricClient(self._place.socket) as fabric:
            fabric.call("destroy", run=self._run)

    def _persist(self, what: str, remove: Callable[[], object]) -> list[str]:
        for left in reversed(range(REMOVE_TRIES)):
            try:
                remove()
            except (DockerGoneError, FabricGoneError, FabricError, DiskFullError) as error:
                if left == 0:
                    log.warning("not_removed", run=self._run, what=what, error=error.detail)
                    return [f"{what}: {error.detail}"]
                time.sleep(0.2 * 2 ** (REMOVE_TRIES - left))
            else:
                return []
        return []
