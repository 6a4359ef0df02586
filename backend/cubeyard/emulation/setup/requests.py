"""Requests and responses: their flows, the parameters of both ends, and their prediction.

Each client has two flows with each of its servers: requests, and responses in the other direction
over the same two ports.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cubeyard.emulation.network.network import Network
from cubeyard.emulation.setup.prediction import MAX_FLOWS, Prediction
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import Emulation
from cubeyard.kit.errors import field_error

Json = dict[str, Any]

KIND = "requests"
HEAD_BYTES = 8
"""A request begins with its number, and a response with the number of its request."""
MAX_UDP_BYTES = 65_536
"""Largest response over UDP: one with more datagrams would almost always lose one of them."""
UDP_HEADER_BYTES = 28
MAX_PER_SEC = 50_000
"""Maximum rate of the requests of all clients together. Assumes that a request takes about 40 us of
processor time, and that the machine has two cores. `[ours]`"""
TIMEOUT_SECS = 2.0
"""A request over UDP is given up after this time, or after twice the bound if that is longer.
`[ours]`"""
FIELD = "body.workload"


@dataclass(frozen=True)
class Client:
    """A client and its servers, by id."""

    server: int
    asks: list[int]
    seed: int


@dataclass(frozen=True)
class Requests:
    """The requests of all clients. `[subways §8.7]`"""

    clients: list[Client]
    request_bytes: int
    response_bytes: int
    count: int | None
    """Requests per client; None if only the time limits them."""
    rate_per_sec: float | None
    """Request rate per client; None for one request at a time."""
    think_secs: float
    bound_secs: float | None

    @property
    def timeout_secs(self) -> float:
        """A client gives up a request after this time."""
        return max(TIMEOUT_SECS, 2 * (self.bound_secs or 0.0))

    @property
    def pairs(self) -> list[tuple[Client, int]]:
        """Each client with the index of each of its servers, in the order of flows."""
        return [(client, place) for client in self.clients for place in range(len(client.asks))]

    @property
    def ends(self) -> list[tuple[int, int]]:
        """Source and destination of each flow: requests, then their responses."""
        return [
            ends
            for client, place in self.pairs
            for ends in ((client.server, client.asks[place]), (client.asks[place], client.server))
        ]

    @property
    def goodput_bits_per_sec(self) -> list[float] | None:
        """The intended goodput of each flow, without headers; None if clients wait for
        responses."""
        if self.rate_per_sec is None:
            return None
        rates = [self.rate_per_sec / len(client.asks) for client, _ in self.pairs]
        return [rate * bytes_ * 8 for rate in rates for bytes_ in (self.request_bytes, self.response_bytes)]

    @property
    def all_asked(self) -> int | None:
        """Number of requests of all clients; None if they send until the end."""
        return None if self.count is None else self.count * len(self.clients)

    def matrix(self, network: Network) -> Json:
        """The same traffic as a workload that every engine supports."""
        names = network.servers
        weights = self.goodput_bits_per_sec or [1.0] * len(self.ends)
        entries = [[names[a], names[b], weight] for (a, b), weight in zip(self.ends, weights, strict=True)]
        return {"kind": "matrix", "entries": entries}

    def predicted(self, prediction: Prediction, network: Network) -> Prediction:
        """The prediction, in which flows get their fair rate, but at most their intended rate."""
        offered = self.goodput_bits_per_sec
        if offered is None:
            return prediction
        most = [rate / network.header_efficiency for rate in offered]
        rates = [min(pair) for pair in zip(prediction.rates_bits_per_sec, most, strict=True)]
        return replace(prediction, rates_bits_per_sec=rates, connection_rates_bits_per_sec=None)

    def for_fabric(self, settings: Emulation) -> list[Json]:
        """The flows in the order of `ends`."""
        matches: list[Json] = []
        for client, place in self.pairs:
            number, server = len(matches), client.asks[place]
            asking = {
                "client_seed": client.seed,
                "place": place,
                "places": len(client.asks),
                "count": self.count,
                "rate_per_sec": self.rate_per_sec,
                "think_secs": self.think_secs,
                "bound_secs": self.bound_secs,
                "timeout_secs": self.timeout_secs,
            }
            requests = {
                "response": number + 1,
                "request_bytes": self.request_bytes,
                "response_bytes": self.response_bytes,
                "asking": asking,
            }
            ends = {"source": client.server, "destination": server, "proto": settings.protocol}
            back = {"source": server, "destination": client.server, "proto": settings.protocol}
            matches.append({"id": number, **ends, "requests": requests})
            matches.append({"id": number + 1, **back, "answers": number})
        return matches


def requests_of(engine: Engine, network: Network, workload: Json, seed: int, settings: Emulation) -> Requests | None:
    """The requests of a workload; None if the workload is of another kind. Raises a 422 that names
    the field."""
    if workload["kind"] != KIND:
        return None
    _check_settings(settings)
    request = {name: value for name, value in workload.items() if name != "kind"}
    if "bytes" in request:
        limit, fix = "request_bytes and response_bytes", "Leave bytes out."
        raise field_error(f"{FIELD}.bytes", request["bytes"], "It says nothing about requests.", limit=limit, hint=fix)
    if not network.whole:
        request = _within(network, request)
    for field in ("servers", "clients"):
        named = request.get(field) or []
        if repeated := [name for name in named if named.count(name) > 1]:
            name = repeated[0]
            raise field_error(f"{FIELD}.{field}", name, f"{name} is named twice.", limit="each server once")
    result = engine.requests_of(network.spec, request, seed)
    clients = [Client(client["server"], client["asks"], client["seed"]) for client in result["clients"]]
    requests = Requests(
        clients,
        result["request_bytes"],
        result["response_bytes"],
        request.get("count"),
        request.get("rate_per_sec"),
        request.get("think_secs") or 0.0,
        request.get("latency_bound_secs"),
    )
    _check(requests, network, settings)
    return requests


def _check_settings(settings: Emulation) -> None:
    for field, value, plain in (
        ("connections", settings.connections, 1),
        ("flow_bytes", settings.flow_bytes, None),
        ("datagram_bytes", settings.datagram_bytes, None),
        ("flow_bits_per_sec", settings.flow_bits_per_sec, None),
    ):
        if value != plain:
            raise field_error(
                f"body.emulation.{field}",
                value,
                "It says nothing about requests, which have sizes and a rate of their own.",
                limit="request_bytes, response_bytes, rate_per_sec and count of the workload",
                hint="Leave it out.",
            )


def _within(network: Network, asked: Json) -> Json:
    """Servers and clients in a slice. If the workload names none, the server is the slice's first
    server, and all others are clients."""
    names = list(network.servers.values())
    servers = asked.get("servers") or names[:1]
    clients = asked.get("clients") or [item for item in names if item not in servers]
    for field, given in (("servers", servers), ("clients", clients)):
        for name in given:
            if name not in names:
                limit = "a server of the slice"
                raise field_error(f"{FIELD}.{field}", name, f"{name} is not in the slice.", limit=limit)
    return {**asked, "servers": servers, "clients": clients}


def _check(requests: Requests, network: Network, settings: Emulation) -> None:
    clients = [client.server for client in requests.clients]
    flows = len(requests.ends)
    if not flows:
        raise field_error(f"{FIELD}.clients", 0, "Nobody asks.", limit="at least one client", hint="Name a client.")
    if flows > MAX_FLOWS:
        message = f"Requests of {len(clients)} clients and their responses are {flows:,} flows."
        hint = "Name fewer clients or servers."
        raise field_error(f"{FIELD}.clients", len(clients), message, limit=f"at most {MAX_FLOWS:,}", hint=hint)
    in_all = (requests.rate_per_sec or 0.0) * len(clients)
    if in_all > MAX_PER_SEC:
        message = f"{len(clients)} clients at this rate ask {in_all:,.0f} times a second."
        limit = f"at most {MAX_PER_SEC / len(clients):g} a client"
        hint = "Take a lower rate, with a slower link_gbps the same load."
        raise field_error(f"{FIELD}.rate_per_sec", requests.rate_per_sec, message, limit=limit, hint=hint)
    datagram = network.mtu - network.protocol["header_bytes"] - UDP_HEADER_BYTES
    most = {"request_bytes": datagram, "response_bytes": MAX_UDP_BYTES} if settings.protocol == "udp" else {}
    for field, value in (("request_bytes", requests.request_bytes), ("response_bytes", requests.response_bytes)):
        limit = most.get(field)
        if value < HEAD_BYTES or (limit is not None and value > limit):
            of = f"{HEAD_BYTES} to {limit}" if limit is not None else f"at least {HEAD_BYTES}"
            message = "A request and its response need room for the request's number."
            if value >= HEAD_BYTES:
                message = "Over UDP that is too long."
            raise field_error(f"{FIELD}.{field}", value, message, limit=of, hint="Change it, or take TCP.")
