"""Builds an image from unmodified programs of this machine, with the libraries they need and
nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from tests.deployment.engine import Docker


def image_of(
    docker: Docker,
    folder: Path,
    *programs: str,
    name: str = "cubeyard-test-programs",
    command: Sequence[str] | None = None,
) -> str:
    """Builds an image and returns its name. Its programs are on PATH, as on this machine; `command`
    is the default command of a container."""
    files: set[str] = set()
    for program in programs:
        file = shutil.which(program)
        assert file is not None, f"this machine has no {program}: make setup-test installs it"
        listed = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
        files |= {file, *re.findall(r"(/\S+) \(0x", listed)}
    layer = folder / "programs.tar"
    with tarfile.open(layer, "w", dereference=True) as tar:
        for file in sorted(files):
            tar.add(file)
        scratch = tarfile.TarInfo("tmp")
        scratch.type, scratch.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(scratch)
    change = ["--change", f"CMD {json.dumps(list(command))}"] if command else []
    docker.run("import", *change, str(layer), name)
    return name
