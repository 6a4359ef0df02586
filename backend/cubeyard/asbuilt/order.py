"""The shortest work order that turns cables as found into cables as planned. [ours]

**Shortest** means: the fewest plug operations, of those the fewest steps. A plug operation is one
end put into a port or taken out of one. A step is what one does without a break: take a cable out
(two operations), put one in (two), move one end from its port into a free one (two), take one end
out and leave it hanging (one), plug a hanging end in (one), replace a cable between its two ports
(four). A port holds one end at a time. A cable serves for a planned one only if it fits: of the
ordered length, or of a length that the list does not tell.

**Why this is the least.** However it is done, in the end some found cables serve for planned ones
and the others are out. One that serves and shares both ports costs nothing, one that shares one
port 2 operations, one that shares none 4, as many as taking it out and putting another in. So all
in all it is 2 operations for each cable of both lists, less 2 for each port that a cable and what
it serves for share. To share a port they have to be neighbours in a chain (`alternating.py`), so
that the most shared ports are a largest matching of neighbours that fit, in each path and ring on
its own. A matched cable then takes one step, every other one too; only where all cables of a ring
wait for one another, one end has to hang, which is one step more and no operation. Of several
largest matchings it is one that moves ends within a device, else within a rack, as far as possible:
such a cable is long enough and needs no new way.

Legs of a breakout cable are ordered like cables, and put together at the end (`breakouts.py`).

Taken out cables are put in again where their length is known and ordered, or where they were
between the same two devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from cubeyard.asbuilt.alternating import Chain, chains
from cubeyard.asbuilt.breakouts import together
from cubeyard.asbuilt.cables import LENGTH_TOLERANCE_MM, FoundCable, PlannedCable, Port, fits, other
from cubeyard.asbuilt.steps import Action, Step, WorkOrder

Weight = tuple[int, int]
"""How many cables are matched, and how close their ends are moved."""
_NOTHING: Weight = (0, 0)


def work_order(
    planned: Sequence[PlannedCable],
    found: Sequence[FoundCable],
    rack: Callable[[Port], str | None] = lambda _: None,
) -> WorkOrder:
    """Neither list may have a port twice. `rack` says in which rack a port is, None for one that
    the plan does not have.

    Cables are taken out first; then each chain is done before the next one begins, in the order of
    racks. Linear in the number of cables, but for sorting.
    """
    writer = _Writer(rack)
    blocks: list[list[Step]] = []
    removals: list[Step] = []
    for chain in chains(planned, found):
        if chain.ring and len(chain.cables) == 2:
            entry, two = chain.pair(0)
            if not fits(two, entry):
                blocks.append([writer.step("replace", entry, two, two.ends, two.ends)])
            continue
        matched = _matched(chain, writer.closeness)
        serving = {id(two) for _, two, _ in matched}
        served = {id(item) for item, _, _ in matched}
        removals += [
            writer.step("remove", None, cable, cable.ends, ())
            for cable in chain.cables
            if isinstance(cable, FoundCable) and id(cable) not in serving
        ]
        steps = _moves(matched, writer)
        steps += [
            writer.step("pull", cable, None, (), cable.ends)
            for cable in chain.cables
            if isinstance(cable, PlannedCable) and id(cable) not in served
        ]
        if steps:
            blocks.append(steps)
    removals.sort(key=lambda step: (step.rack, step.out))
    blocks.sort(key=lambda steps: (steps[0].rack, steps[0].planned.number if steps[0].planned else 0))
    steps = [*removals, *(step for steps in blocks for step in steps)]
    if any(cable.leg for cable in planned):
        steps = together(steps, found)
    return WorkOrder(_numbered(steps))


class _Writer:
    def __init__(self, rack: Callable[[Port], str | None]) -> None:
        self._rack = rack

    def closeness(self, source: Port, target: Port) -> int:
        if source.device == target.device:
            return 2
        here = self._rack(source)
        return 1 if here is not None and here == self._rack(target) else 0

    def step(
        self,
        action: Action,
        planned: PlannedCable | None,
        found: FoundCable | None,
        out: Sequence[Port],
        into: Sequence[Port],
        stays: Port | None = None,
    ) -> Step:
        rack = next((rack for port in (*out, *into) if (rack := self._rack(port)) is not None), "")
        return Step(0, action, planned, found, tuple(out), tuple(into), stays, rack)


Matched = tuple[PlannedCable, FoundCable, Port]
"""A found cable that serves for a planned one, and the port that it stays in."""


def _matched(chain: Chain, closeness: Callable[[Port, Port], int]) -> list[Matched]:
    """The most neighbours of a chain that fit, each cable once; of several choices the one that
    moves ends the least far."""
    weights: list[Weight | None] = []
    for joint, port in enumerate(chain.joints):
        item, two = chain.pair(joint)
        weights.append((1, closeness(other(two, port), other(item, port))) if fits(two, item) else None)
    if chain.ring:
        shut = next((joint for joint, weight in enumerate(weights) if weight is None), None)
        if shut is None:
            # Only two matchings have every cable: one way round and the other.
            ways = [range(first, len(weights), 2) for first in (0, 1)]
            taken = list(max(ways, key=lambda way: _sum(weights[joint] for joint in way)))
        else:
            # Where two neighbours cannot be matched, the ring may be cut into a path.
            turned = [(shut + 1 + joint) % len(weights) for joint in range(len(weights) - 1)]
            taken = [turned[joint] for joint in _heaviest([weights[joint] for joint in turned])]
    else:
        taken = _heaviest(weights)
    return [(*chain.pair(joint), chain.joints[joint]) for joint in taken]


def _sum(weights: Iterable[Weight | None]) -> Weight:
    known = [weight for weight in weights if weight is not None]
    return sum(count for count, _ in known), sum(near for _, near in known)


def _heaviest(weights: Sequence[Weight | None]) -> list[int]:
    """The joints of a path, no two beside each other, with the largest sum. `None` may not be
    taken."""
    best: list[Weight] = [_NOTHING, _NOTHING]
    """`best[i + 1]`: of the first `i` joints."""
    for weight in weights:
        with_it = None if weight is None else (best[-2][0] + weight[0], best[-2][1] + weight[1])
        best.append(best[-1] if with_it is None or with_it <= best[-1] else with_it)
    taken: list[int] = []
    joint = len(weights) - 1
    while joint >= 0:
        if best[joint + 2] == best[joint + 1]:
            joint -= 1
        else:
            taken.append(joint)
            joint -= 2
    return taken[::-1]


def _moves(matched: Sequence[Matched], writer: _Writer) -> list[Step]:
    """One end of each cable moved, each into a port that is free by then. Where all wait for one
    another, one end hangs meanwhile."""
    leaves = {other(two, port): index for index, (_, two, port) in enumerate(matched)}
    """By the port that an end leaves, who leaves it."""
    steps: list[Step] = []
    done = [False] * len(matched)

    def move(index: int) -> Step:
        one, two, port = matched[index]
        return writer.step("move", one, two, (other(two, port),), (other(one, port),), port)

    for start in range(len(matched)):
        waiting: list[int] = []
        index: int | None = start
        while index is not None and not done[index]:
            done[index] = True
            waiting.append(index)
            item, _, port = matched[index]
            index = leaves.get(other(item, port))
        if waiting and index == start and index is not None:
            item, two, port = matched[start]
            source, target = other(two, port), other(item, port)
            steps.append(writer.step("unplug", item, two, (source,), (), port))
            steps += [move(each) for each in reversed(waiting[1:])]
            steps.append(writer.step("plug", item, two, (), (target,), port))
        else:
            steps += [move(each) for each in reversed(waiting)]
    return steps


def _numbered(steps: Sequence[Step]) -> list[Step]:
    """With numbers, with the step that frees the last of the ports that a step needs, and with the
    cable that can be used again."""
    freed: dict[Port, int] = {}
    stock = _Stock()
    numbered: list[Step] = []
    for number, step in enumerate(steps, start=1):
        after = max((freed[port] for port in step.into if port in freed and port not in step.out), default=None)
        # What was taken out is told as single cables, so no leg of a breakout is made of it.
        put_in = step.planned if step.action in ("pull", "replace") and step.planned and not step.planned.leg else None
        reuses = stock.take(put_in) if put_in else None
        numbered.append(step.numbered(number, after, reuses))
        freed.update(dict.fromkeys(step.out, number))
        if step.action in ("remove", "replace") and step.found:
            stock.put(number, step.found)
    return numbered


class _Stock:
    """Cables that were taken out, by the numbers of their steps."""

    def __init__(self) -> None:
        self._by_length: dict[int, list[int]] = {}
        self._by_devices: dict[frozenset[str], list[int]] = {}

    def put(self, number: int, cable: FoundCable) -> None:
        if cable.length_mm is None:
            self._by_devices.setdefault(frozenset((cable.a.device, cable.b.device)), []).append(number)
        else:
            self._by_length.setdefault(cable.length_mm, []).append(number)

    def take(self, planned: PlannedCable) -> int | None:
        near = range(planned.length_mm - LENGTH_TOLERANCE_MM + 1, planned.length_mm + LENGTH_TOLERANCE_MM)
        lists = [self._by_length.get(length) for length in sorted(near, key=lambda at: abs(at - planned.length_mm))]
        lists.append(self._by_devices.get(frozenset((planned.a.device, planned.b.device))))
        return next((numbers.pop(0) for numbers in lists if numbers), None)
