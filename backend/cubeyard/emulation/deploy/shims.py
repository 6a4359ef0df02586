"""Shims of containers whose Docker engine was killed: they keep the containers' processes alive,
and nothing else ends them."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

NAME = "containerd-shim"
"""The kernel keeps 15 characters of a program's name."""


def end_shims(containers: Collection[str]) -> int:
    """Ends the shims of these containers on this machine, and their children. Returns the number of
    shims. Considers only processes of root."""
    ended = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if process.stat().st_uid != 0 or (process / "comm").read_text().strip() != NAME:
                continue
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if any(word == "-id" and container in containers for word, container in pairwise(words)):
                for number in (int(process.name), *list(_children(process))):
                    os.kill(number, signal.SIGKILL)
                ended += 1
    return ended


def _children(process: Path) -> Iterator[int]:
    for thread in process.glob("task/*/children"):
        yield from map(int, thread.read_text().split())
