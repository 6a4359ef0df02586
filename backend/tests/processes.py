"""Real processes of the program for tests: started here, and ended here also after errors."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from functools import cache
from pathlib import Path
from typing import Any, Self

PROGRAM = [sys.executable, "-m", "cubeyard.cli"]


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
