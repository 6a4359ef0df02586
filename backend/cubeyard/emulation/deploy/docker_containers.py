"""Servers as Docker containers without a Docker network and capabilities, and with labels that name
their owner."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

from docker.errors import APIError, NotFound
from docker.types import Mount

from cubeyard.emulation.deploy import docker_beside, docker_pulls, images
from cubeyard.emulation.deploy.beside import ProgramState, refuse_failed
from cubeyard.emulation.deploy.containers import Came, each
from cubeyard.emulation.deploy.docker_disk import free_space
from cubeyard.emulation.deploy.docker_engine import address, connect, engine_version, explained
from cubeyard.emulation.deploy.names import BESIDE, MARK, MEMORY_BYTES, PLACE, PROCESSES, RUN, SERVER, container_name
from cubeyard.emulation.fabric.client import FabricGoneError
from cubeyard.emulation.fabric.process import NODE, program, why_missing
from cubeyard.emulation.setup.user_images import Beside
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings

Json = dict[str, Any]

AT_A_TIME = 4
"""Parallel starts. More are no faster, since the engine starts containers one after the other.
[measured]"""
CALL_SECS = 60


@contextmanager
def _folder_there(mount: str) -> Iterator[None]:
    """The fabric creates the folder to be mounted. If the fabric dies, the next one removes the
    folder."""
    try:
        yield
    except APIError as error:
        message = str(error)
        if "bind source path does not exist" in message or (
            mount in message and "no such file or directory" in message
        ):
            raise FabricGoneError(f"cubeyard-fabric went away while servers were started: {mount} is gone.") from error
        raise


class DockerContainers:
    """The containers of one owner on one Docker engine."""

    wired_by: Literal["pids", "containers"] = "pids"

    def __init__(self, settings: Settings, owner: str, engine: str = "") -> None:
        self._settings = settings
        self._owner = owner
        self._engine = engine
        self._local = threading.local()
        self._opened: list[Any] = []
        self._beside: dict[str, str] = {}
        """By server container: the container of its user program, which gets the same
        operations."""

    @property
    def api(self) -> Any:
        """The connection of the current thread."""
        if getattr(self._local, "api", None) is None:
            self._local.api = connect(CALL_SECS, self._engine)
            self._opened.append(self._local.api)
        return self._local.api

    def image(self) -> str:
        """The image with one static binary and nothing else, which is built here."""
        binary = program(self._settings, NODE)
        if binary is None:
            raise ProblemError(503, "no-node", " ".join(why_missing(NODE)))
        with explained():
            return images.ensure(self.api, binary)

    def answer(self) -> None:
        engine_version(1, self._engine)

    def where(self) -> tuple[str, str]:
        with explained():
            return address(self._engine), str(self.api.info()["ID"])

    def close(self) -> None:
        """Closes the connections of all threads. A later call opens a new one."""
        self._local = threading.local()
        while self._opened:
            self._opened.pop().close()

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
        """Creates and starts one container per server (name by id). Returns the container's id, by
        server. `check(number started)` is called before each and may raise. `came` is called once
        with all servers: the engine keeps all processors busy, so earlier calls would gain
        nothing."""
        made: dict[int, str] = {}
        lock = threading.Lock()
        first_of = {item.image: servers[server] for server, item in sorted(beside.items(), reverse=True)}
        pulled = self._pulled(run_id, image, first_of, lambda: check(0))

        def one(server: int) -> None:
            check(len(made))
            with explained(), _folder_there(mounts[server]):
                named = (server, servers[server], host_names[server])
                container = self._create(run_id, named, image, mounts[server], raw_sockets)
                self.api.start(container)
                if server in beside:
                    item = beside[server]
                    self._beside[container] = docker_beside.start(
                        self.api, self._owner, run_id, named[:2], container, item, pulled[item.image]
                    )
            with lock:
                made[server] = container

        each(one, servers, AT_A_TIME)
        check(len(made))
        if beside:
            pictures = {server: item.image for server, item in beside.items()}
            refuse_failed(servers, pictures, lambda: self.programs(run_id))
        came(self._processes(made))
        return made

    def _pulled(
        self, run_id: str, image: str, images: Mapping[str, str], check: Callable[[], None]
    ) -> dict[str, docker_pulls.Image]:
        """Pulls the users' images."""
        if not images:
            return {}
        with ExitStack() as meanwhile:
            with explained():
                free = meanwhile.enter_context(free_space(self.api, self._owner, run_id, image))
            return docker_pulls.have_all(self._settings, self.api, run_id, images, check, free)

    def _create(self, run_id: str, server: tuple[int, str, str], image: str, mount: str, raw_sockets: bool) -> str:
        number, name, host_name = server
        host = self.api.create_host_config(
            network_mode="none",
            cap_drop=["ALL"],
            cap_add=["NET_RAW"] if raw_sockets else None,
            security_opt=["no-new-privileges:true"],
            read_only=True,
            # Not `binds`: for these the engine creates missing folders, which would remain after
            # the fabric is killed.
            mounts=[Mount(images.MOUNT, mount, type="bind", read_only=True)],
            tmpfs={images.RUN: f"rw,nosuid,nodev,noexec,size={images.RUN_BYTES},mode=0755"},
            mem_limit=MEMORY_BYTES,
            pids_limit=PROCESSES,
            restart_policy={"Name": "no"},
            log_config={"type": "json-file", "config": {"max-size": "256k", "max-file": "1"}},
        )
        return self.api.create_container(
            image,
            name=container_name(run_id, name),
            hostname=host_name,
            environment={MARK: run_id},
            labels={RUN: run_id, SERVER: str(number), PLACE: self._owner},
            host_config=host,
            stop_signal="SIGKILL",
        )["Id"]

    def _processes(self, containers: dict[int, str]) -> dict[int, int | str]:
        """The process of each server. Raises if one has already ended, with its output."""
        pids: dict[int, int | str] = {}

        def one(server: int) -> None:
            with explained():
                state = self.api.inspect_container(containers[server])["State"]
                if not state["Running"] or not state["Pid"]:
                    message = self.api.logs(containers[server], tail=5).decode(errors="replace").strip()
                    raise ProblemError(
                        500, "server-ended", f"Server {server} ended at once: {message or state['Error']}"
                    )
            pids[server] = state["Pid"]

        each(one, containers, AT_A_TIME)
        return pids

    def kill(self, container: str) -> None:
        self._both(container, self.api.kill)

    def start(self, container: str) -> int | str:
        """Starts a container again after a kill, and returns its new process. Its user program
        joins the new network."""
        with explained():
            self.api.start(container)
            if container in self._beside:
                self.api.start(self._beside[container])
            return self.api.inspect_container(container)["State"]["Pid"]

    def pause(self, container: str) -> None:
        self._both(container, self.api.pause)

    def unpause(self, container: str) -> None:
        self._both(container, self.api.unpause)

    def _both(self, container: str, change: Callable[[str], object]) -> None:
        """Applies a change to both containers, first to the server's, because it is measured."""
        self._unless_so(lambda: change(container))
        if container in self._beside:
            self._unless_so(lambda: change(self._beside[container]))

    def _unless_so(self, change: Callable[[], object]) -> None:
        """Ignores refusals of Docker to kill a dead container or to pause a paused one (409): then
        the state is already right."""
        with explained():
            try:
                change()
            except APIError as error:
                if error.status_code not in (304, 409, 500):
                    raise

    def runs(self) -> dict[str, list[str]]:
        """Ids of this owner's containers in any state, by run."""
        with explained():
            listed = self._listed()
        result: dict[str, list[str]] = {}
        for item in listed:
            result.setdefault(item["Labels"].get(RUN, ""), []).append(item["Id"])
        return result

    def living(self, run_id: str) -> int:
        """Number of a run's servers that are running or paused."""
        with explained():
            result = self.api.containers(filters={"label": [f"{PLACE}={self._owner}", f"{RUN}={run_id}"]})
        return sum(BESIDE not in container["Labels"] for container in result)

    def programs(self, run_id: str, known: Iterable[str] = ()) -> dict[int, ProgramState]:
        with explained():
            return docker_beside.states(self.api, self._owner, run_id, known)

    def take_over(self, run_id: str) -> None:
        """Workers that share hosts share their engines, so containers of an earlier worker have the
        names that the new ones need. Removes them."""
        with explained():
            listed = self.api.containers(all=True, filters={"label": [f"{RUN}={run_id}"]})
        self._remove([container["Id"] for container in listed if container["Labels"].get(PLACE) != self._owner])

    def remove(self, run_id: str, away: Collection[str] = ()) -> list[str]:  # noqa: ARG002 - an engine removes its own at once
        """Removes every container of a run; can be called repeatedly.

        Returns the containers that never ran according to the engine. If the engine was killed
        while it started a container, the container's process survives without an owner: the fabric
        ends it.
        """
        with explained():
            listed = self._listed(f"{RUN}={run_id}")
        self._remove([container["Id"] for container in listed])
        # A run that ended before its first program may have images too.
        with explained():
            docker_pulls.forget(self._settings, self.api, run_id)
        return [container["Id"] for container in listed if container["State"] == "created"]

    def _remove(self, containers: list[str]) -> None:
        def one(container: str) -> None:
            with explained():
                try:
                    self.api.remove_container(container, force=True, v=True)
                except NotFound:
                    return
                except APIError as error:
                    if error.status_code != 409:  # its removal is under way
                        raise

        each(one, containers, AT_A_TIME)

    def _listed(self, *labels: str) -> list[Json]:
        return self.api.containers(all=True, filters={"label": [f"{PLACE}={self._owner}", *labels]})
