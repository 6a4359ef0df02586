"""Faults as they are asked for, as they strike, and when: by name, share or words, seeded, at once, on a schedule, flapping."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from cubeyard.emulation.network import Network
from cubeyard.engine import Engine
from cubeyard.experiments.schemas import PARAMETERS
from cubeyard.kit.errors import field_error

Json = dict[str, Any]
Class = Literal["server", "switch", "link"]

KINDS: dict[str, Class] = {
    "server-killed": "server",
    "server-frozen": "server",
    "server-off": "server",
    "cable-pulled": "link",
    "cable-cut-silent": "link",
    "port-down": "link",
    "switch-silent": "switch",
    "switch-off": "switch",
    "link-rate": "link",
    "link-loss": "link",
    "link-delay": "link",
}
"""What each kind strikes."""
DOWN: dict[Class, str] = {"server": "server-off", "switch": "switch-off", "link": "cable-pulled"}
"""What plain `down` means with real packets."""
CARRIES = frozenset({"link-rate", "link-loss", "link-delay"})
"""Kinds after which the link still carries packets: it has not failed."""
BY_ENGINE = frozenset({"server-killed", "server-frozen"})
"""Kinds that Docker does where servers are containers."""


@dataclass(frozen=True)
class Strike:
    """One kind of fault on one device or link."""

    id: str
    kind: str
    target: Json
    """`{server}`, `{switch}`, `{link}` or `{port: [server, port]}`, by id."""
    name: str
    """Of the device or link."""
    parameters: Json

    def for_fabric(self) -> Json:
        return {"id": self.id, "kind": self.kind, "target": self.target, **self.parameters}


@dataclass(frozen=True)
class Fault:
    """What was asked for, and what it comes to here."""

    id: str
    kind: str
    strikes: list[Strike]
    at_secs: float = 0.0
    until_secs: float | None = None
    flap_secs: float | None = None
    """It comes and goes, for this long each."""

    @property
    def names(self) -> list[str]:
        return [strike.name for strike in self.strikes]

    def at(self, secs: float) -> Fault:
        """The same, its times counted from then."""
        until = None if self.until_secs is None else self.until_secs + secs
        return replace(self, at_secs=self.at_secs + secs, until_secs=until)

    def described(self) -> Json:
        return {
            "id": self.id,
            "kind": self.kind,
            "targets": self.names,
            "at_secs": self.at_secs,
            "until_secs": self.until_secs,
            "flap_secs": self.flap_secs,
            **(self.strikes[0].parameters if self.strikes else {}),
        }


def resolve(
    engine: Engine, network: Network, asked: list[Json], seed: int, ids: list[str], where: str = "body.faults"
) -> list[Fault]:
    """What each fault strikes. Raises a 422 that names the fault whose target is not there."""
    if not asked:
        return []
    plain = [{"target": one["target"]} for one in asked]
    struck = engine.fault_targets(network.spec, plain, seed)
    found = []
    for i, (one, hit, id_) in enumerate(zip(asked, struck, ids, strict=True)):
        kind = one.get("kind", "down")
        found.append(
            Fault(
                id_,
                kind,
                list(_strikes(network, id_, kind, one, hit, f"{where}.{i}" if len(asked) > 1 else where)),
                one.get("at_secs") or 0.0,
                one.get("until_secs"),
                one.get("flap_secs"),
            )
        )
    return found


def _strikes(network: Network, id_: str, kind: str, asked: Json, hit: Json, where: str) -> Iterator[Strike]:
    parameters = _parameters(kind, asked, where)
    links = {link.id: link for link in network.links}
    by_class: dict[Class, list[int]] = {
        "server": [one for one in hit["nodes"] if one in network.servers],
        "switch": [one for one in hit["nodes"] if one in network.switches],
        "link": [one for one in hit["links"] if one in links],
    }
    wanted: list[Class] = [KINDS[kind]] if kind != "down" else ["server", "switch", "link"]
    count = 0
    for one_class in wanted:
        exact = DOWN[one_class] if kind == "down" else kind
        for one in by_class[one_class]:
            if one_class != "link":
                target, name = {one_class: one}, network.name_of[one]
            else:
                link, name = links[one], network.link_name(links[one])
                target = {"port": list(link.a)} if exact == "port-down" else {"link": one}
            yield Strike(f"{id_}.{count}", exact, target, name, parameters)
            count += 1
    if count == 0:
        what = {"server": "a server", "switch": "a switch", "link": "a link"}
        strikes = "anything" if kind == "down" else what[KINDS[kind]]
        raise field_error(
            f"{where}.target",
            asked["target"],
            f"The target of {kind} is not {strikes} of this run.",
            limit=f"{kind} strikes {strikes}",
            hint=f"Links are named by their two ends, like {network.link_name(network.links[0])}.",
        )


def _parameters(kind: str, asked: Json, where: str) -> Json:
    name = PARAMETERS.get(kind)
    if name is None:
        return {}
    value = asked.get(name)
    if value is None:
        raise field_error(f"{where}.{name}", None, f"{kind} needs {name}.", hint=f"Give {name} beside the kind.")
    return {name: value}


@dataclass(order=True)
class Due:
    """Something to do at a time of the session."""

    at_secs: float
    order: int
    action: Literal["inject", "recover"] = field(compare=False)
    fault: Fault = field(compare=False)


class Schedule:
    """What strikes and ends when. A fault that flaps comes and goes until its end."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = faults
        self._waiting: list[Due] = []
        self._order = 0
        for fault in faults:
            self.add(fault)

    @classmethod
    def read(cls, engine: Engine, network: Network, asked: list[Json], seed: int) -> Schedule:
        return cls(resolve(engine, network, asked, seed, [f"f{i + 1}" for i in range(len(asked))]))

    def again(self) -> Schedule:
        """The same from the start."""
        return Schedule(self.faults)

    def add(self, fault: Fault) -> None:
        self._push(fault.at_secs, "inject", fault)
        if fault.until_secs is not None:
            self._push(fault.until_secs, "recover", fault)

    def due(self, now_secs: float) -> Iterator[Due]:
        """What is to be done by now, in order of time."""
        while self._waiting and self._waiting[0].at_secs <= now_secs:
            one = heapq.heappop(self._waiting)
            if one.fault.flap_secs is not None:
                if one.action == "recover" and one.at_secs == one.fault.until_secs:
                    self.cancel(one.fault.id)
                else:
                    other: Literal["inject", "recover"] = "recover" if one.action == "inject" else "inject"
                    self._push(one.at_secs + one.fault.flap_secs, other, one.fault)
            yield one

    def cancel(self, fault_id: str | None = None) -> None:
        """Forget what is to come: of one fault, or all."""
        self._waiting = [one for one in self._waiting if fault_id is not None and one.fault.id != fault_id]
        heapq.heapify(self._waiting)

    @property
    def last_secs(self) -> float:
        """When the last known thing happens; 0 if nothing does."""
        times = [fault.at_secs for fault in self.faults]
        return max([*times, *(fault.until_secs for fault in self.faults if fault.until_secs is not None)], default=0.0)

    def _push(self, at_secs: float, action: Literal["inject", "recover"], fault: Fault) -> None:
        self._order += 1
        heapq.heappush(self._waiting, Due(at_secs, self._order, action, fault))
