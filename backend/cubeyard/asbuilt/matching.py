"""What each cable of the plan and each cable that was found is: a pure function of both. [ours]"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from cubeyard.asbuilt.alternating import Chain, chains
from cubeyard.asbuilt.cables import FoundCable, PlannedCable, Port, fits

Kind = Literal[
    "in_order", "missing", "extra", "wrong_port", "swapped", "wrong_length", "unclear", "not_covered", "outside"
]
KINDS: dict[Kind, tuple[str, str]] = {
    "in_order": ("In order", "Plugged in as planned; as long as ordered, where the list tells lengths."),
    "missing": ("Missing", "Planned, and not in the list."),
    "extra": ("Extra", "In the list, and not planned."),
    "wrong_port": ("Wrong port", "Between the right two devices, in another port."),
    "swapped": ("Swapped", "Cables whose ends are exchanged among one another."),
    "wrong_length": ("Wrong length", "In the right ports, and not as long as ordered."),
    "unclear": (
        "Unclear",
        "The list says two things about a port, or does not name the other end. Look there first: the work order leaves it alone.",
    ),
    "not_covered": ("Not covered", "Neither device has reported."),
    "outside": ("Outside the plan", "Neither end is a port of the plan. The work order leaves it alone."),
}
"""Title and meaning of each kind, in the order of summaries. The order of a table is the same
without the first."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One cable that is not in order, or a planned and a found one that belong together."""

    kind: Kind
    planned: PlannedCable | None
    found: FoundCable | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every cable of the plan and of the list (duplicates count once) is in exactly one of these
    lists."""

    in_order: list[tuple[PlannedCable, FoundCable]]
    differences: list[Difference]
    to_reach: list[PlannedCable]
    """What the work order is to end with: all planned cables but the unclear ones and those not
    covered."""
    to_change: list[FoundCable]
    """What the work order begins with: all found cables but the unclear ones and those outside."""
    contradictions: list[str] = field(default_factory=list)


def compare(
    planned: Sequence[PlannedCable],
    found: Sequence[FoundCable],
    *,
    covered: Callable[[PlannedCable], bool] = lambda _: True,
    outside: Callable[[FoundCable], bool] = lambda _: False,
    unplanned: Callable[[FoundCable], str] = lambda _: "",
    half: Sequence[tuple[FoundCable, str]] = (),
) -> Comparison:
    """`planned` has each port at most once; `found` may name a port as often as the list does.

    `covered`: whether the list would have the cable if it were there. `outside`: whether a found
    cable has nothing to do with the plan. `unplanned`: why a cable cannot be planned, like an
    unknown device. `half`: cables of which the list names the end `a` alone, and why: they are left
    alone with all that is planned at that port. Linear in the number of cables, but for sorting.
    """
    merged, contradictions, unclear_ports = _merged(found)
    half_at = {cable.a: (cable, note) for cable, note in half}
    unclear_ports |= set(half_at)
    unclear = [cable for cable in merged if not unclear_ports.isdisjoint(cable.ends)]
    clear = [cable for cable in merged if unclear_ports.isdisjoint(cable.ends)]
    differences = [Difference("outside", None, cable, unplanned(cable)) for cable in clear if outside(cable)]
    differences += [Difference("unclear", None, cable) for cable in unclear]
    planned_at = {port: cable for cable in planned for port in cable.ends}
    differences += [
        Difference("unclear", None, cable, note) for port, (cable, note) in half_at.items() if port not in planned_at
    ]
    inside = [cable for cable in clear if not outside(cable)]
    present = {frozenset(cable.ends) for cable in inside}
    to_reach: list[PlannedCable] = []
    for cable in planned:
        if not unclear_ports.isdisjoint(cable.ends):
            seen, note = next((half_at[port] for port in cable.ends if port in half_at), (None, ""))
            differences.append(Difference("unclear", cable, seen, note))
        elif frozenset(cable.ends) not in present and not covered(cable):
            differences.append(Difference("not_covered", cable, None))
        else:
            to_reach.append(cable)
    in_order, different = _classified(to_reach, inside, unplanned)
    differences += different
    kinds = list(KINDS)
    differences.sort(
        key=lambda difference: (
            kinds.index(difference.kind),
            difference.planned.number if difference.planned else len(planned),
        )
    )
    return Comparison(in_order, differences, to_reach, inside, contradictions)


def _merged(found: Sequence[FoundCable]) -> tuple[list[FoundCable], list[str], set[Port]]:
    """Each cable once, what the list contradicts itself in, and the ports that it is about."""
    groups: dict[frozenset[Port], list[FoundCable]] = {}
    for cable in found:
        groups.setdefault(frozenset(cable.ends), []).append(cable)
    at: dict[Port, list[FoundCable]] = defaultdict(list)
    merged: list[FoundCable] = []
    contradictions: list[str] = []
    unclear: set[Port] = set()
    for ends, cables in groups.items():
        cable = next((item for item in cables if item.length_mm is not None), cables[0])
        merged.append(cable)
        for port in ends:
            at[port].append(cable)
        lengths = {item.length_mm for item in cables} - {None}
        if len(ends) == 1:
            unclear |= ends
            contradictions.append(f"{_words(cable.a)} is connected with itself ({cable.where}).")
        elif len(lengths) > 1:
            unclear |= ends
            reported = " and ".join(f"{item.length_mm / 1000:g} m ({item.where})" for item in cables if item.length_mm)
            contradictions.append(f"{_words(cable.a)} to {_words(cable.b)} has two lengths: {reported}.")
    for port, cables in at.items():
        if len(cables) > 1:
            unclear.update(end for cable in cables for end in cable.ends)
            reported = " and ".join(
                f"{_words(cable.b if cable.a == port else cable.a)} ({cable.where})" for cable in cables
            )
            contradictions.append(f"{_words(port)} is connected with {reported}.")
    # What else is at a port that is unclear now is unclear too: it may be the cable that the list
    # has wrong.
    return merged, contradictions, unclear


def _words(port: Port) -> str:
    return f"{port.device} {port.name}"


def _classified(
    planned: Sequence[PlannedCable], found: Sequence[FoundCable], unplanned: Callable[[FoundCable], str]
) -> tuple[list[tuple[PlannedCable, FoundCable]], list[Difference]]:
    in_order: list[tuple[PlannedCable, FoundCable]] = []
    differences: list[Difference] = []
    left_planned: list[PlannedCable] = []
    left_found: list[FoundCable] = []
    for chain in chains(planned, found):
        if chain.ring and len(chain.cables) == 2:
            entry, two = chain.pair(0)
            if fits(two, entry):
                in_order.append((entry, two))
            else:
                differences.append(Difference("wrong_length", entry, two, _lengths(entry, two)))
        elif chain.ring:
            pairs = ring_pairs(chain)
            note = f"{len(pairs)} cables exchanged: {', '.join(sorted(f'C{item.number:05d}' for item, _ in pairs)[:6])}"
            note += ", …" if len(pairs) > 6 else ""
            differences += [Difference("swapped", item, two, note) for item, two in pairs]
        else:
            paired = _same_devices(chain)
            differences += [Difference("wrong_port", item, two, _which(item, two)) for item, two in paired]
            taken = {id(cable) for pair in paired for cable in pair}
            for cable in chain.cables:
                if id(cable) not in taken:
                    (left_planned if isinstance(cable, PlannedCable) else left_found).append(cable)  # pyright: ignore[reportArgumentType]
    waiting: dict[tuple[str, ...], list[FoundCable]] = defaultdict(list)
    for cable in reversed(left_found):
        waiting[_devices(cable)].append(cable)
    for cable in left_planned:
        same = waiting[_devices(cable)]
        two = same.pop() if same else None
        kind: Kind = "missing" if two is None else "wrong_port"
        differences.append(Difference(kind, cable, two, _which(cable, two) if two else ""))
    differences += [
        Difference("extra", None, cable, unplanned(cable)) for rest in waiting.values() for cable in reversed(rest)
    ]
    return in_order, differences


def ring_pairs(chain: Chain) -> list[tuple[PlannedCable, FoundCable]]:
    """Each planned cable of a ring with one of the two found ones that it shares a port with: the
    way round with more pairs that are between the same two devices and fit."""
    ways = [[chain.pair(joint) for joint in range(first, len(chain.cables), 2)] for first in (0, 1)]
    return max(ways, key=lambda pairs: sum(_devices(item) == _devices(two) and fits(two, item) for item, two in pairs))


def _same_devices(chain: Chain) -> list[tuple[PlannedCable, FoundCable]]:
    """As many neighbours in a path as can be paired that are between the same two devices: the
    first that can be, from one end."""
    pairs: list[tuple[PlannedCable, FoundCable]] = []
    joint = 0
    while joint < len(chain.joints):
        item, two = chain.pair(joint)
        if _devices(item) == _devices(two):
            pairs.append((item, two))
            joint += 1
        joint += 1
    return pairs


def _devices(cable: PlannedCable | FoundCable) -> tuple[str, ...]:
    return tuple(sorted((cable.a.device, cable.b.device)))


def _which(planned: PlannedCable, found: FoundCable) -> str:
    """`s0-1: P2 instead of P1` for each end that is in another port."""
    ends = dict.fromkeys(planned.ends)
    wrong = [port for port in found.ends if port not in ends]
    due = [port for port in planned.ends if port not in found.ends]
    if len(wrong) == 2 and wrong[0].device != due[0].device:
        due.reverse()
    return ", ".join(f"{is_.device}: {is_.name} instead of {was.name}" for is_, was in zip(wrong, due, strict=True))


def _lengths(planned: PlannedCable, found: FoundCable) -> str:
    assert found.length_mm is not None
    return f"{found.length_mm / 1000:g} m instead of {planned.length_mm / 1000:g} m"
