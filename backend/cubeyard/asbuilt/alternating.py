"""Planned and found cables as chains: each shares a port with the next, a planned one and a found
one by turns. [ours]

A port has at most one planned and one found cable, so that what hangs together is a path or a ring.
A ring of two is a cable as planned; a larger ring is a group of cables whose ends are exchanged
among one another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cubeyard.asbuilt.cables import FoundCable, PlannedCable, Port, other

Cable = PlannedCable | FoundCable


@dataclass(frozen=True, slots=True)
class Chain:
    """Cables in turn. `joints[i]` is the port that `cables[i]` and the next one share; in a ring
    the last one shares with the first."""

    cables: list[Cable]
    joints: list[Port]
    ring: bool

    def pair(self, joint: int) -> tuple[PlannedCable, FoundCable]:
        """The two cables that share a joint."""
        item, two = self.cables[joint], self.cables[(joint + 1) % len(self.cables)]
        if isinstance(item, PlannedCable):
            assert isinstance(two, FoundCable)
            return item, two
        assert isinstance(two, PlannedCable)
        return two, item


def chains(planned: Sequence[PlannedCable], found: Sequence[FoundCable]) -> Iterator[Chain]:
    """Every cable in exactly one chain, in the order of the planned cables, then of the found ones.

    No port may be in two planned or in two found cables. Linear in the number of cables.
    """
    plan_at = {port: cable for cable in planned for port in cable.ends}
    found_at = {port: cable for cable in found for port in cable.ends}
    done: set[int] = set()

    def follow(cable: Cable, port: Port) -> Iterator[tuple[Port, Cable]]:
        """From the end `port` of a cable on, until there is no further one or it is `cable`
        again."""
        here = cable
        while True:
            following = (found_at if isinstance(here, PlannedCable) else plan_at).get(port)
            if following is None:
                return
            yield port, following
            if following is cable:
                return
            here, port = following, other(following, port)

    for cable in (*planned, *found):
        if id(cable) in done:
            continue
        onward = list(follow(cable, cable.b))
        if onward and onward[-1][1] is cable:
            members = [cable, *(item for _, item in onward[:-1])]
            chain = Chain(members, [port for port, _ in onward], ring=True)
        else:
            back = list(follow(cable, cable.a))
            members = [*(item for _, item in reversed(back)), cable, *(item for _, item in onward)]
            chain = Chain(members, [*(port for port, _ in reversed(back)), *(port for port, _ in onward)], ring=False)
        done.update(id(item) for item in chain.cables)
        yield chain
