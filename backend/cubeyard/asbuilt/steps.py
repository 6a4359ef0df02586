"""The steps of a work order: what one does at a rack without a break, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cubeyard.asbuilt.cables import FoundCable, PlannedCable, Port

Action = Literal["remove", "unplug", "move", "plug", "replace", "pull"]
ACTIONS: dict[Action, str] = {
    "remove": "Take out",
    "unplug": "Unplug one end",
    "move": "Move one end",
    "plug": "Plug in",
    "replace": "Replace",
    "pull": "Put in",
}


@dataclass(frozen=True, slots=True)
class Step:
    """Ends leave the ports `out`, then ends go into the ports `into`."""

    number: int
    """From 1."""
    action: Action
    planned: PlannedCable | None
    """What the cable is in the plan from then on; None for one that is taken out."""
    found: FoundCable | None
    """The cable as it was found; None for one that is put in."""
    out: tuple[Port, ...]
    into: tuple[Port, ...]
    stays: Port | None
    """Where the cable's other end is all the time."""
    rack: str
    """Where the first of its ports is; empty if the plan has none of them."""
    after: int | None = None
    """The step that has to be done before, because it frees a port."""
    reuses: int | None = None
    """The step that took out the cable that is put in here; None for a new one."""

    legs: int = 1
    """Legs of a breakout cable that are handled together; the ports are those of all of them."""
    plugs: int | None = None
    """Plugs that are put in or taken out, where several legs share one; None for one a port."""

    @property
    def operations(self) -> int:
        return len(self.out) + len(self.into) if self.plugs is None else self.plugs

    def numbered(self, number: int, after: int | None, reuses: int | None) -> Step:
        return replace(self, number=number, after=after, reuses=reuses)

    def text(self) -> str:
        """The step as one sentence."""
        name = f"C{self.planned.number:05d}" if self.planned else ""
        return self._of_legs(name) if self.legs > 1 else self._of_one(name)

    def _of_one(self, name: str) -> str:
        out, into = ([_words(port) for port in ports] for ports in (self.out, self.into))
        stays = _words(self.stays) if self.stays else ""
        length = f"{self.planned.length_mm / 1000:g} m" if self.planned else ""
        cable = f"a new cable of {length}" if self.reuses is None else f"the cable of step {self.reuses} ({length})"
        match self.action:
            case "remove":
                return f"Take out the cable between {out[0]} and {out[1]}."
            case "unplug":
                return f"Unplug {out[0]} and leave the end hanging; the other end stays in {stays}. It becomes {name}."
            case "move":
                return f"Move the end in {out[0]} to {into[0]}; the other end stays in {stays}. It becomes {name} ({length})."
            case "plug":
                return f"Plug the hanging end into {into[0]}; the other end is in {stays}. It is {name} now ({length})."
            case "replace":
                return f"Replace the cable between {out[0]} and {out[1]} with {cable}. It is {name}."
            case "pull":
                return f"Plug {cable} into {into[0]} and {into[1]}. It is {name}."

    def _of_legs(self, name: str) -> str:
        """The sentence for a breakout cable, whose legs share the trunk's plug."""
        trunk = self.planned.trunk if self.planned else None
        device = trunk.device if trunk else ""
        plug = _span([port for port in self.into if port.device == device])
        legs = ", ".join(_words(port) for port in self.into if port.device != device)
        length = f"{self.planned.length_mm / 1000:g} m" if self.planned else ""
        match self.action:
            case "unplug":
                return f"Unplug the trunk in {_span(self.out)} and leave it hanging; its {self.legs} legs stay. It becomes {name}."
            case "move":
                return f"Move the trunk in {_span(self.out)} to {plug}; its {self.legs} legs stay. It becomes {name} ({length})."
            case "plug":
                return f"Plug the hanging trunk into {plug}; its {self.legs} legs are in place. It is {name} now ({length})."
            case "replace":
                return f"Replace the breakout cable from {plug} to {legs} with a new one of {length}. It is {name}."
            case _:
                return f"Plug a new breakout cable of {length} into {plug} with its trunk and into {legs} with its legs. It is {name}."


@dataclass(frozen=True, slots=True)
class WorkOrder:
    steps: Sequence[Step]

    @property
    def operations(self) -> int:
        """Ends put into ports and taken out of ports."""
        return sum(step.operations for step in self.steps)

    @property
    def new_cables(self) -> int:
        return sum(step.action in ("pull", "replace") and step.reuses is None for step in self.steps)


def _words(port: Port) -> str:
    return f"{port.device} {port.name}"


def _span(ports: Sequence[Port]) -> str:
    """Ports of one plug: the first and the last."""
    names = [port.name for port in ports]
    if not names:
        return ""
    return f"{ports[0].device} {names[0]}" + (f" to {names[-1]}" if len(names) > 1 else "")
