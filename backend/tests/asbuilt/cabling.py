"""Shared by the tests of work orders: carrying out an order port by port, and the least cost of any
order."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import combinations, count

from cubeyard.asbuilt.cables import FoundCable, PlannedCable, Port
from cubeyard.asbuilt.steps import Step, WorkOrder

Cabling = dict[Port, tuple[Port, int | None]]
"""By port, the other end's port and the cable's length."""


def port(number: int) -> Port:
    """Two ports a device."""
    return Port(f"d{number // 2}", f"p{number % 2}")


def planned(*cables: tuple[int, int, int]) -> list[PlannedCable]:
    """`(port, port, length in metres)`"""
    return [PlannedCable(i, port(a), port(b), length * 1000) for i, (a, b, length) in enumerate(cables)]


def found(*cables: tuple[int, int, int | None]) -> list[FoundCable]:
    return [
        FoundCable(port(a), port(b), None if length is None else length * 1000, f"line {i + 2}")
        for i, (a, b, length) in enumerate(cables)
    ]


class Floor:
    """Cables known only by the ports that they are in. Fails where a step plugs into a port that is
    taken, takes out of one that is empty, or takes the wrong cable."""

    def __init__(self, cables: Sequence[FoundCable]) -> None:
        self._fresh = count()
        self._ends: dict[Port, tuple[int, int]] = {}
        """The cable at each port, and which of its ends is plugged in there."""
        self._lengths: dict[int, int | None] = {}
        self._hanging: dict[int, int] = {}
        self._spare: dict[int, int] = {}
        """By step, the cable that it took out."""
        for cable in cables:
            name = next(self._fresh)
            self._lengths[name] = cable.length_mm
            for end, at in enumerate(cable.ends):
                self._plug(at, name, end)

    def do(self, step: Step) -> None:
        match step.action:
            case "remove":
                self._take(step)
            case "replace":
                self._take(step)
                self._put(step)
            case "pull":
                self._put(step)
            case "unplug":
                cable, end = self._ends.pop(step.out[0])
                self._hanging[cable] = end
                self._stays(step, cable, 1 - end)
            case "plug":
                assert step.stays is not None
                cable, end = self._ends[step.stays]
                assert self._hanging.pop(cable) == 1 - end
                self._plug(step.into[0], cable, 1 - end)
            case "move":
                assert step.into[0] not in self._ends, f"{step.into[0]} is taken"
                cable, end = self._ends.pop(step.out[0])
                self._stays(step, cable, 1 - end)
                self._plug(step.into[0], cable, end)

    def _plug(self, at: Port, cable: int, end: int) -> None:
        assert at not in self._ends, f"{at} is taken"
        self._ends[at] = (cable, end)

    def _stays(self, step: Step, cable: int, end: int) -> None:
        assert step.stays is not None
        assert self._ends[step.stays] == (cable, end)

    def _take(self, step: Step) -> None:
        taken = {self._ends.pop(at)[0] for at in step.out}
        assert (len(taken), len(step.out)) == (1, 2)
        self._spare[step.number] = taken.pop()

    def _put(self, step: Step) -> None:
        assert step.planned is not None
        cable = next(self._fresh) if step.reuses is None else self._spare.pop(step.reuses)
        self._lengths.setdefault(cable, step.planned.length_mm)
        assert self._lengths[cable] in (None, step.planned.length_mm)
        for end, at in enumerate(step.into):
            self._plug(at, cable, end)

    def cabling(self) -> Cabling:
        assert not self._hanging
        where = {(cable, end): at for at, (cable, end) in self._ends.items()}
        return {at: (where[cable, 1 - end], self._lengths[cable]) for at, (cable, end) in self._ends.items()}


def carry_out(order: WorkOrder, cables: Sequence[FoundCable]) -> Cabling:
    """Carries out every step as written. `after` must name the last step that frees a port for
    it."""
    floor = Floor(cables)
    freed: dict[Port, int] = {}
    for number, step in enumerate(order.steps, start=1):
        assert step.number == number
        waits = [freed[at] for at in step.into if at in freed and at not in step.out]
        assert step.after == max(waits, default=None)
        assert step.reuses is None or step.reuses < number
        floor.do(step)
        freed.update(dict.fromkeys(step.out, number))
    return floor.cabling()


def cost(order: WorkOrder) -> tuple[int, int]:
    return order.operations, len(order.steps)


State = tuple[tuple[int, int], ...]
"""By port: the port of the other end (itself: the other end hangs; -1: nothing is plugged in) and
the length (0: not known)."""
FREE = (-1, 0)


def state_of(cables: Sequence[tuple[int, int, int | None]], ports: int) -> State:
    state = [FREE] * ports
    for a, b, length in cables:
        state[a], state[b] = (b, length or 0), (a, length or 0)
    return tuple(state)


def least_costs(
    plan: Sequence[tuple[int, int, int]], ports: int, lengths: Sequence[int]
) -> dict[State, tuple[int, int]]:
    """The least (plug operations, steps) from every state of `ports` ports to the plan, by
    exhaustive search.

    Every step is reversible, so the search begins at the plan: the states whose cables have the
    planned or an unknown length. Without `lengths` no cable has a length.
    """
    goals: list[State] = [state_of((), ports)]
    for a, b, length in plan:
        goals = [
            (*state[:a], (b, told), *state[a + 1 : b], (a, told), *state[b + 1 :])
            for state in goals
            for told in ((0, length) if lengths else (0,))
        ]
    best: dict[State, tuple[int, int]] = {}
    queue: list[tuple[tuple[int, int], State]] = [((0, 0), goal) for goal in goals]
    heapq.heapify(queue)
    while queue:
        so_far, state = heapq.heappop(queue)
        if state in best:
            continue
        best[state] = so_far
        for operations, before in _before(state, lengths):
            if before not in best:
                heapq.heappush(queue, ((so_far[0] + operations, so_far[1] + 1), before))
    return best


def _with(state: State, *changes: tuple[int, tuple[int, int]]) -> State:
    out = list(state)
    for at, value in changes:
        out[at] = value
    return tuple(out)


def _before(state: State, lengths: Sequence[int]) -> Iterator[tuple[int, State]]:
    """Every state from which one step leads to `state`, with the step's plug operations."""
    free = [at for at, end in enumerate(state) if end == FREE]
    for at, (far, _) in enumerate(state):
        if far == at:
            yield from _before_hanging(state, at, free)
        elif far != -1:
            yield from _before_plugged(state, at, free, lengths)
    for length in {0, *lengths}:
        for item, two in combinations(free, 2):  # a cable was taken out
            yield 2, _with(state, (item, (two, length)), (two, (item, length)))
        for item in free:  # or one of which one end hung
            yield 1, _with(state, (item, (item, length)))


def _before_hanging(state: State, at: int, free: Sequence[int]) -> Iterator[tuple[int, State]]:
    """The cable at this port has one loose end: that end was unplugged, or the other end was moved
    here."""
    length = state[at][1]
    for source in free:
        yield 1, _with(state, (at, (source, length)), (source, (at, length)))
        yield 2, _with(state, (at, FREE), (source, (source, length)))


def _before_plugged(state: State, at: int, free: Sequence[int], lengths: Sequence[int]) -> Iterator[tuple[int, State]]:
    """The end at this port was plugged in or moved here; seen from the cable's first port also: it
    was pulled or replaced."""
    far, length = state[at]
    yield 1, _with(state, (far, (far, length)), (at, FREE))
    for source in free:
        yield 2, _with(state, (far, (source, length)), (source, (far, length)), (at, FREE))
    if far < at:
        return
    if length or not lengths:  # a newly plugged cable has a known length
        yield 2, _with(state, (at, FREE), (far, FREE))
        for earlier in {0, *lengths} - {length}:
            yield 4, _with(state, (at, (far, earlier)), (far, (at, earlier)))
