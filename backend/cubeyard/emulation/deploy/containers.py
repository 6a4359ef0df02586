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
"""The engine cannot list its containers either."""

Signal = Callable[[str, int, Literal["kill", "pause", "resume"], str], None]
"""Makes the fabric signal the process of a run's server, for engines that cannot, and its user
program's container: the id, or empty."""

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
        """Starts one container per server (name by id), and the user programs `beside` some of
        them. Returns the container's id, by server. Later operations on a container also apply to
        its user program.

        `check(number started)` is called from time to time and can raise. `came` gets all servers,
        at once or as they start. Errors are raised before anything is created if possible; a server
        that exits immediately raises an error with its output.
        """
        ...

    def where(self) -> tuple[str, str] | None:
        """Address and id of the engine, for other processes; None for a cluster."""
        ...

    def kill(self, container: str) -> None: ...

    def start(self, container: str) -> int | str:
        """Starts it again after a kill; returns the new process for the fabric."""
        ...

    def pause(self, container: str) -> None: ...

    def unpause(self, container: str) -> None: ...

    def runs(self) -> dict[str, list[str]]:
        """This owner's containers, by run, in any state."""
        ...

    def living(self, run_id: str) -> int:
        """How many of a run's containers run or are paused."""
        ...

    def programs(self, run_id: str, known: Iterable[str] = ()) -> dict[int, ProgramState]:
        """The user programs of a run, by server. For programs whose end is `known` (ids) the last
        output can be omitted."""
        ...

    def take_over(self, run_id: str) -> None:
        """Remove what other owners, who were at this run before, have of it and nobody else can
        remove. Waits for nobody."""
        ...

    def remove(self, run_id: str, away: Collection[str] = ()) -> list[str]:
        """Removes every container of a run; can be called repeatedly. Returns the ids of containers
        that may still run without the engine's knowledge. Does not wait for containers on hosts
        that are `away`, by name."""
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
