"""Users' programs on servers, as containers of a Docker engine that join the network of a server's
container."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from docker.errors import APIError, NotFound
from docker.types import Ulimit

from cubeyard.emulation.deploy.beside import MAX_SAID, NO_COMMAND, ImageRefusedError, ProgramState, shortened
from cubeyard.emulation.deploy.docker_pulls import Image
from cubeyard.emulation.deploy.names import (
    BESIDE,
    MARK,
    MEMORY_BYTES,
    PLACE,
    PROCESSES,
    RUN,
    SCRATCH_BYTES,
    beside_name,
)
from cubeyard.emulation.setup.user_images import Beside, without_command
from cubeyard.kit.disk import is_full

Json = dict[str, Any]

NOBODY = "65534:65534"
FILE_BYTES = 256 * 1024 * 1024
"""Largest file of a program with a writable root: the engine does not limit the disk of a
container."""
SCRATCH = f"rw,noexec,nosuid,nodev,size={SCRATCH_BYTES},mode=1777"
"""Options of the program's own memory for files, used instead of the engine's disk."""
WRITABLE = "cubeyard.writable"
"""Label of a program that may write its root."""
WRITABLE_BYTES = 256 * 1024 * 1024
"""Maximum total size of the files of such a program; if it exceeds this, it is ended."""


def start(
    api: Any, owner: str, run_id: str, server: tuple[int, str], container: str, beside: Beside, image: Image
) -> str:
    """Starts a program and returns its id. Raises ImageRefusedError if the engine cannot start
    it."""
    number, name = server
    host = api.create_host_config(
        network_mode=f"container:{container}",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true"],
        read_only=not beside.writable,
        tmpfs=dict.fromkeys(["/tmp", *image.volumes], SCRATCH),  # noqa: S108 - its own
        mem_limit=MEMORY_BYTES,
        memswap_limit=MEMORY_BYTES,
        pids_limit=PROCESSES,
        ulimits=[Ulimit(name="fsize", soft=FILE_BYTES, hard=FILE_BYTES)],
        restart_policy={"Name": "no"},
        log_config={"type": "json-file", "config": {"max-size": "256k", "max-file": "1"}},
    )
    try:
        made = api.create_container(
            image.identity,
            entrypoint=list(beside.command) or None,
            name=beside_name(run_id, name),
            user=NOBODY,
            environment={**beside.environment, MARK: run_id},
            labels={RUN: run_id, BESIDE: str(number), PLACE: owner, **({WRITABLE: "1"} if beside.writable else {})},
            host_config=host,
            stop_signal="SIGKILL",
        )["Id"]
        api.start(made)
    except APIError as error:
        if is_full(error):
            raise
        if NO_COMMAND in str(error.explanation).lower():
            raise without_command(beside) from error
        why = f"does not start: {error.explanation or error}"
        raise ImageRefusedError(name, beside.image, why, "See to its command.") from error
    return str(made)


def states(api: Any, owner: str, run_id: str, known: Iterable[str] = ()) -> dict[int, ProgramState]:
    """The programs, by server. If a program's end is `known` (ids), its last output is not
    requested again."""
    labels = [f"{PLACE}={owner}", f"{RUN}={run_id}", BESIDE]
    reported = set(known)
    excessive = _end_excessive(api, labels)
    result = {}
    for container in api.containers(all=True, filters={"label": labels}):
        state = ProgramState(container["Id"], container["ImageID"], None)
        if container["State"] in ("exited", "dead") and container["Id"] not in reported:
            with suppress(NotFound):
                state = _ended(api, container, excessive)
        result[int(container["Labels"][BESIDE])] = state
    return result


def _end_excessive(api: Any, labels: list[str]) -> set[str]:
    """Ends programs that have written more than allowed; returns their ids."""
    ended = set()
    for program in api.containers(filters={"label": [*labels, WRITABLE]}, size=True):
        if program.get("SizeRw", 0) > WRITABLE_BYTES:
            with suppress(APIError):
                api.kill(program["Id"])
            ended.add(program["Id"])
    return ended


def _ended(api: Any, container: Json, excessive: set[str]) -> ProgramState:
    ended = api.inspect_container(container["Id"])["State"]
    message = api.logs(container["Id"], tail=5)[-4 * MAX_SAID :].decode(errors="replace")
    why = "it wanted more memory than it may have" if ended.get("OOMKilled") else ended.get("Error", "")
    if container["Id"] in excessive:
        why = f"it wrote more than {WRITABLE_BYTES // 2**20} MiB"
    return ProgramState(container["Id"], container["ImageID"], int(ended["ExitCode"]), shortened(why or message))
