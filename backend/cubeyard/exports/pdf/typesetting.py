"""Has a folder of sources typeset, in a process of its own, and hands the file over in pieces."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path

_CHUNK_BYTES = 1 << 18
_POLL_SECS = 0.5


class TypesettingError(RuntimeError):
    """The typesetter did not make a file: it was stopped, ran out of memory, or the template is at fault."""


def typeset(sources: Mapping[str, bytes], waiting: Callable[[float], None] | None = None) -> Iterator[bytes]:
    """The PDF of `main.typ`, which may read the other sources. Fonts are ours only: the same file on every machine.

    While the typesetter works, `waiting` is called about twice a second with the seconds so far. What it raises ends the
    typesetter and is passed on. Raises `TypesettingError` when no file was made.
    """
    here = resources.files("cubeyard.exports.pdf")
    with (
        tempfile.TemporaryDirectory(prefix="cubeyard-pdf-") as folder,
        resources.as_file(here.joinpath("fonts")) as fonts,
        resources.as_file(here.joinpath("typeset.py")) as program,
    ):
        for name, content in sources.items():
            (Path(folder) / name).write_bytes(content)
        _run([sys.executable, "-I", str(program), folder, str(fonts)], Path(folder) / "errors.txt", waiting)
        with (Path(folder) / "pack.pdf").open("rb") as pdf:
            while piece := pdf.read(_CHUNK_BYTES):
                yield piece


def _run(command: list[str], errors: Path, waiting: Callable[[float], None] | None) -> None:
    """Errors go to a file: nobody reads a pipe while the program works."""
    started = time.monotonic()
    with errors.open("w") as written, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=written) as process:
        try:
            while True:
                try:
                    process.wait(_POLL_SECS)
                    break
                except subprocess.TimeoutExpired:
                    if waiting is not None:
                        waiting(time.monotonic() - started)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise TypesettingError(errors.read_text()[-2000:])
