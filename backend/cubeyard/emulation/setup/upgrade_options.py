"""The upgrades that are possible for a plan while traffic flows, each with the planner's work
order, for a form. `[subways §4.3]`"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from cubeyard.emulation.network.network import Network, topology_of
from cubeyard.emulation.setup.upgrade import Step, network_of, planned
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import DEFAULT_LINK_GBPS, Emulation, Upgrade
from cubeyard.kit.errors import ProblemError

Json = dict[str, Any]

FASTER = 2.5
"""Ratio of the rates 25 Gb/s and 10 Gb/s."""
DEFAULT_SERVER_GBPS, DEFAULT_UPLINK_GBPS = 10.0, 40.0
NO_FAMILY = "Only Subways is upgraded under traffic: its racks get cables beside those that they have."


def upgrades_of(engine: Engine, spec: Json, to: Json | None) -> list[Json]:
    """Each upgrade as `{name, title, to, reason, steps}`; an impossible one has a reason instead of
    steps. `to` is added if it is not in the list. Raises a 422 for a plan that cannot be
    emulated."""
    own = topology_of(spec)
    network, _ = network_of(engine, spec, Emulation(), DEFAULT_LINK_GBPS * 1e9)
    matches = [_offered(engine, spec, *target) for target in _targets(own, network)]
    if to is not None and topology_of(to) not in [item["to"] for item in matches]:
        matches.append(_offered(engine, spec, "other", "Another plan", topology_of(to)))
    return matches


def _targets(own: Json, network: Network) -> Iterator[tuple[str, str, Json | None]]:
    """Name, title and topology of each upgrade; None as topology if the family has no such
    upgrade."""
    if own.get("family") != "subways":
        yield from (
            ("ports", "More ports a server", None),
            ("type-2", "Type 2 instead of 1", None),
            ("rates", "Faster ports", None),
        )
        return
    p, q, clusters = own["p"], own["q"], own.get("clusters", 1)
    # Where the number or rate of ports is derived, changing it would require other switches.
    levels = Counter(network.switch_levels.values())
    switches = {"aggs_per_cluster": levels[1] // clusters, "cores": levels[2]}
    own = {**{name: value for name, value in own.items() if not name.endswith("oversubscription")}, **switches}
    yield "ports", f"{p + 1} ports a server instead of {p}", {**own, "p": p + 1, "q": q // p * (p + 1)}
    spread = next((c for c in range(2, clusters + 1) if clusters % c == 0), clusters)
    yield "type-2", f"Type 2 instead of {own['type']}", {**own, "type": 2, "c": spread}
    rates = {
        "server_gbps": own.get("server_gbps", DEFAULT_SERVER_GBPS),
        "uplink_gbps": own.get("uplink_gbps", DEFAULT_UPLINK_GBPS),
        **({"cluster_gbps": own["cluster_gbps"]} if own.get("cluster_gbps") is not None else {}),
    }
    slowest = rates["server_gbps"] if isinstance(rates["server_gbps"], float | int) else min(rates["server_gbps"])
    faster = {name: _times(rate) for name, rate in rates.items()}
    yield "rates", f"Ports of {_times(slowest):g} instead of {slowest:g} Gb/s", {**own, **faster}


def _times(rate: float | list[float]) -> Any:
    return [item * FASTER for item in rate] if isinstance(rate, list) else rate * FASTER


def _offered(engine: Engine, spec: Json, name: str, title: str, to: Json | None) -> Json:
    offered: Json = {"name": name, "title": title, "to": to, "reason": None, "steps": []}
    if to is None:
        return {**offered, "reason": NO_FAMILY}
    request = Upgrade(to=to)
    try:
        before, run = network_of(engine, spec, Emulation(upgrade=request), DEFAULT_LINK_GBPS * 1e9)
        upgrade = planned(engine, before, run, request)
    except ProblemError as error:
        first = error.errors[0] if error.errors else None
        output = error.detail if first is None else f"{first.message} {first.hint or ''}".strip()
        return {**offered, "reason": output}
    names = {link.id: run.link_name(link) for link in run.links}
    scale = run.planned_bits_per_sec / run.rate_bits_per_sec / 1e9
    rates = {link.id: run.rate_of(link) * scale for link in run.links}
    return {**offered, "steps": [_step(step, names, rates) for step in upgrade.steps]}


def _step(step: Step, names: dict[int, str], gbps: dict[int, float]) -> Json:
    reported = step.described()
    faster = reported.get("faster", [])
    return {
        "switch": step.switch,
        "plug_in": [names[link] for link in reported["links"]],
        "take_out": [names[link] for link in reported.get("removed", [])],
        "faster": [names[link] for link in faster],
        "gbps": sorted({round(gbps[link], 6) for link in faster}),
    }
