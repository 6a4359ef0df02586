"""The cables of a list at the plan's ports. A cable of which the list names one end alone is
matched by that end, or left alone. [ours]"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from cubeyard.asbuilt.cables import FoundCable, PlannedCable, Port, other
from cubeyard.asbuilt.names import PlanNames
from cubeyard.kit.errors import field_error
from cubeyard.reading.cables import Listing, SeenCable, SeenEnd
from cubeyard.reading.names import is_address

MAX_NAMED = 8
_MANAGEMENT = re.compile(r"(?:ipmi|bmc|i?drac|ilo|mgmt|management|oob|con(?:sole)?|fxp|me)(?![a-z])", re.IGNORECASE)
"""How ports of management and console networks are called."""


class FoundList:
    """`cables` have a name at each end; `half` are in use at their end `a`, and the rest says why
    no more is known."""

    def __init__(self, names: PlanNames, planned: Sequence[PlannedCable], listing: Listing) -> None:
        """Raises a 422 for a list that has one of the plan's devices at two sites."""
        self._names = names
        self.cables: list[FoundCable] = []
        self.half: list[tuple[FoundCable, str]] = []
        self.remarks: list[str] = []
        self._refuse_two_sites(listing)
        whole = [self._cable(seen) for seen in listing.cables]
        loose = [self._cable(seen) for seen in listing.loose]
        # A device without a port of a planned name has other names for all of them: its ports are
        # unknown.
        known = {port.device for cable in (*whole, *loose) for port in cable.ends if names.knows(port)}
        renamed: dict[str, None] = {}
        halves = loose
        reported: set[frozenset[Port]] = set()
        due: dict[frozenset[str], list[PlannedCable]] = defaultdict(list)
        for entry in planned:
            due[frozenset(port.device for port in entry.ends)].append(entry)
        for cable in whole:
            unknown = [port for port in cable.ends if not self._named(port, known)]
            renamed |= {port.device: None for port in unknown if port.name and names.knows_device(port.device)}
            sure = [port for port in cable.ends if names.knows(port)]
            if len(unknown) == len(cable.ends) and not any(map(_is_management, cable.ends)):
                if frozenset(cable.ends) in reported:
                    continue
                if by_devices := due.get(frozenset(port.device for port in cable.ends)):
                    reported.add(frozenset(cable.ends))
                    self.cables.append(_at_ends(cable, by_devices.pop(0)))
                    continue
            if unknown and sure:
                halves.append(cable)
            elif not unknown or (not sure and all(port.device and port.name for port in cable.ends)):
                self.cables.append(cable)
        self._match(planned, halves)
        if renamed:
            some = ", ".join(list(renamed)[:MAX_NAMED]) + (
                f" and {len(renamed) - MAX_NAMED:,} more" if len(renamed) > MAX_NAMED else ""
            )
            self.remarks.append(
                f"The list has other names than the plan for all ports of {some}: they are matched by their other ends, or by the devices alone."
            )

    def _named(self, port: Port, known: set[str]) -> bool:
        names = self._names
        if names.knows(port):
            return True
        if not port.device or not port.name or is_address(port.device):
            return False
        return not names.knows_device(port.device) or port.device in known

    def _cable(self, seen: SeenCable) -> FoundCable:
        a, b = (self._names.port(end) for end in (seen.a, seen.b))
        written = (_written(seen.a, a), _written(seen.b, b))
        return FoundCable(a, b, seen.length_mm, seen.where, written, seen.rounding_mm)

    def _match(self, planned: Sequence[PlannedCable], halves: list[FoundCable]) -> None:
        names = self._names
        plan_at = {port: cable for cable in planned for port in cable.ends}
        taken = {port for cable in self.cables for port in cable.ends}
        matched: set[Port] = set()
        for cable in halves:
            here = next((port for port in cable.ends if names.knows(port)), None)
            if here is None or here in taken or here in matched:
                continue  # nothing of the plan, or another report names both ends
            far = other(cable, here)
            due = plan_at.get(here)
            there = other(due, here) if due else None
            turned = cable if here == cable.a else replace(cable, a=here, b=far, written=cable.written[::-1])
            if there is not None and far.device == there.device and there not in taken and there not in matched:
                self.cables.append(replace(turned, b=there))
                matched |= {here, there}
            else:
                reported = (
                    f"names {far.device} without a port of the plan" if far.device else "does not name the other end"
                )
                self.half.append((turned, f"{here.device} {here.name} is in use, and the list {reported}."))
                matched.add(here)

    def _refuse_two_sites(self, listing: Listing) -> None:
        sites: dict[str, set[str]] = {}
        for cable in listing.cables:
            for end in (cable.a, cable.b):
                if end.site:
                    sites.setdefault(end.device, set()).add(end.site)
        for device, where in sites.items():
            if len(where) > 1 and self._names.device(device) is not None:
                message = f"The list has a device {device[:40]} more than once ({', '.join(sorted(where)[:4])}), and the plan has one."
                raise field_error("body", device[:40], message, hint="Save the cables of one site.")


def _is_management(port: Port) -> bool:
    return _MANAGEMENT.match(port.name) is not None


def _at_ends(cable: FoundCable, planned: PlannedCable) -> FoundCable:
    """The cable at the planned ports of its devices."""
    a, b = planned.ends if planned.ends[0].device == cable.a.device else planned.ends[::-1]
    return replace(cable, a=a, b=b)


def _written(end: SeenEnd, port: Port) -> str:
    """Both names as the list has them, where the plan has others."""
    names = (end.device or end.address, end.ports[0] if end.ports else "")
    return "" if names == port else " ".join(filter(None, names))
