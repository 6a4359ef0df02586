"""The servers' image: one static binary, and the tools of a shell where this machine has them. It
is made here and pulled from nowhere. Its tag is its content's hash.
"""

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
"""Label of an image, and of its containers, that has a shell."""
PROGRAM = "/cubeyard-node"
RUN = "/run"
RUN_BYTES = 4 * 1024 * 1024
"""Size of `/run`, in the container's memory: a server writes nothing to the host's disk."""
MOUNT = f"{RUN}/cubeyard"
"""Where the run's folder of a server is inside it, read-only."""


def ensure(api: Any, binary: Path) -> str:
    """The image's name; built if the engine does not have it. Older ones of ours that nothing uses
    are removed."""
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
    """A tar with the program, the tools, and the folder that the run's own is mounted on; the same
    bytes for the same files."""
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
