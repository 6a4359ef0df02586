"""Runs a command as another user who cannot pass the folders above its files, as `/root`.

The folders keep their modes: in a mount namespace of the command an empty folder covers each closed
folder, and the command's own folders are bound into it at their paths. Root starts it as a separate
program: a process with threads must do little between fork and exec. [ours]
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path

MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
CLONE_NEWNS = 0x00020000
NO_NAMESPACE = 126


def main(request: str) -> None:
    given = json.loads(request)
    try:
        _open_passage(given["closed"], given["places"])
    except OSError as error:
        print(error.strerror)
        sys.exit(NO_NAMESPACE)
    os.setgroups([])
    os.setgid(given["gid"])
    os.setuid(given["uid"])
    os.execv(given["command"][0], given["command"])  # noqa: S606 - no shell between


def _open_passage(closed: list[str], places: list[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)

    def check(result: int) -> None:
        if result != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def mount(source: str, target: str, kind: bytes | None, flags: int, data: bytes | None = None) -> None:
        check(libc.mount(os.fsencode(source), os.fsencode(target), kind, ctypes.c_ulong(flags), data))

    check(libc.unshare(CLONE_NEWNS))
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    handles = {place: os.open(place, os.O_PATH | os.O_DIRECTORY) for place in places}
    mask = os.umask(0o022)
    for folder in closed:
        mount("tmpfs", folder, b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=0711,size=1m")
    for place, handle in handles.items():
        Path(place).mkdir(parents=True, exist_ok=True)
        mount(f"/proc/self/fd/{handle}", place, None, MS_BIND | MS_REC)
        os.close(handle)
    os.umask(mask)


if __name__ == "__main__":
    main(sys.argv[1])
