"""Acts inside a run's namespaces: sends frames that no kernel stack would send, and runs unmodified
programs."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from tests.deployment.engine import Docker

T = TypeVar("T")

SEND = """
import contextlib, socket, sys, time
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((sys.argv[1], 0))
for line in sys.stdin:
    with contextlib.suppress(OSError):  # a frame that is dropped on its way out raises immediately
        out.send(bytes.fromhex(line))
    time.sleep(0.002)
"""


def _vectors() -> Any:
    """The generator of the dataplane's test vectors, which builds frames without any code of the
    engines."""
    file = Path(__file__).parents[4] / "emulator" / "crates" / "dataplane" / "vectors" / "bcube" / "make.py"
    spec = importlib.util.spec_from_file_location("vectors", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


frames = _vectors()


def namespaces() -> set[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in listed.splitlines() if line.startswith("cy-")}


def wait_for_server(before: set[str], server: int) -> str:
    """Waits until the flows of a starting run have begun; returns the file of a server's namespace.
    Raises after 30 s."""

    def found() -> str | None:
        ours = (named(namespace) for namespace in namespaces() - before if namespace.endswith(f"-{server}"))
        return next((item for item in ours if is_busy(item)), None)

    return wait_for(found)


def wait_for(poll: Callable[[], T | None]) -> T:
    """Waits for a result and returns it. Raises after 30 s."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if (item := poll()) is not None:
            return item
        time.sleep(0.1)
    raise AssertionError("it has not come in 30 s")


def named(namespace: str) -> str:
    """The file of the namespace with this name."""
    return f"/run/netns/{namespace}"


def is_busy(file: str) -> bool:
    """Whether TCP connections exist in a namespace."""
    return "ESTAB" in enter(file, "ss", "-Htan", check=False).stdout


def busy_servers(docker: Docker, count: int) -> list[tuple[str, str]] | None:
    """The servers' containers in order, each with the file of its namespace, once flows have begun
    in all of them."""
    listed = docker.run("ps", "--format", '{{.Label "cubeyard.server"}} {{.ID}}', "--filter", "label=cubeyard.server")
    ids = [line.split()[1] for line in sorted(listed.stdout.splitlines())]
    if len(ids) < count:
        return None
    pids = docker.run("inspect", "--format", "{{.State.Pid}}", *ids).stdout.split()
    files = [f"/proc/{pid}/ns/net" for pid in pids]
    return list(zip(ids, files, strict=True)) if all(is_busy(file) for file in files) else None


def capabilities(file: str) -> int:
    """The capabilities of the process of `/proc/PID/ns/net`. All its capability sets must be equal,
    and no program can extend them."""
    status = (Path(file).parents[1] / "status").read_text()
    held = dict(line.split(":\t", 1) for line in status.splitlines() if line.startswith(("Cap", "NoNewPrivs")))
    sets = {int(held[name], 16) for name in ("CapPrm", "CapEff", "CapBnd")}
    assert len(sets) == 1, held
    assert held["NoNewPrivs"] == "1"
    return sets.pop()


def inside(file: str, *command: str) -> list[str]:
    """A command that runs another command inside the namespace of a file."""
    return ["nsenter", f"--net={file}", *command]


def enter(file: str, *command: str, text: str | None = None, check: bool = True) -> Any:
    """Runs a program inside a namespace and waits for its end."""
    return subprocess.run(inside(file, *command), capture_output=True, text=True, check=check, input=text, timeout=30)


def send(file: str, interface: str, raw: Iterable[bytes]) -> None:
    """Sends frames from an interface unmodified."""
    enter(file, sys.executable, "-c", SEND, interface, text="\n".join(item.hex() for item in raw))
