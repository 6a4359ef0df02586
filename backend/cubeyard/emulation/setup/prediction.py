"""The flow engine's prediction for the same network, workload and rate, as the ideal for a
measurement."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import orjson

from cubeyard.emulation.faults.damage import WHOLE, Damage
from cubeyard.emulation.network.network import Network
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import Emulation
from cubeyard.kit.errors import field_error

Json = dict[str, Any]

MAX_FLOWS = 2048
"""Maximum number of flows. With more, the machine would be busy with connections instead of
packets."""
IP_PROTOCOLS = {"tcp": 6, "udp": 17, "mptcp": 6}
MPTCP_CHOICES = (
    "MPTCP, uncoupled: the kernel has no LIA. Each subflow takes its fair share on its own path, as a TCP flow does.",
)


@dataclass(frozen=True)
class Prediction:
    """Max-min fair rates of the workload's flows; ABT is the slowest rate times the number of
    flows. In bits per second, headers included."""

    source: list[str]
    destination: list[str]
    rates_bits_per_sec: list[float]
    abt_bits_per_sec: float
    dropped_flows: int
    routing: str
    connection_rates_bits_per_sec: list[float] | None = None
    """The rate of each connection, ordered by flow; None if all connections of a flow have the same
    rate."""
    paths: list[list[int]] | None = None
    """The path of each connection as ids of nodes; None if it is not known in advance. With MPTCP
    it is the path of the first subflow."""
    choices: tuple[str, ...] = ()
    """Choices that we made for the comparison, for display."""

    @property
    def ideal_bits_per_sec(self) -> float:
        return sum(self.rates_bits_per_sec)

    def cut_off(self, connections: int) -> frozenset[int]:
        """Ids of the connections that carry nothing, because their flow has lost an end or all
        paths. `connections` is the number per flow."""
        if self.paths is not None:
            return frozenset(i for i, path in enumerate(self.paths) if not path)
        lost = (i for i, rate in enumerate(self.rates_bits_per_sec) if rate <= 0)
        return frozenset(i * connections + number for i in lost for number in range(connections))

    def rates_of_connections(self, connections: int) -> list[float]:
        """Rates of all connections, ordered by flow, in bits per second including headers.
        `connections` is the number per flow."""
        if self.connection_rates_bits_per_sec is not None:
            return self.connection_rates_bits_per_sec
        return [rate / connections for rate in self.rates_bits_per_sec for _ in range(connections)]

    def relayed(self, network: Network, edges: Sequence[tuple[int, int]]) -> Prediction:
        """The prediction for data that is forwarded over disjoint edges, each at a link's rate: the
        total over all receivers."""
        rates = [network.rate_bits_per_sec] * len(edges)
        source, destination = ([network.name_of[edge[end]] for edge in edges] for end in (0, 1))
        return replace(
            self,
            source=source,
            destination=destination,
            rates_bits_per_sec=rates,
            abt_bits_per_sec=sum(rates),
            connection_rates_bits_per_sec=None,
            paths=None,
        )

    def document(self) -> Json:
        return {
            "ideal_bits_per_sec": self.ideal_bits_per_sec,
            "abt_bits_per_sec": self.abt_bits_per_sec,
            "flows": len(self.rates_bits_per_sec),
            "dropped_flows": self.dropped_flows,
            "routing": self.routing,
            **({"choices": list(self.choices)} if self.choices else {}),
        }


def predict(
    engine: Engine,
    network: Network,
    workload: Json,
    routing: str | None,
    seed: int,
    settings: Emulation,
    damage: Damage = WHOLE,
    numbers: Sequence[int] | None = None,
) -> Prediction:
    """Computes the prediction with this damage. Raises a 422 for a workload that is invalid for the
    plan. `numbers` are given if flows use the ports of other flow numbers than their own.

    Routers choose paths by their tables and by a hash of a connection's addresses and ports, which
    are known: unless `routing` names another scheme, each connection is predicted on the path that
    it will take.
    """
    # The engine applies the given rate to all links. If rates differ, it gets the plan's rates
    # instead, and its results are scaled.
    scale = network.rate_bits_per_sec / network.planned_bits_per_sec if network.has_several_rates else None
    experiment = {
        "workload": workload if network.whole else within(network, workload, seed),
        # A protocol that moves flows by load is predicted by a scheme that uses the load.
        "routing": routing or (network.protocol["routing"] if network.protocol["adapts"] else None),
        "faults": damage.faults(network.outside, scale or 1.0),
        "link_gbps": network.rate_bits_per_sec / 1e9 if scale is None else None,
        "max_min": True,
        "flow_rates": True,
        "seeds": [seed],
    }
    document = orjson.loads(engine.predict_json(network.spec, experiment))
    rates = document["flow_rates"]
    bits = 1e9 * (scale or 1.0)
    result = Prediction(
        rates["source"],
        rates["destination"],
        [(gbp or 0.0) * bits for gbp in rates["gbps"]],
        document["abt_gbps"] * bits,
        document["dropped_flows"],
        document["routing"],
    )
    if network.protocol["switches"] == "bridges" or routing is not None or settings.delivery != "unicast":
        return result
    return _over_tables(engine, network, result, seed, settings, damage, numbers)


def _over_tables(
    engine: Engine,
    network: Network,
    found: Prediction,
    seed: int,
    settings: Emulation,
    damage: Damage,
    numbers: Sequence[int] | None,
) -> Prediction:
    """The same flows over the paths that the routers' tables and hashes, or the chips' programs,
    give their connections."""
    each = settings.connections
    ends = zip(found.source, found.destination, strict=True)
    pairs = [(network.id_of[source], network.id_of[destination]) for source, destination in ends for _ in range(each)]
    if len(pairs) > MAX_FLOWS:
        return found
    run = _through_routers(network, seed, settings, damage)
    listed = [(number, *pair) for number, pair in zip(numbers or range(len(pairs)), pairs, strict=True)]
    paths, gbps = engine.routed_flows(network.spec, {**run, "flows": listed})
    rates = [rate * 1e9 for rate in gbps]
    alive = [rate for rate, path in zip(rates, paths, strict=True) if path]
    flows = [slice(first, first + each) for first in range(0, len(pairs), each)]
    return replace(
        found,
        rates_bits_per_sec=[sum(rates[flow]) for flow in flows],
        abt_bits_per_sec=len(alive) * min(alive, default=0.0),
        dropped_flows=sum(not any(paths[flow]) for flow in flows),
        routing=run["chips"] or settings.balance,
        connection_rates_bits_per_sec=rates,
        paths=paths,
        choices=MPTCP_CHOICES if settings.protocol == "mptcp" else (),
    )


def _through_routers(network: Network, seed: int, settings: Emulation, damage: Damage) -> Json:
    """The inputs of `Engine.routed_flows`, except the flows themselves."""
    return {
        "slice": None if network.whole else {"servers": list(network.servers.values())},
        "faults": damage.faults(),
        "seed": seed,
        "balance": settings.balance,
        "link_gbps": network.rate_bits_per_sec / 1e9,
        "chips": network.protocol["name"] if network.protocol["switches"] == "chips" else None,
        "protocol": IP_PROTOCOLS[settings.protocol],
        "subflows": (settings.subflows or 0) if settings.protocol == "mptcp" else None,
    }


def ends_secs(
    engine: Engine, network: Network, seed: int, settings: Emulation, ends: Sequence[tuple[int, int]], flow_bytes: float
) -> list[float]:
    """The times at which each flow between two servers has transferred `flow_bytes` over its path
    through routers at max-min fair rates, without headers; infinite without a path. All flows start
    together. Rates are recomputed at each time at which flows end."""
    run = _through_routers(network, seed, settings, WHOLE)
    left = dict.fromkeys(range(len(ends)), flow_bytes * 8)
    result = [inf] * len(ends)
    secs = 0.0
    while left:
        listed = [(flow, *ends[flow]) for flow in left]
        _, gbps = engine.routed_flows(network.spec, {**run, "flows": listed})
        rates = {flow: rate * 1e9 for flow, rate in zip(left, gbps, strict=True) if rate > 0}
        if not rates:
            break
        step = min(left[flow] / rate for flow, rate in rates.items())
        secs += step
        for flow, rate in rates.items():
            left[flow] -= rate * step
            # The rest is caused by rounding of rates.
            if left[flow] < 8:
                result[flow] = secs
        left = {flow: bits for flow, bits in left.items() if flow in rates and bits >= 8}
    return result


def within(network: Network, workload: Json, seed: int) -> Json:
    """The workload among a slice's servers, in the engine's format for the whole plan."""
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
        return {
            "kind": "one-to-several",
            "source": source,
            "destinations": [server for server in servers if server != source],
        }
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
        return {"kind": "matrix", "entries": [[item, order[i - 1], 1.0] for i, item in enumerate(order)]}
    entry, many = ("source", "destinations") if kind == "one-to-several" else ("destination", "sources")
    centre = workload.get(entry) or servers[0]
    others = [name for name in servers if name != centre]
    count = workload.get("count") or (3 if kind == "one-to-several" else len(others))
    chosen = workload.get(many) or draws.sample(others, min(count, len(others)))
    return {"kind": kind, entry: centre, many: chosen}
