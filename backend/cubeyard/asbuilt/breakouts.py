"""Breakout cables in a work order: what is done with one plug or one cable is one step, not one for
each leg. [ours]

A list from the floor names links, and knows nothing of the cables that carry several. So the order
is made leg by leg, and then:

- legs of one cable that are all put in are one cable that is put in;
- a leg that is put in while others of its cable stay or move is a leg that hangs, and is plugged
  in;
- ends of one cable that leave or enter its trunk's ports in the same way are one plug.

What is put together stands where the last of its steps was. Where a port would be needed before it
is free, the order stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cubeyard.asbuilt.cables import FoundCable
from cubeyard.asbuilt.steps import Step

Group = tuple[str, int, frozenset[str]]
"""The action, the breakout cable, and devices where its plug comes from."""


def together(steps: Sequence[Step], found: Iterable[FoundCable]) -> list[Step]:
    """The order with one step a plug or cable. Linear in steps."""
    put_in: dict[int, int] = {}
    for step in steps:
        if step.action == "pull" and step.planned and step.planned.leg:
            put_in[step.planned.leg.cable] = put_in.get(step.planned.leg.cable, 0) + 1
    alone = [_hanging(step, put_in) for step in steps]
    groups: dict[Group, list[int]] = {}
    for index, step in enumerate(alone):
        group = _group(step)
        if group is not None:
            groups.setdefault(group, []).append(index)
    merged: list[Step | None] = [*alone]
    for members in groups.values():
        planned = alone[members[0]].planned
        # Of a cable whose legs do not go the same way, each is told on its own.
        if planned is None or planned.leg is None or planned.leg.legs != len(members):
            continue
        for index in members[:-1]:
            merged[index] = None
        merged[members[-1]] = _one([alone[index] for index in members])
    order = [step for step in merged if step is not None]
    return order if _possible(order, found) else alone


def _hanging(step: Step, put_in: dict[int, int]) -> Step:
    """A leg whose cable is there already is plugged in at its own end."""
    planned = step.planned
    if step.action != "pull" or planned is None or planned.leg is None or planned.trunk is None:
        return step
    if put_in[planned.leg.cable] == planned.leg.legs:
        return step
    into = tuple(port for port in step.into if port != planned.trunk)
    return replace(step, action="plug", into=into, stays=planned.trunk)


def _group(step: Step) -> Group | None:
    planned = step.planned
    if planned is None or planned.leg is None:
        return None
    if step.action in ("pull", "replace"):
        return step.action, planned.leg.cable, frozenset()
    # The other end of a leg that stays at its own end is at the trunk.
    if (
        step.stays is not None
        and step.stays != planned.trunk
        and (planned.trunk in step.into or step.action == "unplug")
    ):
        return step.action, planned.leg.cable, frozenset(port.device for port in step.out)
    return None


def _one(steps: Sequence[Step]) -> Step:
    """Their ports in the order of the legs."""
    first = steps[0]
    if len(steps) == 1:
        return first
    steps = sorted(steps, key=lambda step: step.planned.number if step.planned else 0)
    out = tuple(port for step in steps for port in step.out)
    into = tuple(port for step in steps for port in step.into)
    whole = first.action in ("pull", "replace")
    plugs = (1 + len(steps) if whole else 1) * ((1 if out else 0) + (1 if into else 0))
    return replace(steps[0], out=out, into=into, legs=len(steps), plugs=plugs)


def _possible(steps: Sequence[Step], found: Iterable[FoundCable]) -> bool:
    """Whether no step needs a port that is taken."""
    taken = {port for cable in found for port in cable.ends}
    for step in steps:
        taken.difference_update(step.out)
        if taken.intersection(step.into):
            return False
        taken.update(step.into)
    return True
