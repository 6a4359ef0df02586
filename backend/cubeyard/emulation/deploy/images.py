"""The servers' image: one static binary, and the programs of a shell if this machine has them. It
is built here, never pulled. Its tag is the hash of its content."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path
from typing import Any

from cubeyard.emulation.deploy.tools import Tools

REPOSITORY = "cubeyard-node"
LABEL = "cubeyard.image"
SHELL_LABEL = "cubeyard.shell"
"""Label of images, and their containers, that have a shell."""
PROGRAM = "/cubeyard-node"
RUN = "/run"
RUN_BYTES = 4 * 1024 * 1024
"""Size of `/run`, which is in the container's memory, so that a server writes nothing to the host's
disk."""
MOUNT = f"{RUN}/cubeyard"
"""Where a container sees the run's folder of its server, read-only."""


def ensure(api: Any, binary: Path) -> str:
    """The image's name. Builds the image if the engine does not have it, and removes older ones of
    ours that are unused."""
    from docker.errors import ImageNotFound

    tools = Tools.of_machine()
    layer = _layer(binary.read_bytes(), tools)
    tag = hashlib.sha256(layer).hexdigest()[:16]
    name = f"{REPOSITORY}:{tag}"
    try:
        api.inspect_image(name)
    except ImageNotFound:
        api.import_image_from_data(
            layer,
            repository=REPOSITORY,
            tag=tag,
            changes=[
                f"LABEL {LABEL}={tag}",
                *([f"LABEL {SHELL_LABEL}=1"] if tools is not None else []),
                f'ENTRYPOINT ["{PROGRAM}"]',
            ],
        )
        _forget_others(api, name)
    return name


def _layer(content: bytes, tools: Tools | None) -> bytes:
    """A tar archive with the program, the tools, and the folder for the run's mount. Equal files
    give equal bytes."""
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as tar:
        for folder in ("run", MOUNT[1:]):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        entry = tarfile.TarInfo(PROGRAM[1:])
        entry.size, entry.mode = len(content), 0o755
        tar.addfile(entry, io.BytesIO(content))
        if tools is not None:
            tools.put(tar)
    return held.getvalue()


def _forget_others(api: Any, name: str) -> None:
    from docker.errors import APIError

    for image in api.images(filters={"label": LABEL}):
        for other in image.get("RepoTags") or []:
            if other != name and other.startswith(f"{REPOSITORY}:"):
                try:
                    api.remove_image(other)
                except APIError:
                    continue  # a container of another run still has it
