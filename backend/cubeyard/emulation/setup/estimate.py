"""Estimates before the start what this machine can carry: servers, memory, connections, and packets
per CPU time."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cubeyard.emulation.network.network import Network, in_user_space
from cubeyard.emulation.setup.flows import Flow
from cubeyard.experiments.emulation import Emulation
from cubeyard.kit.errors import FieldError, ProblemError

Json = dict[str, Any]

SERVER_BYTES = {"containers": 24 * 1024 * 1024, "namespaces": 6 * 1024 * 1024}
"""Resident memory of a server: the node, and for a container its shim."""
SERVICE_BYTES = 16 * 1024 * 1024
"""Maximum memory of a user's service on a server (emulator/crates/sandbox/src/limits.rs)."""
KEPT_BYTES = 512 * 1024 * 1024
"""Memory that is left for other programs."""
START_SECS = {"containers": 0.18, "namespaces": 0.012}
"""Seconds per server, if all are started in parallel. [measured]"""
MAX_SERVERS = {"containers": 256, "namespaces": 1024}
DESCRIPTORS_PER_SERVER, OWN_DESCRIPTORS = 26, 200
"""Open files of cubeyard-fabric per server, and in addition
(emulator/crates/fabric/src/api/fabric.rs)."""
NANOS_A_BYTE, NANOS_A_PACKET = 4.3, 10_800.0
"""CPU time per byte of goodput and per packet, for all hops together: 5.5 ns per byte at MTU 9000,
11.5 ns at 1500. [measured, EMULATOR]"""
SOFTWARE_TIMES = 6.0
"""Cost of forwarding in user space relative to the kernel. [measured: a relay costs 10 to 18 times
as much, and half of all work is relaying] A chip's tables in user space are assumed to cost the
same. [assumed]"""


@dataclass(frozen=True)
class Estimate:
    servers: int
    links: int
    flows: int
    memory_bytes: int
    memory_free_bytes: int
    cpu: float
    """Required share of all cores at the ideal rate. Above 1, the rate is impossible."""
    start_secs: float

    def document(self) -> Json:
        return {**self.__dict__, "cpu": round(self.cpu, 3), "start_secs": round(self.start_secs, 1)}


def estimate(network: Network, settings: Emulation, flows: list[Flow], hosts: int = 0, beside: int = 0) -> Estimate:
    """The estimate for a number of `hosts` (0: this machine), which are assumed to equal this one.
    `beside` servers have a user's program, which is assumed to need as much memory as a server's
    container; its CPU load is unknown."""
    servers = len(network.servers)
    containers = servers + beside
    most = settings.flow_bits_per_sec or float("inf")
    nanos = NANOS_A_BYTE + NANOS_A_PACKET / network.mtu
    if in_user_space(network, settings.dataplane):
        nanos *= SOFTWARE_TIMES
    cores = sum(min(flow.ideal_bits_per_sec, most) for flow in flows) / 8 * nanos * 1e-9
    return Estimate(
        servers,
        len(network.links),
        len(flows),
        _bytes(servers, beside, settings),
        memory_free_bytes(),
        cores / ((os.cpu_count() or 1) * max(hosts, 1)),
        1.0 + containers * START_SECS[settings.mode],
    )


def server_bytes(settings: Emulation) -> int:
    """Maximum memory of a server with its services."""
    return SERVER_BYTES[settings.mode] + len(settings.services) * SERVICE_BYTES


def _bytes(servers: int, beside: int, settings: Emulation) -> int:
    return servers * server_bytes(settings) + beside * SERVER_BYTES[settings.mode]


def most_servers(mode: str, hosts: int = 0) -> int:
    """Maximum number of servers on this machine, or on `hosts` machines, each of which has its own
    limit of open files."""
    if hosts:
        return MAX_SERVERS[mode] * hosts
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = (
        MAX_SERVERS[mode] if limit == resource.RLIM_INFINITY else (limit - OWN_DESCRIPTORS) // DESCRIPTORS_PER_SERVER
    )
    return max(min(MAX_SERVERS[mode], files), 0)


def refuse_oversize(network: Network, settings: Emulation, hosts: int = 0, beside: int = 0) -> None:
    """Raises a 422 with the estimate if the network is too large for this machine.

    With `hosts` (0: this machine), the memory of each host is checked when the run begins.
    """
    servers, mode = len(network.servers), settings.mode
    each = server_bytes(settings)
    needed, available = _bytes(servers, beside, settings), max(memory_free_bytes() - KEPT_BYTES, 0)
    most = most_servers(mode, hosts)
    problems = []
    if servers > most:
        problems.append(f"{servers:,} servers; at most {most:,} run as {mode}")
    if hosts:
        available = most * each
    elif needed > available:
        problems.append(f"{needed / 2**30:.1f} GiB of memory; {available / 2**30:.1f} GiB are free")
    if not problems:
        return
    hint = "Take fewer servers: `cubeyard emulate --fit` and POST /api/v1/emulation/fit choose a part of the plan."
    message = f"The run would need {' and '.join(problems)}."
    limit = f"at most {min(most, available // each):,} servers"
    error = FieldError(field="body.emulation.slice", value=servers, limit=limit, message=message, hint=hint)
    finding = {
        "severity": "error",
        "code": "too-large-emulation",
        "where": "emulation.slice",
        "message": message,
        "hint": hint,
        "fix": None,
    }
    raise ProblemError(
        422, "too-large-emulation", f"body.emulation.slice: {message} {hint}", errors=[error], findings=[finding]
    )


def memory_free_bytes() -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0
