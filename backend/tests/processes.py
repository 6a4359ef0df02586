"""Real processes of the program for tests: started here, and ended here also after errors."""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from functools import cache
from pathlib import Path
from typing import Any, Self

PROGRAM = [sys.executable, "-m", "cubeyard.cli"]
COMMAND_SECS = 300
NO_DATABASE = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:9/nothing"}
"""An address without a database: every connection fails."""
NO_BYTECODE, BYTECODE_AT = "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith("CUBEYARD_") and key != "DATABASE_URL"
    }
    if kept.pop(NO_BYTECODE, None) and BYTECODE_AT not in kept:
        kept[BYTECODE_AT] = bytecode_folder()
    return {**kept, "CUBEYARD_HOME": str(home), "CUBEYARD_LOG_LEVEL": "info", **more}


@cache
def bytecode_folder() -> str:
    """A folder for compiled modules, for tests that must leave none next to the sources: otherwise
    each program would compile all of them again, 1.6 s per start."""
    folder = tempfile.mkdtemp(prefix="cubeyard-tests-bytecode-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def command(
    home: Path, *arguments: str, stdin: bytes = b"", text: bool = False, **more: str
) -> subprocess.CompletedProcess[Any]:
    """`cubeyard ARGUMENTS`, by a fork of a process that has imported it (`program.py`). Tests of
    the process itself, its signals and its terminal start `PROGRAM`."""
    with tempfile.TemporaryDirectory(prefix="cubeyard-tests-command-") as name:
        folder = Path(name)
        for stream, data in (("in", stdin), ("out", b""), ("err", b"")):
            (folder / stream).write_bytes(data)
        given = environment(home, **more)
        request = {"arguments": arguments, "environment": given, "at": str(Path.cwd()), "folder": name}
        forks = _forks()
        assert forks.stdin is not None
        assert forks.stdout is not None
        forks.stdin.write(json.dumps(request).encode() + b"\n")
        forks.stdin.flush()
        if not select.select([forks.stdout], [], [], COMMAND_SECS)[0]:
            os.killpg(forks.pid, signal.SIGKILL)
            _forks.cache_clear()
            raise subprocess.TimeoutExpired([*PROGRAM, *arguments], COMMAND_SECS, stderr=(folder / "err").read_bytes())
        status = int(forks.stdout.readline())
        out, err = ((folder / stream).read_bytes() for stream in ("out", "err"))
    if text:
        return subprocess.CompletedProcess([*PROGRAM, *arguments], status, out.decode(), err.decode())
    return subprocess.CompletedProcess([*PROGRAM, *arguments], status, out, err)


@cache
def _forks() -> subprocess.Popen[bytes]:
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.program"],
        cwd=Path(__file__).parents[1],
        env=environment(Path.home()),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    atexit.register(started.communicate)
    return started


class Server:
    """`cubeyard run` on a port that the system chooses."""

    def __init__(self, home: Path, *arguments: str, **more: str) -> None:
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed when the server is
        self.process = subprocess.Popen(
            [*PROGRAM, "run", "--port", "0", *arguments],
            env=environment(home, **more),
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )

    def __enter__(self) -> Self:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("Cubeyard is at "), self.said()
        self.base = line.split()[-1]
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        self.log.close()

    def said(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        given = {"content-type": "application/json", **(headers or {})}
        request = urllib.request.Request(self.base + path, data=data, method=method, headers=given)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                raw = answer.read()
                status = answer.status
        except urllib.error.HTTPError as error:
            raw, status = error.read(), error.code
        try:
            return status, json.loads(raw)
        except ValueError:
            return status, raw
