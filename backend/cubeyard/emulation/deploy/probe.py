"""Whether this machine can emulate: required and optional capabilities, why one is missing, and how
to fix it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from cubeyard.emulation.cluster.errors import ClusterRefusedError
from cubeyard.emulation.deploy.containers import GONE
from cubeyard.emulation.deploy.docker_engine import DockerGoneError, engine_version
from cubeyard.emulation.deploy.schemas import Capability, HostState, Machine, MissingKind, Workers
from cubeyard.emulation.fabric.client import FabricClient, FabricError, FabricGoneError
from cubeyard.emulation.fabric.fabrics import on_every
from cubeyard.emulation.fabric.hosts import Host, Hosts
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.fabric.process import FABRIC, NODE, by_hand, probe_kernel, program, why_missing
from cubeyard.emulation.fabric.rights import lacking_rights
from cubeyard.emulation.faults.impossible import NEEDS, Kinds, refuse_missing
from cubeyard.emulation.setup.estimate import KEPT_BYTES, SERVER_BYTES, memory_free_bytes, most_servers
from cubeyard.kit.ear import Sign
from cubeyard.settings import LOCAL_IMAGES, EmulationCluster, Settings

Json = dict[str, Any]

ENGINE_SOCKET = Path("/var/run/docker.sock")

ANSWER_SECS = 10.0
KEY_WARNING = timedelta(days=30)
"""Hosts report an expiring key this long in advance."""
EVERY_FABRIC = "The privileged helper (cubeyard-fabric) of every host"
KERNEL = {
    "namespaces": ("Network namespaces", True, "Run as root on a Linux kernel with namespaces."),
    "bridges": ("Mini-switches (Linux bridges)", True, "Load the module `bridge`."),
    "htb": ("Link rates (HTB)", True, "Load the module `sch_htb`."),
    "ebpf": ("Forwarding in the kernel (eBPF)", False, "Take a kernel from 5.15 on, or the software dataplane."),
    "netem": ("Delay of links (netem)", False, "Load the module `sch_netem`; other faults work without."),
    "path_hash": (
        "Paths through routers",
        False,
        "Take a kernel from 6.11 on; without it the paths of flows are not told.",
    ),
    "detours": (
        "Detours around hot racks",
        False,
        "Take a kernel with IPv6 and CONFIG_IPV6_SEG6_LWTUNNEL; other balances work without.",
    ),
    "strangers": (
        "Tunnels between hosts closed to others",
        False,
        "Load the modules `nf_tables` and `nft_fib_ipv4`, or use a network that only the hosts are on.",
    ),
    "mptcp": (
        "Flows over several paths at once (MPTCP)",
        False,
        "Take a kernel from 5.19 on with CONFIG_MPTCP; TCP and UDP work without.",
    ),
}


SWITCHES = {
    "user_images": ("images", "Images of users"),
    "terminals": ("terminals", "Terminals in servers' containers"),
}
"""Settings that turn something off for everybody."""


NEEDS_OF_RUNS: dict[Sign, str] = {
    "containers": "run servers as containers",
    "namespaces": "run servers as namespaces",
    "images": "run images of users",
}


def probe(settings: Settings, *, works: bool = False) -> Machine:
    """The capabilities of this machine or of several, with what the installation's settings turn
    off. `works`: for a worker, which itself needs the engine and the permissions."""
    machine = _probed(settings, works=works)
    return machine.model_copy(update={"capabilities": [*machine.capabilities, *switches(settings)]})


def with_workers(machine: Machine, workers: Mapping[Sign, int]) -> Machine:
    """The machine with the numbers of workers that can emulate at present."""
    off = {part.name for part in machine.capabilities if not part.available}
    signs: tuple[Sign, ...] = ("namespaces",) if "docker" in off else ("containers", "namespaces", "images")
    missing = [NEEDS_OF_RUNS[sign] for sign in signs if workers[sign] == 0 and sign not in off]
    if not any(workers.values()):
        reason = "No worker can emulate now. Runs wait until one can."
    elif missing:
        reason = f"No worker can {' or '.join(missing)} now. Such runs wait until one can."
    else:
        reason = f"{max(workers.values())} can emulate now."
    part = Capability(
        name="workers",
        title="A worker that can emulate",
        available=not missing,
        reason=reason,
        fix="Start `cubeyard worker` where such runs are possible, or wait for the busy machine." if missing else "",
        needed=False,
    )
    counts = Workers.model_validate(workers)
    return machine.model_copy(update={"workers": counts, "capabilities": [*machine.capabilities, part]})


def refuse_impossible(settings: Settings, kinds: Kinds) -> None:
    """Raises a 422 for a kind of fault that the kernel of this machine, or of one of its hosts,
    cannot inject. If a kernel cannot be probed, nothing is refused."""
    needy = [(field, kind) for field, kind in kinds if kind in NEEDS]
    if needy:
        refuse_missing(needy, {missing.kind: missing.reason for missing in _probed(settings).missing_kinds})


def switches(settings: Settings) -> list[Capability]:
    """The parts that settings can turn off."""
    parts = []
    for field, (name, title) in SWITCHES.items():
        on, setting = getattr(settings, field), f"CUBEYARD_{field.upper()}"
        reason, fix = ("Turned on.", "") if on else (f"Turned off by {setting}.", f"Set {setting}=true.")
        if on and name == "images" and settings.cluster is not None:
            reason += f" {_sizes_in_pods(settings)}"
        parts.append(Capability(name=name, title=title, available=on, reason=reason, fix=fix, needed=False))
    return parts


def _sizes_in_pods(settings: Settings) -> str:
    if LOCAL_IMAGES not in settings.registries:
        return "Workers read sizes and VOLUME folders from the registries; a run's log names images where they cannot."
    return (
        f"With `{LOCAL_IMAGES}` among CUBEYARD_IMAGE_REGISTRIES sizes and VOLUME folders are unknown before a pull,"
        " and without a limit on nodes whose containerd makes such folders."
    )


def _probed(settings: Settings, *, works: bool = False) -> Machine:
    place = Place.of(settings)
    binaries = _binaries(settings)
    if settings.spread:
        return _over_cluster(settings, place, binaries, works=works)
    fabric, message = _fabric(settings, place)
    docker = _docker() if settings.fabric_start or works else _told(settings, place) or _docker()
    kernel = [_kernel(name, message) for name in KERNEL] if message is not None else []
    return _machine([binaries, fabric, docker, *kernel], message, os.cpu_count() or 1, [(memory_free_bytes(), 1.0)])


def _machine(
    capabilities: list[Capability], said: Json | None, cores: int, memory: list[tuple[int, float]], **more: Any
) -> Machine:
    """`memory` has each host's free memory and its share of all servers."""
    base = all(capability.available for capability in capabilities if capability.needed)
    has_docker = next(capability for capability in capabilities if capability.name == "docker").available
    modes: list[Literal["containers", "namespaces"]] = []
    if base:
        modes = ["containers", "namespaces"] if has_docker else ["namespaces"]
    mode = modes[0] if modes else "containers"
    most = most_servers(mode, hosts=1 if "hosts" in more else 0)
    servers = [min(most, max(free - KEPT_BYTES, 0) // SERVER_BYTES[mode]) / part for free, part in memory]
    return Machine(
        ready=bool(modes),
        modes=modes,
        capabilities=capabilities,
        missing_kinds=_missing_kinds(capabilities),
        fabric=said,
        cores=cores,
        memory_free_bytes=sum(free for free, _ in memory),
        max_servers=int(min(servers)),
        **more,
    )


def _missing_kinds(capabilities: list[Capability]) -> list[MissingKind]:
    lacking = {capability.name: capability for capability in capabilities if not capability.available}
    return [
        MissingKind(kind=kind, reason=lacking[need].reason, fix=lacking[need].fix)
        for kind, need in NEEDS.items()
        if need in lacking
    ]


@dataclass(frozen=True)
class _Look:
    """The result of examining one of several hosts."""

    host: Host
    docker: Capability
    said: Json | None
    """The fabric's report on its kernel."""
    found: Json
    error: str
    key_ends: datetime | None = None

    @property
    def state(self) -> HostState:
        kernel = [_kernel(name, self.said) for name in KERNEL] if self.said is not None else []
        lacking = [item.reason for item in kernel if item.needed and not item.available]
        message = self.said or {}
        reasons = message.get("reasons") or {}
        lacking += [str(reasons[name]) for name in ("underlay", "vxlan") if name in reasons]
        if self.said is not None and (other := self.host.other_build(message)):
            lacking.append(other)
        notes = [f"Runs, version {message.get('version', '?')}."]
        if self.key_ends and self.key_ends - datetime.now(UTC) < KEY_WARNING:
            notes.append(f"Its key ends on {self.key_ends:%Y-%m-%d}: renew the keys.")
        return HostState(
            name=self.host.name,
            ready=self.said is not None and not lacking,
            reason=self.error or "; ".join(lacking) or " ".join(notes),
            docker=self.docker.available,
            docker_reason=self.docker.reason,
            underlay=self.host.underlay,
            underlay_mtu=message.get("underlay_mtu"),
            cores=int(self.found.get("cores", 0)),
            memory_free_bytes=int(self.found.get("memory_free_bytes", 0)),
            share=self.host.share,
        )


def _over_cluster(settings: Settings, place: Place, binaries: Capability, *, works: bool) -> Machine:
    """The hosts of the settings, or a cluster's nodes. If the cluster returns no nodes, its error
    is the reason for the missing capability."""
    try:
        hosts = Hosts.of(settings, place)
        return _over(settings, hosts.every, binaries, hosts.said_of_nodes, works=works)
    except (*GONE, ClusterRefusedError) as error:
        fabric = Capability(
            name="fabric",
            title=EVERY_FABRIC,
            available=False,
            reason=error.detail,
            fix="Install the chart: deploy/helm/cubeyard.",
            needed=True,
        )
        engine = Capability(name="docker", title="Pods", available=False, reason=error.detail, fix="", needed=False)
        return _machine([binaries, fabric, engine], None, 0, [(0, 1.0)])


def _over(
    settings: Settings, hosts: Sequence[Host], binaries: Capability, chosen: str = "", *, works: bool = False
) -> Machine:
    """Several machines as one: it has a capability if all of them have it. `chosen` explains which
    machines are used if there are more."""
    looks = on_every(hosts, lambda number: _look(settings, hosts, number, works))
    states = [look.state for look in looks]
    fabric = Capability(
        name="fabric",
        title=EVERY_FABRIC,
        available=all(state.ready for state in states),
        reason=" ".join(filter(None, [chosen, "; ".join(f"{state.name}: {state.reason}" for state in states)])),
        fix="" if all(state.ready for state in states) else "Start it as root on each host, and forward its socket.",
        needed=True,
    )
    without = [look for look in looks if not look.docker.available]
    docker = without[0].docker if without else looks[0].docker
    docker = docker.model_copy(update={"reason": (without or looks)[0].host.said(docker.reason)})
    kernels = [look for look in looks if look.said is not None]
    kernel = [
        next((item for item in matches if not item.available), matches[0])
        for name in KERNEL
        if (matches := [_kernel(name, look.said or {}) for look in kernels])
    ]
    total = sum(host.share for host in hosts)
    return _machine(
        [binaries, fabric, docker, *kernel],
        looks[0].said,
        sum(state.cores for state in states),
        [(state.memory_free_bytes, state.share / total) for state in states],
        hosts=states,
    )


def _look(settings: Settings, hosts: Sequence[Host], number: int, works: bool) -> _Look:
    host = hosts[number]
    asks = settings.fabric_start or works
    docker = _docker(host.docker) if settings.cluster is None else _pods(settings.cluster, asks=asks)
    request = {"here": number, "underlays": [item.underlay for item in hosts], "first_vni": 1}
    try:
        with FabricClient(host.socket) as client:
            message = client.call("probe", ANSWER_SECS, **({"hosts": request} if len(hosts) > 1 else {}))
            return _Look(host, docker, message, client.call("host", ANSWER_SECS), "", client.key_ends)
    except (FabricGoneError, FabricError) as error:
        return _Look(host, docker, None, {}, error.detail)


def _binaries(settings: Settings) -> Capability:
    missing = [name for name in (FABRIC, NODE) if program(settings, name) is None]
    reason, fix = why_missing(*missing) if missing else ("Found.", "")
    return Capability(
        name="programs", title="The emulator's programs", available=not missing, reason=reason, fix=fix, needed=True
    )


def _fabric(settings: Settings, place: Place) -> tuple[Capability, Json | None]:
    title = "The privileged helper (cubeyard-fabric)"
    try:
        with FabricClient(place.socket) as client:
            report = client.call("probe", ANSWER_SECS)
    except (FabricGoneError, FabricError) as error:
        report, reason = None, error.detail
        fix = f"Start it as root: {by_hand(program(settings, FABRIC) or FABRIC, place)}"
        try:
            report = probe_kernel(settings) if settings.fabric_start else None
        except subprocess.TimeoutExpired as late:
            reason = f"This machine is busy: the probe of its kernel did not end within {late.timeout:.0f} s."
            fix = "Wait until the machine is less busy, then look again."
        if settings.fabric_start and os.geteuid() == 0 and (why := lacking_rights()):
            report, (reason, fix) = None, why.split(". ", 1)
        if report is None:
            return Capability(name="fabric", title=title, available=False, reason=reason, fix=fix, needed=True), None
        reason = "Not running; it is started with the next run."
        return Capability(name="fabric", title=title, available=True, reason=reason, fix="", needed=True), report
    return Capability(
        name="fabric",
        title=title,
        available=True,
        reason=f"Runs, version {report.get('version', '?')}.",
        fix="",
        needed=True,
    ), report


def tell(settings: Settings) -> None:
    """Where the API cannot reach a Docker engine, a worker writes a file with the state of the
    worker's engine for the API."""
    word = _word(Place.of(settings))
    draft = word.with_suffix(".draft")
    draft.write_text(_docker().model_dump_json())
    draft.rename(word)


def take_back(settings: Settings) -> None:
    """Removes that file; called when the worker ends."""
    _word(Place.of(settings)).unlink(missing_ok=True)


def _told(settings: Settings, place: Place) -> Capability | None:
    """The state that a worker has written, unless it is too old."""
    word = _word(place)
    try:
        if time.time() - word.stat().st_mtime > settings.job_lease_secs:
            return None
        return Capability.model_validate_json(word.read_bytes())
    except OSError:
        return None


def _word(place: Place) -> Path:
    return place.for_api / "docker.json"


def _docker(engine: str = "") -> Capability:
    title = "A Docker engine"
    try:
        version = engine_version(engine=engine)
    except DockerGoneError as error:
        return Capability(
            name="docker",
            title=title,
            available=False,
            reason=error.detail,
            fix=_docker_fix(engine or os.environ.get("DOCKER_HOST", "")),
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


def _pods(cluster: EmulationCluster, *, asks: bool) -> Capability:
    """Checks whether servers can be pods of the cluster; replaces the check of Docker.

    The API of a deployment has no permission to create pods and does not check it (`asks`): its
    workers have it, or the run reports that it is missing.
    """
    from cubeyard.emulation.cluster.client import refused_verbs, version
    from cubeyard.emulation.deploy.pod_calls import RIGHTS

    fix, available = "", False
    try:
        reason = f"Kubernetes {version(cluster)}, namespace {cluster.namespace}."
        refused = refused_verbs(cluster, RIGHTS) if asks else []
        available = not refused
        if refused:
            reason = f"This account may not {', '.join(refused)} in namespace {cluster.namespace}."
            fix = "Bind it to the Role of the chart; without it servers are plain namespaces."
    except (*GONE, ClusterRefusedError) as error:
        reason = error.detail
    return Capability(name="docker", title="Pods", available=available, reason=reason, fix=fix, needed=False)


def _docker_fix(place: str) -> str:
    without = "without it servers are plain namespaces."
    if place:
        option = "--host" if "://" in place else "--context"
        check = f"ssh {place} docker version" if place.startswith("ssh://") else f"docker {option} {place} version"
        return f"Try `{check}`; {without}"
    if ENGINE_SOCKET.exists() and not os.access(ENGINE_SOCKET, os.W_OK):
        group = ENGINE_SOCKET.stat().st_gid
        return f"{ENGINE_SOCKET} belongs to group {group}: add this user to it (DOCKER_GID={group} in .env); {without}"
    return f"Install docker.io and start dockerd, or set DOCKER_HOST; {without}"


def _kernel(name: str, report: Json) -> Capability:
    title, needed, fix = KERNEL[name]
    result = bool(report.get(name))
    reason = (report.get("reasons") or {}).get(name) or ("Found." if result else "Not found.")
    return Capability(
        name=name, title=title, available=result, reason=str(reason), fix="" if result else fix, needed=needed
    )
