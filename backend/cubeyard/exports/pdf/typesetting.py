"""Has a folder of sources typeset, in a process of its own, and hands the file over in pieces."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path

_CHUNK_BYTES = 1 << 18


class TypesettingError(RuntimeError):
    """The typesetter did not make a file: it was stopped, ran out of memory, or the template is at fault."""


def typeset(sources: Mapping[str, bytes], typeset_done: Callable[[], None] | None = None) -> Iterator[bytes]:
    """The PDF of `main.typ`, which may read the other sources. Fonts are ours only: the same file on every machine."""
    here = resources.files("cubeyard.exports.pdf")
    with (
        tempfile.TemporaryDirectory(prefix="cubeyard-pdf-") as folder,
        resources.as_file(here.joinpath("fonts")) as fonts,
        resources.as_file(here.joinpath("typeset.py")) as program,
    ):
        for name, content in sources.items():
            (Path(folder) / name).write_bytes(content)
        done = subprocess.run(
            [sys.executable, "-I", str(program), folder, str(fonts)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise TypesettingError(done.stderr[-2000:])
        if typeset_done is not None:
            typeset_done()
        with (Path(folder) / "pack.pdf").open("rb") as pdf:
            while piece := pdf.read(_CHUNK_BYTES):
                yield piece
