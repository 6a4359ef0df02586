"""Where a note is pinned: looked up in the revision that it is written at, and found again in
another one."""

from __future__ import annotations

from typing import Any

import orjson

from cubeyard.built_plan import BuiltPlan
from cubeyard.kit.errors import field_error
from cubeyard.notes.schemas import Place

Json = dict[str, Any]
MAX_EXAMPLE = 3
"""Racks that an error names."""


def cable_name(index: int) -> str:
    """The stable name of a cable within a revision, as every table and label has it."""
    return f"C{index:05d}"


def pinned(built: BuiltPlan, place: Place) -> tuple[str, list[str] | None]:
    """The anchor's name in the plan's own form, and a cable's ends. Raises a 422 that names what
    the revision has instead."""
    if place.kind == "rack":
        racks = built.scene["racks"]["name"]
        if place.name not in racks:
            limit = f"one of {', '.join(racks[:MAX_EXAMPLE])}{' …' if len(racks) > MAX_EXAMPLE else ''}"
            raise _unknown(place, limit, "See GET /api/v1/plans/{id}/scene.")
        return place.name, None
    if place.kind == "device":
        trace = _trace(built, place.name)
        if trace is None:
            raise _unknown(place, None, "Devices are named by the paper's numbers, like 0132, or by their host name.")
        return trace["device"], None
    index = _index(place.name)
    if index is None or index >= built.cable_count:
        limit = f"{cable_name(0)} to {cable_name(built.cable_count - 1)}" if built.cable_count else "no cable at all"
        raise _unknown(place, limit, "See GET /api/v1/plans/{id}/cables.")
    return cable_name(index), ends(built, index)


def ends(built: BuiltPlan, index: int) -> list[str]:
    """Device and port of a cable's one end, device and port of its other."""
    names = built.scene["devices"]["name"]
    columns = built.cables(index, index + 1)
    (a_port,), (b_port,) = built.cable_port_names(index, index + 1)
    return [names[int(columns["a_device"][0])], a_port, names[int(columns["b_device"][0])], b_port]


def found(built: BuiltPlan, kind: str, name: str, ends: list[str] | None) -> str | None:
    """The title of an anchor in a plan; None if the plan does not have it. Time is linear in the
    ports of a device."""
    if kind == "rack":
        return name if name in built.scene["racks"]["name"] else None
    if kind == "device":
        trace = _trace(built, name)
        return trace["device"] if trace is not None and trace["device"] == name else None
    assert ends is not None
    a_device, a_port, b_device, b_port = ends
    trace = _trace(built, a_device)
    # A host name finds a device too: the one that is meant has this very name.
    if trace is None or trace["device"] != a_device:
        return None
    rows = trace["rows"]
    for cable, *row in zip(rows["cable"], rows["port"], rows["far_device"], rows["far_port"], strict=True):
        if row == [a_port, b_device, b_port]:
            return cable_name(cable)
    return None


def _trace(built: BuiltPlan, device: str) -> Json | None:
    trace = built.device_json(device)
    return orjson.loads(trace) if trace is not None else None


def _index(name: str) -> int | None:
    """12 for `C00012`; None if it is not a cable's name."""
    digits = name[1:]
    is_name = name[:1] == "C" and digits.isascii() and digits.isdigit() and 5 <= len(digits) <= 10
    return int(digits) if is_name else None


def _unknown(place: Place, limit: str | None, hint: str) -> Exception:
    message = f"This revision has no {place.kind} {place.name}."
    return field_error("body.anchor.name", place.name, message, limit=limit, hint=hint)
