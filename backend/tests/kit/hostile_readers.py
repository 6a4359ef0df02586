"""Readers that succeed, refuse, crash or never end, for the tests of confined readers. Fast to
import, because each process imports them."""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path

from cubeyard.kit.errors import FieldError, ProblemError

MEBIBYTE = 1024 * 1024


def echo(data: bytes, *more: object) -> tuple[int, bytes, tuple[object, ...]]:
    return os.getpid(), data[:10], more


def secrets(_: bytes) -> list[str]:
    return [name for name in os.environ if name.startswith("CUBEYARD_") or name == "DATABASE_URL"]


def refusing(_: bytes) -> None:
    raise ProblemError(418, "teapot", "No.", errors=[FieldError(field="body.x", message="Short.", line=3)])


def broken(_: bytes) -> None:
    raise ZeroDivisionError("a mistake of the reader")


def endless(_: bytes) -> None:
    while True:
        pass


def waiting(_: bytes) -> None:
    time.sleep(60)


def told_and_waiting(data: bytes) -> None:
    Path(os.fsdecode(data)).write_text(str(os.getpid()))
    waiting(data)


def greedy(_: bytes) -> int:
    return len([bytearray(MEBIBYTE) for _ in range(4096)])


def wordy(_: bytes) -> list[bytes]:
    return [b"x" * MEBIBYTE] * 2


def crashing(_: bytes) -> None:
    ctypes.string_at(0)
