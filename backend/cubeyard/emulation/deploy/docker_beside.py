"""Programs of users beside servers, as containers of a Docker engine that join the network of the server's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from docker.errors import APIError, ImageNotFound, NotFound
from docker.types import Ulimit

from cubeyard.emulation.deploy.beside import MAX_SAID, ImageRefusedError, ProgramState, shortened
from cubeyard.emulation.deploy.docker_engine import explained
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
from cubeyard.emulation.setup.user_images import Beside
from cubeyard.kit.disk import is_full

Json = dict[str, Any]

PULL_SECS = 300.0
"""For one image. The engine goes on with what it has begun; a further try finds that."""
NOBODY = "65534:65534"
FILE_BYTES = 256 * 1024 * 1024
"""Of one file, at most, for a program that may write its root: the engine limits no container's disk."""
MISSING = "cannot be had: {}"
FIX = "Check its name and the way to its registry, or pull it on the host of the engine."


def have(api: Any, image: str, server: str, check: Callable[[], None]) -> None:
    """Pulls it if the engine does not have it. Raises ImageRefusedError with the engine's words; `check` may raise to end it."""
    with explained():
        try:
            api.inspect_image(image)
        except ImageNotFound:
            pass
        else:
            return
    deadline = time.monotonic() + PULL_SECS
    with explained():
        try:
            for told in api.pull(image, stream=True, decode=True):
                check()
                if error := told.get("error"):
                    raise ImageRefusedError(server, image, MISSING.format(error), FIX)
                if time.monotonic() > deadline:
                    raise ImageRefusedError(
                        server, image, MISSING.format(f"not pulled after {PULL_SECS:.0f} s"), "Pull it beforehand."
                    )
        except APIError as error:
            if is_full(error):
                raise
            raise ImageRefusedError(server, image, MISSING.format(error.explanation or error), FIX) from error


def start(api: Any, owner: str, run_id: str, server: tuple[int, str], container: str, one: Beside) -> str:
    """Its id. Raises ImageRefusedError for one that the engine cannot start."""
    number, name = server
    host = api.create_host_config(
        network_mode=f"container:{container}",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true"],
        read_only=not one.writable,
        tmpfs={"/tmp": f"rw,noexec,nosuid,nodev,size={SCRATCH_BYTES},mode=1777"},  # noqa: S108 - its own
        mem_limit=MEMORY_BYTES,
        memswap_limit=MEMORY_BYTES,
        pids_limit=PROCESSES,
        ulimits=[Ulimit(name="fsize", soft=FILE_BYTES, hard=FILE_BYTES)],
        restart_policy={"Name": "no"},
        log_config={"type": "json-file", "config": {"max-size": "256k", "max-file": "1"}},
    )
    made = api.create_container(
        one.image,
        entrypoint=list(one.command) or None,
        name=beside_name(run_id, name),
        user=NOBODY,
        environment={**one.environment, MARK: run_id},
        labels={RUN: run_id, BESIDE: str(number), PLACE: owner},
        host_config=host,
        stop_signal="SIGKILL",
    )["Id"]
    try:
        api.start(made)
    except APIError as error:
        if is_full(error):
            raise
        why = f"does not start: {error.explanation or error}"
        raise ImageRefusedError(name, one.image, why, "See to its command.") from error
    return str(made)


def states(api: Any, owner: str, run_id: str, known: Iterable[str] = ()) -> dict[int, ProgramState]:
    """By server. Those whose end is `known`, by id, are not asked for their last words again."""
    labels = [f"{PLACE}={owner}", f"{RUN}={run_id}", BESIDE]
    told = set(known)
    found = {}
    for one in api.containers(all=True, filters={"label": labels}):
        state = ProgramState(one["Id"], one["ImageID"], None)
        if one["State"] in ("exited", "dead") and one["Id"] not in told:
            with suppress(NotFound):
                state = _ended(api, one)
        found[int(one["Labels"][BESIDE])] = state
    return found


def _ended(api: Any, one: Json) -> ProgramState:
    ended = api.inspect_container(one["Id"])["State"]
    said = api.logs(one["Id"], tail=5)[-4 * MAX_SAID :].decode(errors="replace")
    why = "it wanted more memory than it may have" if ended.get("OOMKilled") else ended.get("Error", "")
    return ProgramState(one["Id"], one["ImageID"], int(ended["ExitCode"]), shortened(why or said))
