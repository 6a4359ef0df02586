"""The comparison of a list of cables with a plan, as the document that the API and the command line
give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cubeyard.asbuilt.cables import FoundCable, PlannedCable, Port
from cubeyard.asbuilt.found import FoundList
from cubeyard.asbuilt.matching import KINDS, Comparison, Difference, compare
from cubeyard.asbuilt.names import PlanNames
from cubeyard.asbuilt.order import work_order
from cubeyard.asbuilt.schemas import (
    AsBuilt,
    AsBuiltCounts,
    AsBuiltDifference,
    AsBuiltKind,
    AsBuiltList,
    AsBuiltOrder,
    AsBuiltStep,
    End,
    FoundEnds,
    PlannedEnds,
)
from cubeyard.asbuilt.steps import Step, WorkOrder
from cubeyard.plans.view import PlanView
from cubeyard.reading.cables import Listing
from cubeyard.reading.report import MAX_SKIPPED, SkippedRow

LEFT_ALONE = ("not_covered", "outside")
"""Kinds that are no fault of the cabling."""
MAX_REMARKS = 20


def as_built(plan: PlanView, listing: Listing) -> AsBuilt:
    """The comparison and the work order. Linear in the cables of both, but for sorting: 8,192 in
    order take less than half a second, 8,192 that are all exchanged less than two."""
    names = PlanNames(plan)
    planned = names.planned()
    listed = FoundList(names, planned, listing)
    reporters = None if listing.reporters is None else {names.device(name) for name in listing.reporters}

    def covered(cable: PlannedCable) -> bool:
        return reporters is None or any(port.device in reporters for port in cable.ends)

    def outside(cable: FoundCable) -> bool:
        """A management cable, or one of devices that the plan does not have."""
        return not any(names.knows(port) for port in cable.ends)

    def unplanned(cable: FoundCable) -> str:
        return ", ".join(
            f"no device {port.device} in the plan"
            if not names.knows_device(port.device)
            else f"{port.device} has no port {port.name}"
            for port in cable.ends
            if not names.knows(port)
        )

    result = compare(planned, listed.cables, covered=covered, outside=outside, unplanned=unplanned, half=listed.half)
    order = work_order(result.to_reach, result.to_change, names.rack)
    writer = _Writer(names)
    counts = Counter(difference.kind for difference in result.differences)
    counts["in_order"] = len(result.in_order)
    every = [
        *(two for _, two in result.in_order),
        *(difference.found for difference in result.differences if difference.found),
    ]
    return AsBuilt(
        plan_hash=plan.plan_hash,
        title=plan.name,
        cables=plan.cable_count,
        list=AsBuiltList(
            format=listing.format,
            cables=len(every),
            with_length=sum(cable.length_mm is not None for cable in every),
            reporters=None if listing.reporters is None else len(listing.reporters),
            skipped=len(listing.skipped),
            skipped_rows=[SkippedRow(where=row.where, reason=row.reason) for row in listing.skipped[:MAX_SKIPPED]],
        ),
        in_order=not any(count for kind, count in counts.items() if kind not in ("in_order", *LEFT_ALONE)),
        counts=AsBuiltCounts(**{kind: counts[kind] for kind in KINDS}),
        kinds=[AsBuiltKind(kind=kind, title=title, meaning=meaning) for kind, (title, meaning) in KINDS.items()],
        differences=[writer.difference(item) for item in result.differences],
        contradictions=result.contradictions,
        remarks=[*listed.remarks, *_remarks(names, listing, listed.cables, reporters, result)],
        work=writer.order(order),
    )


def _remarks(
    names: PlanNames,
    listing: Listing,
    found: list[FoundCable],
    reporters: set[str | None] | None,
    result: Comparison,
) -> Iterator[str]:
    if listing.planned:
        yield f"The list has the status planned for {len(listing.planned):,} cables ({_some(listing.planned)}), and they are compared as plugged in."
    if reporters is None:
        return
    unknown = sorted(name for name in listing.reporters or () if names.device(name) is None)
    if unknown:
        yield f"Reports of devices that the plan does not have: {_some(unknown)}."
    reported: dict[frozenset[Port], set[str]] = {}
    for cable in found:
        reported.setdefault(frozenset(cable.ends), set()).add(cable.a.device)
    # Each found cable has the device that reported it as its first end.
    once = [
        cable
        for cable in result.to_change
        if cable.b.device in reporters and reported[frozenset(cable.ends)] == {cable.a.device} != {cable.b.device}
    ]
    for cable in once[:MAX_REMARKS]:
        yield (
            f"{cable.a.device} {cable.a.name} sees {cable.b.device} {cable.b.name}, but {cable.b.device} has reported and "
            "does not see it."
        )
    if len(once) > MAX_REMARKS:
        yield f"{len(once) - MAX_REMARKS:,} more cables are seen from one end only, though both devices reported."


def _some(names: list[str], shown: int = 8) -> str:
    more = f" and {len(names) - shown:,} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


class _Writer:
    def __init__(self, names: PlanNames) -> None:
        self._names = names

    def end(self, port: Port, written: str = "") -> End:
        names = self._names
        return End.model_construct(
            device=port.device,
            port=port.name,
            rack=names.rack(port),
            unit=names.unit(port),
            known=names.knows(port),
            written=written,
        )

    def difference(self, one: Difference) -> AsBuiltDifference:
        planned, result = one.planned, one.found
        expected = seen = None
        if planned is not None:
            expected = PlannedEnds.model_construct(
                a=self.end(planned.a), b=self.end(planned.b), length_mm=planned.length_mm
            )
        if result is not None:
            written = dict(zip(result.ends, result.written, strict=True))
            a, b = (self.end(port, written[port]) for port in _turned(planned, result))
            seen = FoundEnds.model_construct(a=a, b=b, length_mm=result.length_mm, where=result.where)
        return AsBuiltDifference.model_construct(
            kind=one.kind,
            cable=planned.number if planned else None,
            name=self._name(planned),
            expected=expected,
            found=seen,
            note=one.note,
        )

    def _name(self, planned: PlannedCable | None) -> str:
        if planned is None:
            return ""
        plan = self._names.plan
        # A leg shares its trunk's plug with others, which the crew must know before it moves one.
        breakout = plan.breakout(planned.number)
        return f"{plan.cable_name(planned.number)} ({breakout})" if breakout else plan.cable_name(planned.number)

    def step(self, step: Step) -> AsBuiltStep:
        return AsBuiltStep.model_construct(
            number=step.number,
            action=step.action,
            cable=step.planned.number if step.planned else None,
            name=self._name(step.planned),
            rack=step.rack,
            out=[self.end(port) for port in step.out],
            into=[self.end(port) for port in step.into],
            stays=None if step.stays is None else self.end(step.stays),
            length_mm=step.planned.length_mm if step.planned else None,
            after=step.after,
            reuses=step.reuses,
            text=step.text(),
        )

    def order(self, order: WorkOrder) -> AsBuiltOrder:
        return AsBuiltOrder.model_construct(
            operations=order.operations,
            new_cables=order.new_cables,
            steps=[self.step(step) for step in order.steps],
        )


def _turned(planned: PlannedCable | None, found: FoundCable) -> tuple[Port, Port]:
    """The found ends, the one that is at or nearer to the planned `a` first."""
    if planned is None:
        return found.a, found.b
    straight = _alike(planned.a, found.a) + _alike(planned.b, found.b)
    crossed = _alike(planned.a, found.b) + _alike(planned.b, found.a)
    return (found.b, found.a) if crossed > straight else (found.a, found.b)


def _alike(one: Port, two: Port) -> int:
    return 4 if one == two else 1 if one.device == two.device else 0
