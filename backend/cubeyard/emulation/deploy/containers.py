"""The interface of a deployment to its containers. Docker engines and Kubernetes clusters implement
it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal, Protocol

from cubeyard.emulation.cluster.errors import ClusterGoneError, ClusterRefusedError
from cubeyard.emulation.deploy.beside import ProgramState
from cubeyard.emulation.deploy.docker_engine import DockerGoneError
from cubeyard.emulation.deploy.manifests import announced, no_announcement
from cubeyard.emulation.fabric.hosts import Host
from cubeyard.emulation.setup.user_images import Beside
from cubeyard.settings import LOCAL_IMAGES, Settings

GONE = (DockerGoneError, ClusterGoneError)
"""The container engine does not respond; it may be available again later."""
UNREACHED = (*GONE, ClusterRefusedError)
"""Errors after which the engine's containers are unknown."""

Signal = Callable[[str, int, Literal["kill", "pause", "resume"], str], None]
"""Makes the fabric send a signal to a run's server, for engines that cannot do it, and to the
container of its user program (the id, or empty)."""

Isolate = Callable[[str, Mapping[int, str]], None]
"""Makes the fabric remove the network that an engine has given to servers of a run. The mapping has
a container for each server."""

Came = Callable[[Mapping[int, int | str]], None]
"""Called with started servers, each with the id by which the fabric finds it. May raise."""


class Containers(Protocol):
    """The containers of one owner on one host. Safe for several threads."""

    wired_by: Literal["pids", "containers"]
    """How the fabric finds a server: by its process, or by the id of its container, whose process
    the fabric finds itself."""

    def image(self) -> str:
        """The servers' image. Builds it if it is missing and this is possible."""
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
        """Starts one container per server (name by id), and the user programs `beside` some of
        them. Returns the container's id, by server. Later operations on a container also apply to
        its user program.

        `check(number started)` is called from time to time and may raise. `came` is called with the
        started servers, once or several times. Errors are raised before anything is created if
        possible; a server that exits immediately raises an error with its output.
        """
        ...

    def where(self) -> tuple[str, str] | None:
        """Address and id of the engine, for other processes; None for a cluster."""
        ...

    def kill(self, container: str) -> None: ...

    def start(self, container: str) -> int | str:
        """Starts a container again after a kill; returns the id by which the fabric finds the new
        one."""
        ...

    def pause(self, container: str) -> None: ...

    def unpause(self, container: str) -> None: ...

    def runs(self) -> dict[str, list[str]]:
        """This owner's containers in any state, by run."""
        ...

    def living(self, run_id: str) -> int:
        """Number of a run's containers that are running or paused."""
        ...

    def programs(self, run_id: str, known: Iterable[str] = ()) -> dict[int, ProgramState]:
        """The user programs of a run, by server. If a program's end is `known` (ids), its last
        output may be omitted."""
        ...

    def take_over(self, run_id: str) -> None:
        """Removes containers of this run that earlier owners of it have left and nobody else can
        remove. Does not wait."""
        ...

    def remove(self, run_id: str, away: Collection[str] = ()) -> list[str]:
        """Removes every container of a run; can be called repeatedly. Returns the ids of containers
        that may still run without the engine's knowledge. Does not wait for containers on hosts
        that are `away`, by name."""
        ...

    def answer(self) -> None:
        """Raises one of GONE if the engine does not respond within about a second."""
        ...

    def close(self) -> None:
        """Closes the connections. A later call opens a new one."""
        ...


def containers_of(
    settings: Settings, owner: str, host: Host, signal: Signal | None = None, isolate: Isolate | None = None
) -> Containers:
    """The containers of a host: pods if a cluster is configured, else containers of the host's
    Docker engine."""
    if settings.cluster is not None:
        from cubeyard.emulation.deploy.pods import Pods

        local = LOCAL_IMAGES in settings.registries  # the node's image may be another than the registry's
        return Pods(
            owner,
            settings.cluster,
            host.name,
            signal,
            isolate,
            local_images=local,
            announce=no_announcement if local else partial(announced, settings),
            image_bytes=settings.image_bytes,
        )
    from cubeyard.emulation.deploy.docker_containers import DockerContainers

    return DockerContainers(settings, owner, host.docker)


def each(work: Callable[[Any], None], items: Iterable[Any], at_a_time: int) -> None:
    """Calls `work` for each item, a few in parallel. After a failure no further items are started;
    the first failure is raised when the running ones have ended."""
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
