"""The program with its modules imported: each command is a fork of this process, because the start
of Python and the imports take longer than most commands. `processes.command` starts it.

A request is a line of JSON on standard input, its answer the exit status on standard output.
Modules that a command imported are imported here, in their order, before the next.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any


def requests() -> Any:
    """Answers requests; in a fork, returns the request of its command."""
    with open(0, "rb", closefd=False) as lines:
        for line in lines:
            request = json.loads(line)
            process = os.fork()
            if process == 0:
                return request
            _, status = os.waitpid(process, 0)
            loaded = Path(request["folder"], "loaded")
            names = loaded.read_text().split() if loaded.exists() else []
            os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())
            for name in names:
                with suppress(Exception):
                    import_module(name)
    return None


def become(request: Any) -> None:
    folder = Path(request["folder"])
    known = set(sys.modules)
    for number, (name, flags) in enumerate([("in", os.O_RDONLY), ("out", os.O_WRONLY), ("err", os.O_WRONLY)]):
        opened = os.open(folder / name, flags)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["at"])
    atexit.register(
        lambda: (folder / "loaded").write_text("\n".join(name for name in sys.modules if name not in known))
    )
    sys.argv = ["cubeyard", *request["arguments"]]
    runpy.run_module("cubeyard.cli", run_name="__main__", alter_sys=True)


if __name__ == "__main__" and (own := requests()):
    become(own)
