"""An upgrade under traffic: the network of the plan after it, without the cables that the planner's work order adds. `[subways §4.3]`

A run that can be upgraded has the devices and the numbers of the plan after the upgrade from its start. Cables of the work order are
not plugged in until its steps are carried out: their ports have no carrier, and the routers' tables go without them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import orjson

from cubeyard.emulation.faults.faults import Fault, Strike
from cubeyard.emulation.network.network import Network, topology_of
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import Upgrade as Asked
from cubeyard.kit.errors import field_error

Json = dict[str, Any]

FIELD = "body.emulation.upgrade.to"
ADDED, REMOVED, OTHER_DEVICE = "add", "remove", "other device"


@dataclass(frozen=True)
class Step:
    """Cables that are plugged in together: those of one switch."""

    switch: str
    cables: Fault
    """As something that is missing: all of them without a carrier."""

    def described(self) -> Json:
        return {"switch": self.switch, "links": [strike.target["link"] for strike in self.cables.strikes]}


@dataclass(frozen=True)
class Upgrade:
    """The steps, in order, and when they begin."""

    title: str
    steps: list[Step]
    at_secs: float | None
    """None: when it is ordered."""
    step_secs: float

    @property
    def missing(self) -> list[Fault]:
        """Everything that is not plugged in before the first step."""
        return [step.cables for step in self.steps]

    def described(self) -> Json:
        return {"title": self.title, "at_secs": self.at_secs, "steps": [step.described() for step in self.steps]}


def planned(engine: Engine, before: Network, after: Network, asked: Asked) -> Upgrade:
    """The work order between two plans as steps. Raises a 422 for one that does more than add cables between devices."""
    if before.servers != after.servers or not set(before.switches.values()) <= set(after.switches.values()):
        raise field_error(
            FIELD,
            asked.to,
            f"The plan before has {len(before.servers)} servers and {len(before.switches)} switches, the one after "
            f"{len(after.servers)} and {len(after.switches)}, or they have other names.",
            limit="the same servers, and no switch less",
            hint="Keep servers a rack (q/p), racks and clusters: with p from 1 to 2, double q.",
        )
    book = engine.builtin_books[0]
    plans = [engine.plan({"topology": network.spec, "catalog": book["book"]}, book) for network in (before, after)]
    order = _order(engine, *plans)
    refused = [row for row in order if row["action"] == REMOVED or row["reason"] == OTHER_DEVICE]
    if refused:
        first = refused[0]
        raise field_error(
            FIELD,
            asked.to,
            f"The work order rewires {len(refused)} cables that carry traffic, the first of {first['end_a']}.",
            limit="an upgrade that only adds cables",
            hint="Keep the type, clusters and switches, and give servers more ports.",
        )
    added = [row["after"] for row in order if row["action"] == ADDED]
    if not added:
        raise field_error(
            FIELD, asked.to, "The work order adds no cable.", limit="at least one", hint="Give servers more ports."
        )
    links = {link.id: link for link in after.links}
    by_switch: dict[int, list[int]] = {}
    for link in added:
        by_switch.setdefault(max(links[link].a[0], links[link].b[0]), []).append(link)
    _check_rates(before, after, set(added), asked)
    steps = [
        Step(after.name_of[switch], _unplugged(after, f"upgrade-{number}", ids))
        for number, (switch, ids) in enumerate(by_switch.items(), 1)
    ]
    title = f"{_title(before)} to {_title(after)}"
    return Upgrade(title, steps, asked.at_secs, asked.step_secs)


def _order(engine: Engine, before: Any, after: Any) -> list[Json]:
    document = orjson.loads(engine.work_order_json(before, after))
    columns = document["columns"]
    names = {"action": document["actions"], "reason": document["reasons"]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [{**row, **{name: words[row[name]] for name, words in names.items()}} for row in rows]


def _check_rates(before: Network, after: Network, added: set[int], asked: Asked) -> None:
    """Raises a 422 if links that stay get another rate: the run has one rate for each link."""
    stay = Counter(after.rate_of(link) for link in after.links if link.id not in added)
    were = Counter(before.rate_of(link) for link in before.links)
    if stay != were:
        raise field_error(
            FIELD,
            asked.to,
            "Cables that stay would get another rate.",
            limit="the rates that they have",
            hint="Let only the new cluster be faster (cluster_gbps).",
        )


def _unplugged(network: Network, id_: str, links: list[int]) -> Fault:
    by_id = {link.id: link for link in network.links}
    strikes = [
        Strike(f"{id_}.{number}", "cable-pulled", {"link": link}, network.link_name(by_id[link]), {})
        for number, link in enumerate(links)
    ]
    return Fault(id_, "cable-pulled", strikes)


def _title(network: Network) -> str:
    spec = topology_of(network.spec)
    shown = ", ".join(f"{name} {spec[name]}" for name in ("type", "p", "q", "l") if name in spec)
    return f"{network.family} ({shown})" if shown else network.family
