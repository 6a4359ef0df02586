"""Starts and stops a run's servers: containers or plain namespaces, wired by the fabric."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

import structlog

from cubeyard.emulation.cluster.errors import NodeAwayError
from cubeyard.emulation.deploy.beside import ProgramState
from cubeyard.emulation.deploy.containers import UNREACHED, Containers, Isolate, Signal, containers_of
from cubeyard.emulation.fabric.client import FabricClient, FabricError, FabricGoneError, is_away
from cubeyard.emulation.fabric.fabrics import Fabrics, on_every
from cubeyard.emulation.fabric.hosts import Host, Hosts, Spread
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.setup.estimate import KEPT_BYTES, server_bytes
from cubeyard.emulation.setup.question import Question
from cubeyard.experiments.emulation import Emulation
from cubeyard.kit.disk import DiskFullError
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings

Json = dict[str, Any]
log = structlog.get_logger(__name__)

REMOVE_TRIES = 5
OnServers = Callable[[int, int], None]
"""Called with the number of started servers and the total; can raise to cancel the start."""


class Deployment:
    """The servers of one run, on one host or spread over several."""

    def __init__(self, settings: Settings, place: Place, run_id: str, question: Question) -> None:
        self._settings = settings
        self._run = run_id
        self._question = question
        every = Hosts.of(settings, place)
        self._owner = every.owner
        if every.said_of_nodes:
            log.info("nodes_left_out", run=run_id, said=every.said_of_nodes)
        self.spread = Spread.of(question.network, every.every)
        self._containers: dict[int, str] = {}
        containers = question.settings.mode == "containers"
        self.engines: list[Containers] = []
        if containers:
            hosts = enumerate(self.spread.hosts)
            self.engines = [
                containers_of(settings, self._owner, host, self._signal_on(at), self._isolate_on(at))
                for at, host in hosts
            ]
        """One for each host; empty if servers are plain namespaces."""
        self.fabrics: Fabrics | None = None
        self._away: frozenset[str] = frozenset()
        """Names of the hosts that do not respond at all."""

    @property
    def in_containers(self) -> bool:
        return bool(self.engines)

    def where(self) -> list[tuple[str, str]]:
        """Address and id of each Docker engine that responds."""
        answers = []
        for engine in self.engines:
            with suppress(*UNREACHED):
                answers.append(engine.where())
        return [answer for answer in answers if answer is not None]

    @property
    def containers(self) -> list[str]:
        """Ids of the servers' containers, after they were started."""
        return list(self._containers.values())

    def up(self, told: OnServers) -> Json:
        """Starts and wires every server. Returns the durations of the steps in seconds."""
        began = time.monotonic()
        self._take_over()
        self.fabrics = Fabrics(self.spread.hosts)
        self._remove_leftovers()
        self._check_hosts()
        settings = self._question.settings
        network = self._question.network.for_fabric(
            self._run,
            self._question.seed,
            settings.dataplane,
            dict(settings.timers),
            fair_queues=settings.queues == "fair",
            balance=settings.balance,
            congestion=_congestion(settings),
            subflows=(settings.subflows or 0) if settings.protocol == "mptcp" else None,
        )
        prepared_by_host = self.fabrics.each(
            "prepare",
            lambda host: {
                "run": self._run,
                "network": self.spread.for_fabric(network, self._owner, host),
                # If this process is killed, the fabric ends the run shortly after its connection
                # closes.
                "ends_with_caller": True,
            },
        )
        total = len(self._question.network.servers)
        started = prepared = time.monotonic()
        if not self.in_containers:
            told(0, total)
            self.fabrics.call("wire", run=self._run, plain=True)
        else:
            started = self._start([_mounts(item) for item in prepared_by_host], told)
        ready = time.monotonic()
        told(total, total)
        return {
            "prepare_secs": round(prepared - began, 3),
            "containers_secs": round(started - prepared, 3),
            "wire_secs": round(ready - started, 3),
            "up_secs": round(ready - began, 3),
        }

    def _start(self, mounts: list[dict[int, str]], on_servers: OnServers) -> float:
        """Starts a container for each server on all hosts in parallel, and wires them as they
        start. Returns the time when the last one had started."""
        total = len(self._question.network.servers)
        so_far = [0] * len(self.engines)

        def start(host: int) -> float:
            engine = self.engines[host]
            servers = self.spread.servers(self._question.network, host)
            unwired = set(servers)
            last_came = time.monotonic()

            def count(done: int) -> None:
                so_far[host] = done
                on_servers(sum(so_far), total)

            def wire(servers: Mapping[int, int | str]) -> None:
                nonlocal last_came
                last_came = time.monotonic()
                unwired.difference_update(servers)
                self._wire(host, servers, rest_follows=bool(unwired))

            containers = engine.create(
                self._run,
                servers,
                engine.image(),
                mounts[host],
                host_names=self._question.network.host_names,
                raw_sockets=self._question.in_user_space,
                beside={server: item for server, item in self._question.beside.items() if server in servers},
                check=count,
                came=wire,
            )
            self._containers.update(containers)
            return last_came

        return max(on_every(self.spread.hosts, start))

    def _wire(self, host: int, started: Mapping[int, int | str], *, rest_follows: bool = False) -> None:
        """Wires started servers, each given by the id by which the fabric finds it."""
        assert self.fabrics is not None
        by = {self.engines[host].wired_by: {str(server): item for server, item in started.items()}}
        self.fabrics.on(host, "wire", run=self._run, rest_follows=rest_follows, **by)

    def _signal_on(self, host: int) -> Signal:
        """The function that signals containers, for engines that cannot."""

        def signal(run_id: str, server: int, what: str, beside: str) -> None:
            assert self.fabrics is not None
            self.fabrics.on(host, "signal", run=run_id, server=server, signal=what, beside=beside or None)

        return signal

    def _isolate_on(self, host: int) -> Isolate:
        """The function that removes the network that an engine has given to containers."""

        def isolate(run_id: str, containers: Mapping[int, str]) -> None:
            assert self.fabrics is not None
            result = {str(server): container for server, container in containers.items()}
            self.fabrics.on(host, "isolate", run=run_id, containers=result)

        return isolate

    def _take_over(self) -> None:
        """Takes the run over from an earlier worker that died or lost its connection, before an
        unreachable host can end the run."""
        if self.in_containers:
            on_every(self.spread.hosts, lambda host: self.engines[host].take_over(self._run))

    def _remove_leftovers(self) -> None:
        """Removes leftovers of an earlier attempt at the same run, also from the fabrics."""
        assert self.fabrics is not None
        if self.in_containers:
            on_every(self.spread.hosts, lambda host: self.engines[host].remove(self._run))
        self.fabrics.call("destroy", run=self._run)

    def _check_hosts(self) -> None:
        """Checks that each host has the same build and enough memory for its part. This machine was
        checked before."""
        assert self.fabrics is not None
        if not self._settings.spread:
            return
        each = server_bytes(self._question.settings)
        for number, (host, result) in enumerate(zip(self.spread.hosts, self.fabrics.call("host"), strict=True)):
            if other := host.other_build(result):
                raise ProblemError(409, "other-build", host.said(other))
            servers = len(self.spread.servers(self._question.network, number))
            room = max(int(result["memory_free_bytes"]) - KEPT_BYTES, 0) // each
            if servers > room:
                raise ProblemError(
                    422,
                    "too-large-emulation",
                    f"Host {host.name} would take {servers:,} servers; it has the memory for {room:,}. "
                    "Give it a smaller share, or take a slice of the plan.",
                )

    def _engine_of(self, server: int) -> Containers:
        return self.engines[self.spread.host_of[server]]

    def kill(self, server: int) -> None:
        self._engine_of(server).kill(self._containers[server])

    def freeze(self, server: int) -> None:
        self._engine_of(server).pause(self._containers[server])

    def thaw(self, server: int) -> None:
        self._engine_of(server).unpause(self._containers[server])

    def revive(self, server: int) -> None:
        """Starts a killed server again, and connects its cables."""
        self._wire(self.spread.host_of[server], {server: self._engine_of(server).start(self._containers[server])})

    def ask_engines(self) -> None:
        """Raises one of GONE, with the host's name, if an engine does not respond."""
        on_every(self.spread.hosts, lambda host: self.engines[host].answer())

    def ended_on(self) -> list[Host]:
        """The hosts on which none of the servers' containers is alive."""
        living = on_every(self.spread.hosts, lambda host: self.engines[host].living(self._run))
        return [host for host, alive in zip(self.spread.hosts, living, strict=True) if not alive]

    def programs(self, known: Iterable[str] = ()) -> dict[int, ProgramState]:
        """The users' programs, by server. If a program's end is `known` (ids), its last output may
        be omitted."""
        if not self._question.beside:
            return {}
        result = on_every(self.spread.hosts, lambda host: self.engines[host].programs(self._run, known))
        return {server: state for some in result for server, state in some.items()}

    def look_for_hosts(self) -> None:
        """Detects hosts that are away, so that the removal of the run does not wait for them."""
        others = [host for host in self.spread.hosts if host.name]
        away = on_every(others, lambda host: is_away(others[host].socket)) if others else []
        self._away = frozenset(host.name for host, gone in zip(others, away, strict=True) if gone)

    def down(self) -> Json:
        """Removes everything, in any state. Retries for a while; returns what could not be
        removed."""
        began = time.monotonic()
        kept = [item for some in on_every(self.spread.hosts, self._down_on) for item in some]
        if self.fabrics is not None:
            self.fabrics.close()
        return {"down_secs": round(time.monotonic() - began, 3), "kept": kept}

    def _down_on(self, host: int) -> list[str]:
        """Removes a host's containers before the network: then the fabric need not wait for
        servers."""
        kept, strays = [], []
        name = self.spread.hosts[host].name
        if self.in_containers:
            engine = self.engines[host]
            if name in self._away and not _answers(engine):
                kept.append(self.spread.hosts[host].said(f"containers: {name} is away; they go when it is back."))
            else:
                kept += self._persist(host, "containers", lambda: strays.extend(engine.remove(self._run, self._away)))
            engine.close()
        if name in self._away:
            return [
                *kept,
                self.spread.hosts[host].said(f"wires: {name} is away; its fabric removes them when it is back."),
            ]
        return kept + self._persist(host, "wires", lambda: self._unwire(host, strays))

    def _unwire(self, host: int, strays: list[str]) -> None:
        """Removes a host's network over a new connection: the old one may be broken, or wait for an
        answer."""
        there = self.spread.hosts[host]
        with FabricClient(there.socket, looks=bool(there.name)) as fabric:
            fabric.call("destroy", run=self._run, owner=self._owner, strays=strays)

    def _persist(self, host: int, what: str, remove: Callable[[], object]) -> list[str]:
        for left in reversed(range(REMOVE_TRIES)):
            try:
                remove()
            except (*UNREACHED, FabricGoneError, FabricError, DiskFullError) as error:
                if left == 0 or isinstance(error, NodeAwayError):
                    message = self.spread.hosts[host].said(f"{what}: {error.detail}")
                    log.warning("not_removed", run=self._run, error=message)
                    return [message]
                time.sleep(0.2 * 2 ** (REMOVE_TRIES - left))
            else:
                return []
        return []


def _answers(engine: Containers) -> bool:
    try:
        engine.answer()
    except UNREACHED:
        return False
    return True


def _congestion(settings: Emulation) -> Json | None:
    """The settings of congestion notification in the fabric's format."""
    request = settings.congestion
    return None if request is None else {"queue_bytes": round(request.queue_kb * 1000), "answers": request.answers}


def _mounts(prepared: Json) -> dict[int, str]:
    """By host: the folder that each server's container must mount."""
    return {int(server["id"]): str(server["mount"]) for server in prepared["servers"]}
