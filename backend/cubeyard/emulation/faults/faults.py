"""Faults: requests resolved to devices and links by the engine, with a seed, and the schedule of
when each starts and ends."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from math import inf
from typing import Any, Literal

from cubeyard.emulation.faults.drawn import drawn_within
from cubeyard.emulation.network.network import Network
from cubeyard.engine import Engine, PlanRejectedError
from cubeyard.experiments.checks import refused_by_field
from cubeyard.experiments.fault_kinds import KINDS, Target
from cubeyard.kit.errors import field_error

Json = dict[str, Any]


NOUNS: dict[Target, str] = {"server": "servers", "switch": "switches", "link": "links"}


@dataclass(frozen=True)
class Strike:
    """One kind of fault on one device or link."""

    id: str
    kind: str
    target: Json
    """`{server}`, `{switch}` or `{link}`, by id."""
    name: str
    """The name of the device or link."""
    parameters: Json

    def for_fabric(self) -> Json:
        return {"id": self.id, "kind": self.kind, "target": self.target, **self.parameters}


@dataclass(frozen=True)
class Fault:
    """A fault of a request, resolved to its targets in this network."""

    id: str
    kind: str
    strikes: list[Strike]
    at_secs: float = 0.0
    until_secs: float | None = None
    flap_secs: float | None = None
    """Duration of each on and off phase, if the fault flaps."""

    @property
    def names(self) -> list[str]:
        return [strike.name for strike in self.strikes]

    def at(self, secs: float) -> Fault:
        """The same fault with its times counted from `secs`."""
        until = None if self.until_secs is None else self.until_secs + secs
        return replace(self, at_secs=self.at_secs + secs, until_secs=until)

    def document(self) -> Json:
        """All data as JSON; `read` returns the same fault."""
        return asdict(self)

    @classmethod
    def read(cls, document: Json) -> Fault:
        """The fault that `document` describes."""
        strikes = [Strike(**strike) for strike in document["strikes"]]
        return cls(**{**document, "strikes": strikes})

    def described(self) -> Json:
        """The form in frames, with targets by name."""
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
    engine: Engine, network: Network, asked: list[Json], seed: int, ids: list[str], where: str | None = None
) -> list[Fault]:
    """Resolves each fault to its devices and links. `where` is the request's field of a single
    fault; without it, the faults are the list `body.faults`. A share is one of the network's
    devices, which may be a part of the plan's. Raises a 422 that names the field of a target that
    is not in the network."""
    if not asked:
        return []
    plain = [{"target": item["target"]} for item in asked]
    with _refused_at(where):
        struck = engine.fault_targets(network.spec, plain, seed)
    matches = []
    for i, (item, planned, id_) in enumerate(zip(asked, struck, ids, strict=True)):
        kind, field = item.get("kind", "down"), where or f"body.faults.{i}"
        drawn = None if network.whole else drawn_within(engine, network, item["target"], seed + i, field)
        matches.append(
            Fault(
                id_,
                kind,
                list(_strikes(network, id_, kind, item, drawn or planned, field)),
                item.get("at_secs") or 0.0,
                item.get("until_secs"),
                item.get("flap_secs"),
            )
        )
    return matches


@contextmanager
def _refused_at(where: str | None) -> Iterator[None]:
    """Converts the engine's findings about faults to errors of the request's fields."""
    try:
        yield
    except PlanRejectedError as error:
        if where is None:
            with refused_by_field("body"):
                raise
        own = [{**finding, "where": finding["where"].removeprefix("faults[0].")} for finding in error.findings]
        with refused_by_field(where):
            raise PlanRejectedError(own, code=error.code) from error


def _strikes(network: Network, id_: str, kind: str, asked: Json, hit: Json, where: str) -> Iterator[Strike]:
    links = {link.id: link for link in network.links}
    by_target: dict[Target, list[int]] = {
        "server": [node for node in hit["nodes"] if node in network.servers],
        "switch": [node for node in hit["nodes"] if node in network.switches],
        "link": [link for link in hit["links"] if link in links],
    }
    parameters = {parameter.name: asked[parameter.name] for parameter in KINDS[kind].parameters}
    matches: list[tuple[Target, int]] = [(target, item) for target in KINDS[kind].targets for item in by_target[target]]
    for count, (target, entry) in enumerate(matches):
        name = network.link_name(links[entry]) if target == "link" else network.name_of[entry]
        yield Strike(f"{id_}.{count}", KINDS[kind].exact(target), {target: entry}, name, parameters)
    wanted = asked["target"]
    if not matches and not hit["nodes"] and not hit["links"]:
        count = {"server": len(network.servers), "switch": len(network.switches), "link": len(network.links)}
        shares = ", ".join(f"{count[target]} {NOUNS[target]}" for target in KINDS[kind].targets)
        raise field_error(
            f"{where}.target",
            wanted,
            f"{_words_of(wanted)} is none: the run has {shares}.",
            limit="at least one",
            hint="Give a larger share, or names.",
        )
    if not matches:
        hits = " or ".join(f"a {target}" for target in KINDS[kind].targets)
        if not any(by_target.values()):
            raise field_error(
                f"{where}.target",
                wanted,
                f"{_words_of(wanted)} is outside of the part of the plan that runs.",
                limit=f"{hits} of that part, like {next(iter(network.servers.values()))}",
                hint="Name devices of the part, or give a share of its servers, switches or links: racks are those of the plan.",
            )
        raise field_error(
            f"{where}.target",
            wanted,
            f"The target of {kind} is not {hits} of this run.",
            limit=f"{kind} hits {hits}",
            hint=f"Links are named by their two ends, like {network.link_name(network.links[0])}.",
        )


def _words_of(target: Json) -> str:
    if names := target.get("names"):
        return ", ".join(names)
    kind = target.get("kind", "rack")
    return target.get("selector") or f"{target.get('ratio', 0) * 100:g}% of {NOUNS.get(kind, 'racks')}"


@dataclass(order=True)
class Due:
    """An action at a time of the session."""

    at_secs: float
    order: int
    action: Literal["inject", "recover"] = field(compare=False)
    fault: Fault = field(compare=False)
    last: bool = field(default=False, compare=False)
    """Whether this is the fault's end, after which it stays off even if it flaps."""


LATE_SECS = 0.2
"""A fault is injected with the first tick after its time, so up to 0.1 s late. After another tick
it is reported as late."""
NEVER = "The run ended before this fault was due."
"""Why a scheduled or ordered fault was not injected."""


class Schedule:
    """When each fault starts and ends. A flapping fault is on and off in turn until its end."""

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
        """A new schedule of the same faults."""
        return Schedule(self.faults)

    def add(self, fault: Fault) -> None:
        self._push(fault.at_secs, "inject", fault)
        if fault.until_secs is not None:
            self._push(fault.until_secs, "recover", fault, last=True)

    def delay(self, fault_id: str, secs: float) -> None:
        """Shifts the remaining times of a fault by its delay, so that it keeps its length."""
        for due in self._waiting:
            if due.fault.id == fault_id:
                due.at_secs += secs
        heapq.heapify(self._waiting)

    def due(self, now_secs: float) -> Iterator[Due]:
        """The actions that are due at `now_secs`, in order of time, each returned once."""
        while self._waiting and self._waiting[0].at_secs <= now_secs:
            item = heapq.heappop(self._waiting)
            if item.fault.flap_secs is not None:
                if item.last:
                    self.cancel(item.fault.id)
                else:
                    other: Literal["inject", "recover"] = "recover" if item.action == "inject" else "inject"
                    self._push(item.at_secs + item.fault.flap_secs, other, item.fault)
            yield item

    def ends_secs(self, fault_id: str) -> float:
        """When the fault ends next; infinite if it never does."""
        ends = (due.at_secs for due in self._waiting if due.fault.id == fault_id and due.action == "recover")
        return min(ends, default=inf)

    def cancel(self, fault_id: str | None = None) -> None:
        """Cancels actions that are not due yet, of one fault or of all."""
        self._waiting = [item for item in self._waiting if fault_id is not None and item.fault.id != fault_id]
        heapq.heapify(self._waiting)

    @property
    def last_secs(self) -> float:
        """The latest start or end of any fault; 0 without faults."""
        times = [fault.at_secs for fault in self.faults]
        return max([*times, *(fault.until_secs for fault in self.faults if fault.until_secs is not None)], default=0.0)

    def _push(self, at_secs: float, action: Literal["inject", "recover"], fault: Fault, *, last: bool = False) -> None:
        self._order += 1
        heapq.heappush(self._waiting, Due(at_secs, self._order, action, fault, last))
