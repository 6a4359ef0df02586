"""What the flow engine expects of the same network, workload and rate: the ideal that a measurement stands beside."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from cubeyard.emulation.damage import WHOLE, Damage
from cubeyard.emulation.network import Network
from cubeyard.engine import Engine
from cubeyard.kit.errors import field_error

Json = dict[str, Any]

ADAPTED = {"bcube": "bsr-greedy"}
"""BSR looks again and moves its flows to the path with most room: that is the scheme that sees the load. `[bcube §4]`"""


@dataclass(frozen=True)
class Prediction:
    """Max-min fair rates of the workload's flows; ABT is as many times the slowest. In bits per second, headers included."""

    source: list[str]
    destination: list[str]
    rates_bits_per_sec: list[float]
    abt_bits_per_sec: float
    dropped_flows: int
    routing: str

    @property
    def ideal_bits_per_sec(self) -> float:
        return sum(self.rates_bits_per_sec)

    def relayed(self, network: Network, edges: Sequence[tuple[int, int]]) -> Prediction:
        """Of data that is passed on over disjoint edges, each at a link's rate: what every receiver gets, added up."""
        rates = [network.rate_bits_per_sec] * len(edges)
        source, destination = ([network.name_of[edge[end]] for edge in edges] for end in (0, 1))
        return replace(
            self, source=source, destination=destination, rates_bits_per_sec=rates, abt_bits_per_sec=sum(rates)
        )

    def document(self) -> Json:
        return {
            "ideal_bits_per_sec": self.ideal_bits_per_sec,
            "abt_bits_per_sec": self.abt_bits_per_sec,
            "flows": len(self.rates_bits_per_sec),
            "dropped_flows": self.dropped_flows,
            "routing": self.routing,
        }


def predict(
    engine: Engine,
    network: Network,
    workload: Json,
    routing: str | None,
    seed: int,
    damage: Damage = WHOLE,
) -> Prediction:
    """The prediction with so much broken. Raises a 422 for a workload that the plan cannot have."""
    experiment = {
        "workload": workload if network.whole else within(network, workload, seed),
        "routing": routing or ADAPTED.get(network.family),
        "faults": damage.faults(network.outside),
        "link_gbps": network.rate_bits_per_sec / 1e9,
        "max_min": True,
        "flow_rates": True,
        "seeds": [seed],
    }
    document = orjson.loads(engine.predict_json(network.spec, experiment))
    rates = document["flow_rates"]
    return Prediction(
        rates["source"],
        rates["destination"],
        [(one or 0.0) * 1e9 for one in rates["gbps"]],
        document["abt_gbps"] * 1e9,
        document["dropped_flows"],
        document["routing"],
    )


def within(network: Network, workload: Json, seed: int) -> Json:
    """The workload among a slice's servers, as the engine takes it for the whole plan."""
    servers = list(network.servers.values())
    kind = workload["kind"]
    if kind == "all-to-all":
        return {"kind": "shuffle", "servers": servers}
    if kind == "matrix":
        return workload  # it names its servers; flows of others have no end here
    if kind == "one-to-one":
        return {"kind": kind, "source": servers[0], "destination": servers[-1], **workload}
    if kind == "one-to-all":
        source = workload.get("source") or servers[0]
        return {"kind": "one-to-several", "source": source, "destinations": [one for one in servers if one != source]}
    if kind in ("permutation", "one-to-several", "incast"):
        return _drawn(workload, servers, random.Random(seed))  # noqa: S311 - a draw that can be repeated, no secret
    raise field_error(
        "body.workload.kind",
        kind,
        f"A {kind} workload cannot be limited to a slice.",
        limit="all-to-all, one-to-one, one-to-several, one-to-all, permutation, incast, matrix",
    )


def _drawn(workload: Json, servers: list[str], draws: random.Random) -> Json:
    kind = workload["kind"]
    if kind == "permutation":
        order = draws.sample(servers, len(servers))
        return {"kind": "matrix", "entries": [[one, order[i - 1], 1.0] for i, one in enumerate(order)]}
    one, many = ("source", "destinations") if kind == "one-to-several" else ("destination", "sources")
    centre = workload.get(one) or servers[0]
    others = [name for name in servers if name != centre]
    count = workload.get("count") or (3 if kind == "one-to-several" else len(others))
    chosen = workload.get(many) or draws.sample(others, min(count, len(others)))
    return {"kind": kind, one: centre, many: chosen}
