"""What a deployment asks of whatever runs its containers. Docker engines and Kubernetes clusters
answer it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, Protocol

from cubeyard.emulation.cluster.errors import ClusterGoneError, ClusterRefusedError
from cubeyard.emulation.deploy.beside import ProgramState
from cubeyard.emulation.deploy.docker_engine import DockerGoneError
from cubeyard.emulation.fabric.hosts import Host
from cubeyard.emulation.setup.user_images import Beside
from cubeyard.settings import Settings

GONE = (DockerGoneError, ClusterGoneError)
"""Whatever runs the containers does not answer: it may later."""
UNREACHED = (*GONE, ClusterRefusedError)
"""Nor can it be asked what it has."""

Signal = Callable[[str, int, Literal["kill", "pause", "resume"], str], None]
"""Makes the fabric signal the process of a run's server, where no engine does, and the container
beside it: its id, or empty."""

Isolate = Callable[[str, Mapping[int, str]], None]
"""Makes the fabric take down the network of a run's servers that somebody else has made: a
container in each, by server."""

Came = Callable[[Mapping[int, int | str]], None]
"""Takes servers that run, by what the fabric finds each by. May raise."""


class Containers(Protocol):
    """The containers of one owner on one host. Safe for several threads."""

    wired_by: Literal["pids", "containers"]
    """How the fabric finds a server: by its process, or by its container's id, which it looks for
    itself."""

    def image(self) -> str:
        """The servers' image; made where that is possible and it is missing."""
        ...

    def create(
        self,
        run_id: str,
        servers: Mapping[int, str],
        image: str,
        mounts: dict[int, str],
        *,
        host_names: Mapping[int, str],
        raw_sockets: bool,
        beside: Mapping[int, Beside],
        check: Callable[[int], None],
        came: Came,
    ) -> dict[int, str]:
        """One container a server (by id: its name), started, and those `beside` some. What it is
        called here, by server. Whatever is done to a container here is done to the one beside it.

        `check(so far)` is called now and then and may raise. `came` is told of all servers, at once
        or as they come. What is refused is refused before anything is made, as far as it can be
        known then; a server that ended at once is, too, with what it said.
        """
        ...

    def where(self) -> tuple[str, str] | None:
        """Address and id of the engine, for other processes; None for a cluster."""
        ...

    def kill(self, container: str) -> None: ...

    def start(self, container: str) -> int | str:
        """Start it again after a kill; what the fabric finds it by now."""
        ...

    def pause(self, container: str) -> None: ...

    def unpause(self, container: str) -> None: ...

    def runs(self) -> dict[str, list[str]]:
        """This owner's containers, by run, whatever their state."""
        ...

    def living(self, run_id: str) -> int:
        """How many of a run's containers run or are paused."""
        ...

    def programs(self, run_id: str, known: Iterable[str] = ()) -> dict[int, ProgramState]:
        """Those of users beside a run's servers, by server. Of those whose end is `known` (ids) the
        last words may be left out."""
        ...

    def take_over(self, run_id: str) -> None:
        """Remove what other owners, who were at this run before, have of it and nobody else can
        remove. Waits for nobody."""
        ...

    def remove(self, run_id: str, away: Collection[str] = ()) -> list[str]:
        """Remove every container of a run. Harmless to call again. Ids of those that may live on
        unknown to the engine. Those on hosts that are `away`, by name, are not waited for."""
        ...

    def answer(self) -> None:
        """Raises one of GONE if nobody answers within about a second."""
        ...

    def close(self) -> None:
        """Close connections. A later call opens another one."""
        ...


def containers_of(
    settings: Settings, owner: str, host: Host, signal: Signal | None = None, isolate: Isolate | None = None
) -> Containers:
    """Those of a host: pods where a cluster is set, else containers of its Docker engine."""
    if settings.cluster is not None:
        from cubeyard.emulation.deploy.pods import Pods

        return Pods(owner, settings.cluster, host.name, signal, isolate)
    from cubeyard.emulation.deploy.docker_containers import DockerContainers

    return DockerContainers(settings, owner, host.docker)


def each(work: Callable[[Any], None], items: Iterable[Any], at_a_time: int) -> None:
    """A few at a time. The first failure is raised, after those under way have ended; the rest are
    not begun."""
    failed = threading.Event()

    def one(item: Any) -> None:
        if failed.is_set():
            return
        try:
            work(item)
        except BaseException:
            failed.set()
            raise

    with ThreadPoolExecutor(at_a_time) as pool:
        for future in [pool.submit(one, item) for item in items]:
            future.result()
