"""The flows that servers send, derived from the workload: numbered, with ends, ports and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cubeyard.emulation.network.network import Network
from cubeyard.emulation.setup.prediction import MAX_FLOWS, Prediction
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import Delivery, Emulation
from cubeyard.kit.errors import field_error

Json = dict[str, Any]


@dataclass(frozen=True)
class Flow:
    """One connection. A flow of the workload may have several."""

    id: int
    source: int
    destination: int
    ideal_bits_per_sec: float
    relays: int | None = None
    """The flow whose data this one forwards: it ends at this flow's source."""


def flows_of(
    engine: Engine, network: Network, prediction: Prediction, settings: Emulation, workload: Json
) -> list[Flow]:
    """The connections of a workload whose prediction names its flows. Raises a 422 for too many."""
    if settings.delivery != "unicast":
        return _relayed(engine, network, prediction, settings.delivery, workload)
    pairs = zip(prediction.source, prediction.destination, strict=True)
    each = settings.connections
    count = len(prediction.source) * each
    if not count:
        raise field_error("body.workload", workload.get("kind"), "The workload has no flow.", hint="Take another one.")
    if count > MAX_FLOWS:
        raise field_error(
            "body.workload.kind",
            workload.get("kind"),
            f"{workload.get('kind')} on {len(network.servers)} servers is {count:,} connections.",
            limit=f"at most {MAX_FLOWS:,}",
            hint="Take permutation or incast, fewer connections, or a slice of the plan.",
        )
    ends = [(network.id_of[source], network.id_of[destination]) for source, destination in pairs for _ in range(each)]
    rates = prediction.rates_of_connections(each)
    return [Flow(i, *pair, rate) for i, (pair, rate) in enumerate(zip(ends, rates, strict=True))]


def _relayed(
    engine: Engine, network: Network, prediction: Prediction, delivery: Delivery, workload: Json
) -> list[Flow]:
    """The flows of one server's data to many servers, forwarded by servers that have received it.
    Each edge can use a link's full rate."""
    if workload["kind"] not in ("one-to-several", "one-to-all"):
        raise field_error(
            "body.emulation.delivery",
            delivery,
            f"A {workload['kind']} workload has no one source to relay from.",
            limit="one-to-several or one-to-all",
            hint="Take unicast.",
        )
    source = network.id_of[prediction.source[0]]
    receivers = [network.id_of[name] for name in prediction.destination]
    edges: list[tuple[int, int, int | None]] = []
    if delivery == "pipeline":
        chain = [source, *receivers]
        edges = [(chain[i], receiver, i - 1 if i else None) for i, receiver in enumerate(receivers)]
    elif delivery == "complete-graph":
        edges = [(source, receiver, None) for receiver in receivers]
        edges += [
            (receiver, other, i) for i, receiver in enumerate(receivers) for other in receivers if other != receiver
        ]
    else:
        edges = _tree_edges(engine, network, prediction.source[0], set(receivers))
    rate = network.rate_bits_per_sec
    return [Flow(i, near, far, rate, relays) for i, (near, far, relays) in enumerate(edges)]


def _tree_edges(
    engine: Engine, network: Network, source: str, receivers: set[int]
) -> list[tuple[int, int, int | None]]:
    """The edges of every spanning tree. `[bcube §3.5]`"""
    if not network.whole or receivers | {network.id_of[source]} != set(network.servers):
        raise field_error(
            "body.emulation.delivery",
            "spanning-trees",
            "Spanning trees reach every server of a whole plan, and nobody else.",
            limit="one-to-all on a whole plan",
            hint="Take complete-graph or pipeline.",
        )
    edges: list[tuple[int, int, int | None]] = []
    for tree in engine.spanning_trees(network.spec, source):
        into: dict[int, int] = {}
        for parent, child in tree:
            into[child] = len(edges)
            edges.append((parent, child, into.get(parent)))
    return edges


def for_fabric(flows: list[Flow], settings: Emulation) -> list[Json]:
    return [
        {
            "id": flow.id,
            "source": flow.source,
            "destination": flow.destination,
            "proto": settings.protocol,
            "bytes": settings.flow_bytes,
            "rate_bits_per_sec": settings.flow_bits_per_sec,
            "start_secs": 0.0,
            "pipeline": flow.relays,
            **({} if settings.datagram_bytes is None else {"datagram_bytes": settings.datagram_bytes}),
        }
        for flow in flows
    ]
