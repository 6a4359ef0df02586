"""Changes between two revisions of a plan: spec, racks and devices, cables, and numbers. [ours]

Racks and devices are matched by name, cables by their ends, as in the work order between two plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import orjson

from cubeyard.built_plan import BuiltPlan
from cubeyard.engine import Json
from cubeyard.plans import metrics, schemas
from cubeyard.plans.documents import DiffCounts
from cubeyard.plans.models import RevisionRow

MAX_VALUE = 200
"""Most characters of a spec value in a response: a list of pins can have thousands."""
MAX_NAMES = 50
"""Most names of racks or devices in a response; their number is included too."""
MILLIMETRES = 3
"""Decimals of metres that are compared."""


def compared(
    before: tuple[RevisionRow, BuiltPlan], after: tuple[RevisionRow, BuiltPlan], order: Json
) -> schemas.RevisionComparison:
    """`order` is the work order between the two revisions. Time and memory are linear in the number
    of devices."""
    (old, old_plan), (new, new_plan) = before, after
    return schemas.RevisionComparison(
        before=_revision(old),
        after=_revision(new),
        spec=list(_spec(old, new)),
        racks=_places(_racks(old_plan.scene), _racks(new_plan.scene)),
        devices=_places(_devices(old_plan.scene), _devices(new_plan.scene)),
        cables=DiffCounts.model_validate(order["counts"]),
        numbers=metrics.deltas(new_plan.summary, old_plan.summary),
    )


def _revision(row: RevisionRow) -> schemas.ComparedRevision:
    return schemas.ComparedRevision(
        revision=row.revision, title=row.summary["title"], created_at=row.created_at, plan_hash=row.plan_hash
    )


def _spec(old: RevisionRow, new: RevisionRow) -> Iterator[schemas.SpecChange]:
    """Fields that differ, in the order of the new spec, followed by fields that only the old spec
    has."""
    was, now = dict(_fields(old.spec)), dict(_fields(new.spec))
    for field in dict.fromkeys([*now, *was]):
        if was.get(field) != now.get(field):
            yield schemas.SpecChange(field=field, before=_short(was.get(field)), after=_short(now.get(field)))
    books = [f"{row.book} version {row.book_version}" for row in (old, new)]
    if books[0] != books[1]:
        yield schemas.SpecChange(field="catalog", before=books[0], after=books[1])


def _fields(spec: Mapping[str, object], path: str = "") -> Iterator[tuple[str, str]]:
    """Dotted paths and their values as JSON. The price book is left out, because its version is not
    a field of the spec."""
    for key, value in spec.items():
        if isinstance(value, dict) and value:
            yield from _fields(value, f"{path}{key}.")
        elif path or key != "catalog":
            text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
            yield f"{path}{key}", text


def _short(value: str | None) -> str | None:
    return value if value is None or len(value) <= MAX_VALUE else value[: MAX_VALUE - 1] + "…"


def _racks(scene: Json) -> dict[str, object]:
    racks = scene["racks"]
    columns = zip(racks["name"], racks["container"], racks["x_metres"], racks["y_metres"], strict=True)
    return {name: (container, round(x, MILLIMETRES), round(y, MILLIMETRES)) for name, container, x, y in columns}


def _devices(scene: Json) -> dict[str, object]:
    devices, racks = scene["devices"], scene["racks"]["name"]
    columns = zip(devices["name"], devices["rack"], devices["unit"], devices["slot"], strict=True)
    return {name: (racks[rack], unit, slot) for name, rack, unit, slot in columns}


def _places(was: Mapping[str, object], now: Mapping[str, object]) -> schemas.PlaceChanges:
    """Devices or racks that moved, or exist in only one of the two revisions."""
    return schemas.PlaceChanges(
        added=_named([name for name in now if name not in was]),
        removed=_named([name for name in was if name not in now]),
        moved=_named([name for name, place in now.items() if name in was and was[name] != place]),
    )


def _named(names: list[str]) -> schemas.Named:
    return schemas.Named(count=len(names), names=names[:MAX_NAMES])
