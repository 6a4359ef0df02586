"""Small networks of a family, sorted by similarity to a larger one, by the family's description.
[ours]

Similar means: each parameter changes little, all by similar factors, and the number of links per
server stays about the same. A parameter that counts parts, such as ports or switches, stays at
least two if it was, so that there are alternative paths; if no network with two is small enough, it
can be one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import log, prod
from typing import Any

from cubeyard.engine import Engine, PlanRejectedError

Json = dict[str, Any]

MAX_TRIED = 12_000
"""Maximum number of networks whose size is computed, at about 30 us each."""
LEAST_SWITCHES = 3
"""Minimum number of switches, unless the original has fewer: a tree with one edge switch would have
a root that no packet crosses."""
MAX_SWITCHES = 100
"""Maximum number of switches; each is a network namespace. `[ours]`"""
LEVELS_COUNT = 6.0
"""The weight of a change of levels or layers, which define a family's shape more than any number of
ports. `[ours]`"""
FINE_UP_TO = 16


def smaller(engine: Engine, topology: Json, least: int, most: int) -> list[Json]:
    """Networks of the same family with `least` to `most` servers, and no parameter larger than the
    original's; the most similar first."""
    return _smaller(engine, topology, least, most, 2) or _smaller(engine, topology, least, most, 1)


def _smaller(engine: Engine, topology: Json, least: int, most: int, least_count: int) -> list[Json]:
    """`least_count` is the smallest value of a parameter that counts parts."""
    sizes = engine.size(topology)
    links_per_server = sizes["links"] / sizes["servers"]
    parameters = _sizing(engine, topology, least_count)
    result: list[tuple[float, int, list[int], Json]] = []
    for values in _tried(parameters):
        changed = {name: value for name, value in values.items() if value is not None}
        candidate = {**{name: value for name, value in topology.items() if name not in values}, **changed}
        try:
            size = engine.size(candidate)
        except PlanRejectedError:
            continue  # these values do not go together
        switches = size["switches"]
        if (
            not least <= size["servers"] <= most
            or not min(LEAST_SWITCHES, sizes["switches"]) <= switches <= MAX_SWITCHES
        ):
            continue
        far = sum(_distance(parameter, changed) for parameter in parameters)
        far += log(size["links"] / size["servers"] / links_per_server) ** 2
        # Among equally similar ones, prefer the largest, then the one with the largest first
        # parameters.
        order = [-value for value in changed.values()]
        result.append((round(far, 9), -size["servers"], order, candidate))
    return [candidate for *_, candidate in sorted(result, key=lambda row: row[:3])]


def _sizing(engine: Engine, topology: Json, least_count: int) -> list[Json]:
    """The parameters that determine the size of a topology: given in its spec or by default.
    Choices of kinds, and seeds of random networks, are excluded."""
    family = next(entry for entry in engine.families if entry["family"] == topology["family"])
    own = engine.size(topology)
    result = []
    for parameter in family["parameters"]:
        value = topology.get(parameter["name"], parameter["default"])
        if parameter["kind"] != "integer" or value is None:
            continue
        if not parameter["required"] and parameter["default"] is None:
            result.append({**parameter, "value": value, "floor": value, "derived": True})
            continue
        floor = _floor(parameter, value, least_count)
        if value > parameter["min"] and _size_of(engine, {**topology, parameter["name"]: floor}) != own:
            result.append({**parameter, "value": value, "floor": floor, "derived": False})
    return result


def _size_of(engine: Engine, topology: Json) -> Json | None:
    try:
        return engine.size(topology)
    except PlanRejectedError:
        return None


def _floor(parameter: Json, value: int, least_count: int) -> int:
    """The smallest value of a parameter to try."""
    least = int(parameter["min"])
    return min(value, max(least, least_count) if parameter["unit"] else least + 1)


def _tried(parameters: list[Json]) -> Iterator[dict[str, int | None]]:
    """All combinations of values, on a grid as fine as MAX_TRIED allows. A derived parameter
    follows from the others."""
    names = [parameter["name"] for parameter in parameters]
    for values_of in (_fine, _halved, _few):
        lists: list[Sequence[int | None]] = [
            [None] if parameter["derived"] else values_of(parameter["floor"], parameter["value"])
            for parameter in parameters
        ]
        if prod(len(values) for values in lists) <= MAX_TRIED:
            break
    for values in product(*lists):
        yield dict(zip(names, values, strict=True))


def _fine(least: int, value: int) -> list[int]:
    return sorted({*range(least, min(value, FINE_UP_TO) + 1), *_halvings(least, value)})


def _halved(least: int, value: int) -> list[int]:
    return sorted({least, *_halvings(least, value)})


def _few(least: int, value: int) -> list[int]:
    return sorted({least, min(value, 2 * least), round((least * value) ** 0.5), value})


def _halvings(least: int, value: int) -> Iterator[int]:
    while value >= max(least, 1):
        yield value
        value //= 2


def _distance(parameter: Json, changed: Json) -> float:
    value = changed.get(parameter["name"])
    if value is None:
        return 0.0
    from_zero = 0 if parameter["min"] else 1
    weight = 1.0 if parameter["unit"] else LEVELS_COUNT
    return weight * log((parameter["value"] + from_zero) / (value + from_zero)) ** 2
