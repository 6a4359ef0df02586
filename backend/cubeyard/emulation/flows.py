"""The flows that the servers send, from the workload's own list: numbered, with ends, ports and what they carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cubeyard.emulation.network import Network
from cubeyard.emulation.prediction import Prediction
from cubeyard.experiments.emulation import Emulation
from cubeyard.kit.errors import field_error

Json = dict[str, Any]

MAX_FLOWS = 2048
"""Beyond that the machine is busy with connections rather than with the network."""


@dataclass(frozen=True)
class Flow:
    """One connection. Several may belong to one flow of the workload."""

    id: int
    source: int
    destination: int
    ideal_bits_per_sec: float


def flows_of(network: Network, prediction: Prediction, settings: Emulation, workload: Json) -> list[Flow]:
    """The connections of a workload whose prediction names its flows. Raises a 422 for too many."""
    pairs = zip(prediction.source, prediction.destination, prediction.rates_bits_per_sec, strict=True)
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
    ends = [
        (network.id_of[source], network.id_of[destination], rate / each)
        for source, destination, rate in pairs
        for _ in range(each)
    ]
    return [Flow(i, *one) for i, one in enumerate(ends)]


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
        }
        for flow in flows
    ]
