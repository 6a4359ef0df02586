"""Free space on the disk of a Docker engine, which the engine's API does not report. Read from a
folder if this process sees the disk, else printed by a small container with the run's own image."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import structlog
from docker.errors import APIError

from cubeyard.emulation.deploy.docker_engine import root_here
from cubeyard.emulation.deploy.names import MARK, PLACE, RUN

log = structlog.get_logger(__name__)

Free = Callable[[], int | None]
"""Free bytes; None if unknown."""

MOUNTS = Path("/proc/self/mountinfo")
_CONTAINER = re.compile(r"/containers/([0-9a-f]{64})/")
PRINT = "while df -Pk / | tail -n 1; do sleep 1; done"
LOOK_SECS = 1.0
MEMORY_BYTES = 16 * 1024 * 1024
PROCESSES = 8


def unknown() -> None:
    return None


@contextmanager
def free_space(api: Any, owner: str, run_id: str, image: str) -> Iterator[Free]:
    """Measures the free space while the context lasts. `image` must have a shell, as it has if
    workers have one for terminals."""
    if (place := _seen(api)) is not None:
        yield lambda: shutil.disk_usage(place).free
        return
    made = ""
    try:
        try:
            made = _started(api, owner, run_id, image)
        except APIError as error:
            log.warning("engine_disk_unknown", run=run_id, error=str(error.explanation or error))
        yield _printed_by(api, made) if made else unknown
    finally:
        if made:
            with suppress(APIError):
                api.remove_container(made, force=True)


def _seen(api: Any) -> Path | None:
    """A folder on the engine's disk if this process sees one: the engine's own folder, or the root
    of this process if it runs in a container of the engine. None for an engine of another
    machine."""
    with suppress(APIError):
        if (root := root_here(api.info())) is not None:
            return root
    for container in set(_CONTAINER.findall(MOUNTS.read_text())):
        with suppress(APIError):
            api.inspect_container(container)
            return Path("/")
    return None


def _started(api: Any, owner: str, run_id: str, image: str) -> str:
    host = api.create_host_config(
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true"],
        read_only=True,
        mem_limit=MEMORY_BYTES,
        pids_limit=PROCESSES,
        log_config={"type": "json-file", "config": {"max-size": "64k", "max-file": "1"}},
    )
    made = str(
        api.create_container(
            image,
            entrypoint=["/bin/sh", "-c", PRINT],
            user="65534:65534",
            environment={MARK: run_id},
            labels={RUN: run_id, PLACE: owner},
            host_config=host,
            stop_signal="SIGKILL",
        )["Id"]
    )
    try:
        api.start(made)
    except BaseException:
        with suppress(APIError):
            api.remove_container(made, force=True)
        raise
    return made


def _printed_by(api: Any, container: str) -> Free:
    known: list[tuple[float, int | None]] = []

    def free() -> int | None:
        if not known or time.monotonic() - known[-1][0] > LOOK_SECS:
            size = None
            with suppress(APIError, IndexError, ValueError):
                size = int(api.logs(container, tail=1).split()[3]) * 1024
            known[:] = [(time.monotonic(), size)]
        return known[-1][1]

    return free
