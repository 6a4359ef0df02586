"""Whether this machine emulates: each thing that is needed or useful, why it is not there, and what to do about it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Literal

from cubeyard.emulation.containers import DockerGoneError, engine_version
from cubeyard.emulation.estimate import KEPT_BYTES, MAX_SERVERS, SERVER_BYTES, memory_free_bytes
from cubeyard.emulation.fabric_client import FabricClient, FabricError, FabricGoneError
from cubeyard.emulation.fabric_process import FABRIC, NODE, by_hand, probe_kernel, program
from cubeyard.emulation.place import Place
from cubeyard.emulation.schemas import Capability, Machine
from cubeyard.settings import Settings

Json = dict[str, Any]

ENGINE_SOCKET = Path("/var/run/docker.sock")

KERNEL = {
    "namespaces": ("Network namespaces", True, "Run as root on a Linux kernel with namespaces."),
    "bridges": ("Mini-switches (Linux bridges)", True, "Load the module `bridge`."),
    "htb": ("Link rates (HTB)", True, "Load the module `sch_htb`."),
    "ebpf": ("Forwarding in the kernel (eBPF)", False, "Take a kernel from 5.15 on, or the software dataplane."),
    "netem": ("Delay and loss (netem)", False, "Load the module `sch_netem`; other faults work without."),
}


def probe(settings: Settings) -> Machine:
    place = Place.of(settings)
    fabric, said = _fabric(settings, place)
    docker = _docker() if settings.fabric_start else _told(settings, place) or _docker()
    binaries = _binaries(settings)
    kernel = [_kernel(name, said) for name in KERNEL] if said is not None else []
    every = [binaries, fabric, docker, *kernel]
    base = all(one.available for one in every if one.needed)
    modes: list[Literal["containers", "namespaces"]] = []
    if base:
        modes = ["containers", "namespaces"] if docker.available else ["namespaces"]
    free = memory_free_bytes()
    mode = modes[0] if modes else "containers"
    return Machine(
        ready=bool(modes),
        modes=modes,
        capabilities=every,
        fabric=said,
        cores=os.cpu_count() or 1,
        memory_free_bytes=free,
        max_servers=min(MAX_SERVERS[mode], max(free - KEPT_BYTES, 0) // SERVER_BYTES[mode]),
    )


def _binaries(settings: Settings) -> Capability:
    missing = [name for name in (FABRIC, NODE) if program(settings, name) is None]
    return Capability(
        name="programs",
        title="The emulator's programs",
        available=not missing,
        reason=f"{' and '.join(missing)} not found." if missing else "Found.",
        fix="Build them: `make setup`." if missing else "",
        needed=True,
    )


def _fabric(settings: Settings, place: Place) -> tuple[Capability, Json | None]:
    title = "The privileged helper (cubeyard-fabric)"
    try:
        with FabricClient(place.socket) as client:
            said = client.call("probe", secs=10.0)
    except (FabricGoneError, FabricError) as error:
        said = probe_kernel(settings) if settings.fabric_start else None
        fix = f"Start it as root: {by_hand(program(settings, FABRIC) or FABRIC, place)}"
        if said is None:
            return Capability(
                name="fabric", title=title, available=False, reason=error.detail, fix=fix, needed=True
            ), None
        reason = "Not running; it is started with the next run."
        return Capability(name="fabric", title=title, available=True, reason=reason, fix="", needed=True), said
    return Capability(
        name="fabric",
        title=title,
        available=True,
        reason=f"Runs, version {said.get('version', '?')}.",
        fix="",
        needed=True,
    ), said


def tell(settings: Settings) -> None:
    """Where the API has no Docker engine to ask, the worker leaves word for it of the one that it has."""
    word = _word(Place.of(settings))
    draft = word.with_suffix(".draft")
    draft.write_text(_docker().model_dump_json())
    draft.rename(word)


def take_back(settings: Settings) -> None:
    """The worker ends."""
    _word(Place.of(settings)).unlink(missing_ok=True)


def _told(settings: Settings, place: Place) -> Capability | None:
    """The worker's word, unless it is too old to be believed."""
    word = _word(place)
    try:
        if time.time() - word.stat().st_mtime > settings.job_lease_secs:
            return None
        return Capability.model_validate_json(word.read_bytes())
    except OSError:
        return None


def _word(place: Place) -> Path:
    return place.folder / "docker.json"


def _docker() -> Capability:
    title = "A Docker engine"
    try:
        version = engine_version()
    except DockerGoneError as error:
        return Capability(
            name="docker",
            title=title,
            available=False,
            reason=error.detail,
            fix=_docker_fix(),
            needed=False,
        )
    return Capability(
        name="docker",
        title=title,
        available=True,
        reason=f"Docker {version}.",
        fix="",
        needed=False,
    )


def _docker_fix() -> str:
    without = "without it servers are plain namespaces."
    if ENGINE_SOCKET.exists() and not os.access(ENGINE_SOCKET, os.W_OK):
        group = ENGINE_SOCKET.stat().st_gid
        return f"{ENGINE_SOCKET} belongs to group {group}: add this user to it (DOCKER_GID={group} in .env); {without}"
    return f"Install docker.io and start dockerd, or set DOCKER_HOST; {without}"


def _kernel(name: str, said: Json) -> Capability:
    title, needed, fix = KERNEL[name]
    found = bool(said.get(name))
    reason = (said.get("reasons") or {}).get(name) or ("Found." if found else "Not found.")
    return Capability(
        name=name, title=title, available=found, reason=str(reason), fix="" if found else fix, needed=needed
    )
