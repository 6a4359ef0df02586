"""Standard output that may be closed or full, and a terminal's settings. If the output cannot be
written, a measured report is saved to a file."""

from __future__ import annotations

import codecs
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EBADF, EDQUOT, EFBIG, ENOSPC, EROFS
from pathlib import Path

import typer

STDOUT = 1
DISK = frozenset({EDQUOT, EFBIG, ENOSPC, EROFS})
"""Errors of writing that name no file."""


class OutputError(OSError):
    """Standard output, or a file of the command's, cannot be written."""

    what = "Standard output"
    kept: Path | None = None
    """The file that has the report instead."""

    def __str__(self) -> str:
        instead = f" The report is in {self.kept}." if self.kept is not None else ""
        return f"{self.what} cannot be written: {self.strerror}.{instead}"


class RawOutput(io.RawIOBase):
    """The descriptor of standard output. After a failure it accepts all data, so that exit
    succeeds."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._failed = False

    def write(self, data: object) -> int:
        view = memoryview(data)  # pyright: ignore[reportArgumentType]
        if self._failed:
            return view.nbytes
        try:
            if self._descriptor is None:
                raise OSError(EBADF, "it is closed")
            return os.write(self._descriptor, view)
        except BrokenPipeError:
            self._failed = True
            raise
        except OSError as error:
            self._failed = True
            raise OutputError(error.errno, error.strerror) from error

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        if self._descriptor is None:
            raise io.UnsupportedOperation("fileno")
        return self._descriptor

    def isatty(self) -> bool:
        return self._descriptor is not None and os.isatty(self._descriptor)


def prepare() -> None:
    """Raises errors of standard output as OutputError, and drops variables that would confuse
    libraries."""
    for name in ("COLUMNS", "LINES"):
        value = os.environ.get(name, "1")
        if not value.isdecimal() or int(value) == 0:
            del os.environ[name]
    if os.environ.get("NO_COLOR"):
        # Bold and dim are escape codes too; a terminal without abilities gets none.
        os.environ["TERM"] = "dumb"
    if not all(stream is not None and stream.isatty() for stream in (sys.stdout, sys.stderr)):
        # Typer takes GITHUB_ACTIONS and PY_COLORS for a terminal, also where its help goes to a
        # file.
        os.environ["_TYPER_FORCE_DISABLE_TERMINAL"] = "1"
    old = sys.stdout
    if old is None:
        # Occupies the descriptor's number, which a socket would get otherwise.
        while os.open(os.devnull, os.O_RDWR) < STDOUT:
            pass
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the end of the process
    raw = RawOutput(None if old is None else STDOUT)
    encoding = getattr(old, "encoding", None) or "utf-8"
    # A character that the encoding lacks is no reason to lose a report.
    errors = getattr(old, "errors", None) if codecs.lookup(encoding).name == "utf-8" else "backslashreplace"
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding, errors, line_buffering=raw.isatty())


def finish() -> None:
    """Write the rest of the buffer. Raises OutputError."""
    sys.stdout.flush()


def save(path: Path, option: str, data: bytes) -> None:
    """Writes to the file of an option. Raises OutputError."""
    try:
        path.write_bytes(data)
    except OSError as error:
        failed = OutputError(error.errno, f"{error.strerror}: {path}")
        failed.what = option
        raise failed from error


@contextmanager
def kept(name: str, content: Callable[[], bytes]) -> Iterator[None]:
    """For the output of a report that cannot be computed again: on failure the report is written to
    a file, and the command exits with 1."""
    try:
        yield
        sys.stdout.flush()
    except (OutputError, BrokenPipeError) as error:
        failed = error if isinstance(error, OutputError) else OutputError(error.errno, "its reader has left")
        failed.kept = _keep(name, content())
        print(f"error: {failed}", file=sys.stderr)
        raise typer.Exit(1) from None


def _keep(name: str, content: bytes) -> Path | None:
    for folder in (Path.cwd(), Path(tempfile.gettempdir()), Path("/var/tmp"), Path.home()):  # noqa: S108 - any with room
        path = folder / name
        try:
            path.write_bytes(content)
        except OSError:
            with suppress(OSError):
                path.unlink()
        else:
            return path
    return None
