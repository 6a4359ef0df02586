"""What one server of a run that is under way knows: asked of its node through the fabric, told in the plan's names."""

from __future__ import annotations

from typing import Any

from cubeyard.emulation import schemas
from cubeyard.emulation.events import FIRST_PORT
from cubeyard.emulation.fabric_client import FabricClient, FabricError, FabricGoneError
from cubeyard.emulation.flows import MAX_FLOWS
from cubeyard.emulation.hosts import Hosts, Spread
from cubeyard.emulation.network import Network, server_at
from cubeyard.kit.errors import ProblemError, not_found

Json = dict[str, Any]

ANSWER_SECS = 2.0
"""A node answers in a millisecond; one that is frozen never does."""


def inspect(hosts: Hosts, network: Network, run_id: str, name: str) -> schemas.ServerState:
    """Raises a 404 for a server that is not in the run, a 409 for one that does not answer, a 503 without a fabric."""
    server = network.id_of.get(name)
    if server is None or server not in network.servers:
        raise not_found(f"server {name} in run {run_id}")
    spread = Spread.of(network, hosts.every)
    host = spread.hosts[spread.host_of[server]]
    with FabricClient(host.socket) as fabric:
        try:
            known = fabric.call("inspect", ANSWER_SECS, run=run_id, server=server)
        except (FabricError, FabricGoneError) as error:
            raise ProblemError(
                409, "server-silent", f"Server {name} does not answer: {host.said(error.detail)}"
            ) from error
    try:
        return described(network, run_id, server, known)
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # what a node says is not to be trusted
        why = f"what its node says is not understood: {type(error).__name__} {error}"
        raise ProblemError(409, "server-silent", f"Server {name} does not answer: {why[:200]}") from error


def described(network: Network, run_id: str, server: int, known: Json) -> schemas.ServerState:
    """A node's own account, with names for its numbers."""
    names = network.name_of
    return schemas.ServerState(
        run_id=run_id,
        server=names[server],
        id=server,
        neighbours=[
            schemas.NeighbourState(
                server=names[one["server"]], port=one["port"], up=one["up"], silent_secs=one["silent_secs"]
            )
            for one in known["neighbours"]
        ],
        flows=[_flow(network, one) for one in known["flows"]],
        failed_links=[
            schemas.FailedLink(
                servers=[names[end] for end in one["servers"]], expires_in_secs=round(one["expires_in_secs"], 3)
            )
            for one in known["failed_links"]
        ],
        drops=known["drops"],
        own_bytes=known["own_bytes"],
        relayed_bytes=known["relayed_bytes"],
        refused=known["refused"],
    )


def _flow(network: Network, told: Json) -> schemas.FlowState:
    flow, destination = told["flow"], server_at(told["flow"]["dst"])
    row = flow["dport"] - FIRST_PORT
    return schemas.FlowState(
        # Ports that systems give to clients begin far above those of the workload.
        flow=row if 0 <= row < MAX_FLOWS else None,
        destination=network.servers.get(destination, str(flow["dst"])),
        protocol=flow["proto"],
        source_port=flow["sport"],
        destination_port=flow["dport"],
        paths=[
            schemas.CachedPath(
                servers=[network.name_of.get(one, str(one)) for one in path["servers"]],
                available_bits_per_sec=path["available_bits_per_sec"],
                used=path["path_id"] == told["path_id"],
            )
            for path in told["paths"]
        ],
        probings=told["probings"],
        switches=told["switches"],
    )
