"""Runs the typesetter in separate processes and yields the file in pieces."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib import resources
from pathlib import Path

_CHUNK_BYTES = 1 << 18
_POLL_SECS = 0.5

Waiting = Callable[[float], None]


class TypesettingError(RuntimeError):
    """The typesetter made no file: it was stopped, ran out of memory, or the template has an
    error."""


def typeset(sources: Mapping[str, bytes], waiting: Waiting | None = None) -> Iterator[bytes]:
    """The PDF of `main.typ`, which can read the other sources. Only bundled fonts are used, so that
    the file is the same on every machine.

    While the typesetter works, `waiting` is called about twice a second with the elapsed seconds.
    An exception from it ends the typesetter and propagates. Raises `TypesettingError` when no file
    was made.
    """
    with _Workshop() as workshop:
        workshop.write(sources)
        workshop.run("typeset.py", workshop.fonts, waiting=waiting)
        yield from workshop.result()


def typeset_parts(
    shared: Mapping[str, bytes],
    parts: Sequence[Mapping[str, bytes]],
    binding: bytes,
    waiting: Callable[[int, float], None],
) -> Iterator[bytes]:
    """One PDF of several parts, each typeset by a separate process, so that memory is limited to
    that of the largest part.

    A part is `pack.json` for `main.typ` and, if it has QR codes, `codes.json` (see `stamp.py`);
    `binding` is `binding.json` of `bind.py`. `waiting` is called at the start of each part and
    during its typesetting, with the part's number and the elapsed seconds. A number past the last
    part means that the parts are being bound.
    """
    with _Workshop() as workshop:
        workshop.write(shared)
        for number, part in enumerate(parts):
            reported = _at(number, waiting)
            reported(0.0)
            workshop.write(part)
            workshop.run("typeset.py", workshop.fonts, waiting=reported)
            if "codes.json" in part:
                workshop.run("stamp.py", waiting=reported)
            workshop.keep(f"part-{number}.pdf")
        workshop.write({"binding.json": binding})
        reported = _at(len(parts), waiting)
        reported(0.0)
        workshop.run("bind.py", waiting=reported)
        yield from workshop.result()


def _at(number: int, waiting: Callable[[int, float], None]) -> Waiting:
    """Adapts `waiting` for all programs that process a part: it gets the seconds since the start of
    the part, not of the program."""
    started = time.monotonic()
    return lambda _: waiting(number, time.monotonic() - started)


class _Workshop:
    """A temporary folder with sources, the programs that run in it, and their output."""

    def __enter__(self) -> _Workshop:
        self._stack = ExitStack()
        here = resources.files("cubeyard.exports.pdf")
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="cubeyard-pdf-")))
        self._programs = {
            name: self._stack.enter_context(resources.as_file(here.joinpath(name)))
            for name in ("typeset.py", "stamp.py", "bind.py")
        }
        self.fonts = str(self._stack.enter_context(resources.as_file(here.joinpath("fonts"))))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def write(self, sources: Mapping[str, bytes]) -> None:
        for name, content in sources.items():
            (self._folder / name).write_bytes(content)

    def keep(self, name: str) -> None:
        (self._folder / "pack.pdf").rename(self._folder / name)

    def run(self, program: str, *words: str, waiting: Waiting | None) -> None:
        command = [sys.executable, "-I", str(self._programs[program]), str(self._folder), *words]
        _run(command, self._folder / "errors.txt", waiting)

    def result(self) -> Iterator[bytes]:
        with (self._folder / "pack.pdf").open("rb") as pdf:
            while piece := pdf.read(_CHUNK_BYTES):
                yield piece


def _run(command: list[str], errors: Path, waiting: Waiting | None) -> None:
    """Errors go to a file, because nothing reads a pipe while the program runs."""
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
