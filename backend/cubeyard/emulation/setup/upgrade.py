"""An upgrade under traffic: the network of the plan after the upgrade, in which the changes of the
planner's work order are still missing. `[subways §4.3]`

From its start, such a run has the devices and numbers of the plan after the upgrade. Cables that
the work order adds are not plugged in until their step: their ports have no carrier, and the
routers' tables do not use them. If the upgrade moves uplinks, the run also has the old ones, until
their step removes them. Ports that get faster have the old rate until their step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import orjson

from cubeyard.emulation.faults.faults import Fault, Strike
from cubeyard.emulation.network import network as networks
from cubeyard.emulation.network.network import Link, Network, topology_of
from cubeyard.engine import Engine
from cubeyard.experiments.checks import refused_by_field
from cubeyard.experiments.emulation import Emulation
from cubeyard.experiments.emulation import Upgrade as Asked
from cubeyard.kit.errors import ProblemError, field_error

Json = dict[str, Any]

FIELD = "body.emulation.upgrade.to"
ADDED, REMOVED, OTHER_DEVICE = "add", "remove", "other device"
RATES_ALIKE = 1e-6
Ends = tuple[tuple[str, int], tuple[str, int]]
"""The two ends of a link: devices by name, with ports."""
MOVES_UPLINKS = 2
"""The type that spreads loops over clusters. `[subways §4.3]`"""


@dataclass(frozen=True)
class Step:
    """A step of an upgrade: the work at one switch."""

    switch: str
    before: Fault
    """Differences before the step: cables that are not plugged in yet, and ports with a lower
    rate."""
    after: Fault
    """Cables that the step removes."""

    def described(self) -> Json:
        """Ids of links that are added, removed, or made faster; the latter with their old rates."""
        new, slower = (
            [strike for strike in self.before.strikes if bool(strike.parameters) == rate] for rate in (False, True)
        )
        document: Json = {"switch": self.switch, "links": [item.target["link"] for item in new]}
        if self.after.strikes:
            document["removed"] = [strike.target["link"] for strike in self.after.strikes]
        if slower:
            document["faster"] = [item.target["link"] for item in slower]
            document["former_bits_per_sec"] = [item.parameters["rate_bits_per_sec"] for item in slower]
        return document


@dataclass(frozen=True)
class Upgrade:
    """The steps in order, and when they begin."""

    title: str
    steps: list[Step]
    at_secs: float | None
    """Start of the first step; None if the user orders it."""
    step_secs: float

    @property
    def missing(self) -> list[Fault]:
        """All differences before the first step."""
        return [step.before for step in self.steps]

    @property
    def removed(self) -> list[Fault]:
        """Everything that is removed by the last step."""
        return [step.after for step in self.steps]

    def described(self) -> Json:
        return {"title": self.title, "at_secs": self.at_secs, "steps": [step.described() for step in self.steps]}


def network_of(engine: Engine, spec: Json, settings: Emulation, rate: float) -> tuple[Network, Network]:
    """The network of a plan, whose slowest link has this rate in bits per second, and the network
    that its run has from the start. Without an upgrade they are equal. Raises a 422 that names the
    field."""
    mtu = settings.mtu_at(rate)
    part = settings.slice.model_dump() if settings.slice is not None else None
    own = networks.build(engine, spec, rate, mtu, part, settings.dataplane)
    request = settings.upgrade
    if request is None:
        return own, own
    if not own.whole or own.protocol["switches"] != "routers":
        raise field_error(
            "body.emulation.upgrade",
            request.to,
            "Only the tables of routers go without cables that are not there yet, and a slice has no work order.",
            limit="a whole plan whose switches are routers",
            hint="Take Subways, and no slice.",
        )
    after = topology_of(request.to)
    if after.get("type") == MOVES_UPLINKS and own.spec.get("type") not in (None, MOVES_UPLINKS):
        after["former_type"] = own.spec["type"]
    with _of_upgrade():
        result = networks.build(engine, after, rate, mtu, None)
    # Both plans have the same scale: a port that is faster in the new plan is faster in the run.
    return own, replace(result, rate_bits_per_sec=rate * result.planned_bits_per_sec / own.planned_bits_per_sec)


def planned(
    engine: Engine, before: Network, run: Network, asked: Asked, seconds: float = Emulation().seconds
) -> Upgrade:
    """The work order between two plans as steps. Raises a 422 if it does more than add cables, move
    uplinks or make ports faster, or if it begins after the measured `seconds`. `run` has the cables
    of both plans."""
    if asked.at_secs is not None and asked.at_secs >= seconds:
        raise field_error(
            "body.emulation.upgrade.at_secs",
            asked.at_secs,
            f"The run ends after {seconds:g} s, before the upgrade begins.",
            limit=f"less than {seconds:g}",
            hint="Let it begin earlier, or measure for more seconds.",
        )
    if before.servers != run.servers or not set(before.switches.values()) <= set(run.switches.values()):
        raise field_error(
            FIELD,
            asked.to,
            f"The plan before has {len(before.servers)} servers and {len(before.switches)} switches, the one after "
            f"{len(run.servers)} and {len(run.switches)}, or they have other names.",
            limit="the same servers, and no switch less",
            hint="Keep servers a rack (q/p), racks and clusters: with p from 1 to 2, double q.",
        )
    with _of_upgrade():
        after = networks.build(engine, asked.to, run.rate_bits_per_sec, run.mtu, None)
        with refused_by_field("body.plan"):
            order = _order(engine, before, after)
    changes = _Changes(before, after, run, asked)
    for row in order:
        changes.add(row)
    if changes.rewired:
        raise field_error(
            FIELD,
            asked.to,
            f"The work order rewires {len(changes.rewired)} cables that carry traffic, the first of {changes.rewired[0]}.",
            limit="an upgrade that adds cables, makes ports faster, or moves ToRs' uplinks from type 1 to 2",
            hint="Keep loops, clusters and switches, and give servers more ports, faster ones, or type 2.",
        )
    steps = changes.steps()
    if not steps:
        raise field_error(
            FIELD,
            asked.to,
            "The work order changes no cable.",
            limit="at least one",
            hint="Give servers more ports or faster ones.",
        )
    return Upgrade(f"{_title(before)} to {_title(after)}", steps, asked.at_secs, asked.step_secs)


class _Changes:
    """Collects the rows of a work order as changes of the run's links, by upper switch."""

    def __init__(self, before: Network, after: Network, run: Network, asked: Asked) -> None:
        self._before, self._run, self._asked = before, run, asked
        self._link_before = {link.id: link for link in before.links}
        self._ends_after = {link.id: _ends(after, link) for link in after.links}
        self._link = {_ends(run, link): link for link in run.links}
        kept = set(self._ends_after.values())
        self._former: dict[tuple[str, str], list[int]] = {}
        """Links that the upgrade removes, by the names of their devices."""
        for ends, link in self._link.items():
            if ends not in kept:
                self._former.setdefault((ends[0][0], ends[1][0]), []).append(link.id)
        self._added: dict[int, list[int]] = {}
        self._removed: dict[int, list[int]] = {}
        self._slower: dict[int, dict[int, float]] = {}
        """By upper switch: the links that get faster, with their old rates."""
        self.rewired: list[str] = []
        """Near ends of cables that cannot be moved under traffic."""

    def add(self, row: Json) -> None:
        if row["action"] == REMOVED:
            self.rewired.append(row["end_a"])
            return
        link = self._link[self._ends_after[row["after"]]]
        switch = max(link.a[0], link.b[0])
        if row["action"] == ADDED:
            self._added.setdefault(switch, []).append(link.id)
            return
        before = self._link_before[row["before"]]
        if row["reason"] == OTHER_DEVICE:
            (a, _), (b, _) = _ends(self._before, before)
            former = self._former.get((a, b))
            if not former:
                self.rewired.append(row["end_a"])
                return
            self._added.setdefault(switch, []).append(link.id)
            self._removed.setdefault(switch, []).append(former.pop(0))
            return
        was, becomes = self._before.rate_of(before), self._run.rate_of(link)
        if becomes < was * (1 - RATES_ALIKE):
            raise field_error(
                FIELD,
                self._asked.to,
                f"{self._run.link_name(link)} would get slower, {becomes / was:.3g} times its rate.",
                limit="the rates that links have",
                hint="Give no port a lower rate.",
            )
        if becomes > was * (1 + RATES_ALIKE):
            self._slower.setdefault(switch, {})[link.id] = was

    def steps(self) -> list[Step]:
        matches = []
        for number, switch in enumerate(dict.fromkeys([*self._added, *self._slower]), 1):
            new = [(link, "cable-pulled", {}) for link in self._added.get(switch, [])]
            slow = [
                (link, "link-rate", {"rate_bits_per_sec": rate}) for link, rate in self._slower.get(switch, {}).items()
            ]
            out = [(link, "cable-pulled", {}) for link in self._removed.get(switch, [])]
            name = self._run.name_of[switch]
            matches.append(
                Step(name, self._fault(f"upgrade-{number}", [*new, *slow]), self._fault(f"upgrade-{number}-out", out))
            )
        return matches

    def _fault(self, id_: str, struck: list[tuple[int, str, Json]]) -> Fault:
        names = {link.id: self._run.link_name(link) for link in self._run.links}
        strikes = [
            Strike(f"{id_}.{number}", kind, {"link": link}, names[link], parameters)
            for number, (link, kind, parameters) in enumerate(struck)
        ]
        return Fault(id_, "cable-pulled", strikes)


def _ends(network: Network, link: Link) -> Ends:
    (a, a_port), (b, b_port) = link.a, link.b
    return (network.name_of[a], a_port), (network.name_of[b], b_port)


def _order(engine: Engine, before: Network, after: Network) -> list[Json]:
    """The rows of the planner's work order."""
    book = engine.builtin_books[0]
    plans = [engine.plan({"topology": network.spec, "catalog": book["book"]}, book) for network in (before, after)]
    document = orjson.loads(engine.work_order_json(*plans))
    columns = document["columns"]
    names = {"action": document["actions"], "reason": document["reasons"]}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [{**row, **{name: words[row[name]] for name, words in names.items()}} for row in rows]


@contextmanager
def _of_upgrade() -> Iterator[None]:
    """Reports errors of the new plan under the field of the upgrade, since the run's own plan is
    valid."""

    def told(text: str) -> str:
        for plan in ("body.plan.topology", "body.plan"):
            text = text.replace(plan, FIELD)
        return text

    try:
        yield
    except ProblemError as error:
        own = [item.model_copy(update={"field": told(item.field)}) for item in error.errors]
        raise ProblemError(error.status, error.code, told(error.detail), errors=own) from error


def _title(network: Network) -> str:
    spec = topology_of(network.spec)
    names = ("type", "p", "q", "l", "server_gbps", "cluster_gbps", "uplink_gbps")
    shown = ", ".join(f"{name} {spec[name]}" for name in names if name in spec)
    return f"{network.family} ({shown})" if shown else network.family
