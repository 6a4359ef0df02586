"""A connection to a Docker engine, with the engine's errors as ours. The client is imported at the
first connection, since many machines have none."""

from __future__ import annotations

import os
import socket
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from cubeyard.emulation.deploy.contexts import context
from cubeyard.emulation.fabric.client import LOSS_OPTIONS
from cubeyard.kit.disk import DiskFullError, is_full
from cubeyard.kit.errors import ProblemError

Json = dict[str, Any]

HERE = "unix:///var/run/docker.sock"
MINIMUM_API = "1.40"
"""The API version of Docker 19.03."""


class DockerGoneError(ProblemError):
    """The Docker engine does not answer."""

    def __init__(self, error: Exception) -> None:
        super().__init__(503, "docker-gone", f"The Docker engine does not answer: {_short(error)}")


def _refuse_open(place: str, tls: Any) -> None:
    """Raises if anybody who reaches the engine's port becomes root, or if its identity is not
    checked, so that it can be impersonated."""
    if place.lower().startswith(("unix://", "http+unix://", "ssh://")):
        return
    if tls is None and not place.lower().startswith("https://"):
        why = "is refused without TLS: everybody who reaches that port is root there."
    elif tls is not None and not tls.verify:
        why = "is refused without verification of its certificate (DOCKER_TLS_VERIFY=1, or a context without skip-tls-verify)."
    else:
        return
    fix = "Take a context with host=ssh://HOST, or one with TLS keys."
    raise DockerGoneError(PermissionError(f"{place} {why} {fix}"))


def _short(error: Exception) -> str:
    from docker.errors import APIError

    text = str(error.explanation if isinstance(error, APIError) and error.explanation else error)
    return text if len(text) <= 300 else text[:299] + "…"


@contextmanager
def explained() -> Any:
    """Raises Docker's own errors as ours."""
    import requests
    from docker.errors import DockerException

    try:
        yield
    except (DockerException, requests.exceptions.RequestException) as error:
        if is_full(error):
            raise DiskFullError("the Docker engine", _data_root()) from error
        raise DockerGoneError(error) from error


def _data_root() -> Path | None:
    """The folder of the engine's images, if it is on this machine."""
    import requests
    from docker.errors import DockerException

    try:
        with closing(connect(5)) as api:
            return root_here(api.info())
    except (DockerException, requests.exceptions.RequestException, ProblemError):
        return None


def root_here(info: Json) -> Path | None:
    """The engine's own folder, if this process sees it. An engine of another machine, whose socket
    may be forwarded to here, usually has a folder with the same name."""
    root, memory_bytes = Path(info.get("DockerRootDir", "")), os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    is_here = (info.get("Name"), info.get("MemTotal")) == (socket.gethostname(), memory_bytes)
    return root if is_here and root.is_absolute() and root.exists() else None


def connect(secs: int, engine: str = "") -> Any:
    """A connection to an engine: a URL, a Docker context, or, if empty, the engine in DOCKER_HOST
    or this machine's.

    Raises DockerGoneError.
    """
    way = _way_to(engine)
    place = way.get("base_url", HERE)
    path = place.removeprefix("http+").removeprefix("unix://")
    if path != place and not Path(path).exists():
        raise DockerGoneError(FileNotFoundError(f"there is no {path}"))
    _refuse_open(place, way.get("tls"))
    import docker

    from cubeyard.emulation.deploy import docker_ssh

    with explained():
        if place.startswith("ssh://"):
            try:
                return docker_ssh.client(place, secs, MINIMUM_API)
            except ValueError as error:
                raise DockerGoneError(error) from error
        api = docker.APIClient(**{**way, "base_url": place}, timeout=secs, version=MINIMUM_API)
    if place.startswith(("tcp://", "https://")):
        _notice_loss(api)
    return api


def _notice_loss(api: Any) -> None:
    """Sets the connection up so that a call to a lost machine ends after LOST_SECS, before the
    call's own limit."""
    api.get_adapter(api.base_url).poolmanager.connection_pool_kw["socket_options"] = list(LOSS_OPTIONS)


def address(engine: str) -> str:
    """The URL or context by which another process can connect to the same engine."""
    return engine or str(_way_to("").get("base_url", HERE)).removeprefix("http+")


def _way_to(engine: str) -> Json:
    if not engine:
        from docker.utils import kwargs_from_env

        return dict(kwargs_from_env())
    way = {"base_url": engine} if "://" in engine else context(engine)
    if way is None:
        raise DockerGoneError(LookupError(f"there is no Docker context {engine}; `docker context ls` lists them"))
    return way


def engine_version(secs: int = 5, engine: str = "") -> str:
    """The engine's version, over a separate connection. Raises DockerGoneError if it does not
    respond in time."""
    with explained(), closing(connect(secs, engine)) as api:
        return str(api.version().get("Version", "?"))
