"""The numbers by which plans are compared, each with its unit and which way is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from cubeyard.engine import BuiltPlan, Json
from cubeyard.plans import schemas


class SharedMetric(NamedTuple):
    name: str
    title: str
    unit: str
    group: str
    better: Literal["lower", "higher", "neither"]
    path: tuple[str, ...]


METRICS = (
    SharedMetric("servers", "Servers", "", "Size", "neither", ("counts", "servers")),
    SharedMetric("switches", "Switches", "", "Size", "lower", ("counts", "switches")),
    SharedMetric("links", "Links", "", "Size", "neither", ("counts", "links")),
    SharedMetric("cables", "Cables", "", "Size", "lower", ("counts", "cables")),
    SharedMetric("racks", "Racks", "", "Size", "lower", ("counts", "racks")),
    SharedMetric("cost_total_usd", "Total cost", "USD", "Cost", "lower", ("cost_usd", "total")),
    SharedMetric("cost_network_usd", "Network cost", "USD", "Cost", "lower", ("cost_usd", "network")),
    SharedMetric("cost_switches_usd", "Switches", "USD", "Cost", "lower", ("cost_usd", "switches")),
    SharedMetric("cost_nics_usd", "NICs", "USD", "Cost", "lower", ("cost_usd", "nics")),
    SharedMetric("cost_cables_usd", "Cables", "USD", "Cost", "lower", ("cost_usd", "cables")),
    SharedMetric("power_total_watts", "Total power", "W", "Power and weight", "lower", ("power_watts", "total")),
    SharedMetric("power_switches_watts", "Switch power", "W", "Power and weight", "lower", ("power_watts", "switches")),
    SharedMetric("weight_total_kg", "Weight", "kg", "Power and weight", "lower", ("weight_kg", "total")),
    SharedMetric("cable_metres", "Cable length in all", "m", "Cabling", "lower", ("cable_metres",)),
    SharedMetric("longest_cable_metres", "Longest cable", "m", "Cabling", "lower", ("longest_cable_metres",)),
    SharedMetric("mean_cable_metres", "Mean cable", "m", "Cabling", "lower", ("mean_cable_metres",)),
    SharedMetric("tray_peak_fill", "Fullest tray", "", "Cabling", "lower", ("tray", "peak_fill")),
    SharedMetric("tray_peak_cables", "Most cables in a tray", "", "Cabling", "lower", ("tray", "peak_cables")),
    SharedMetric("labour_minutes", "Labour", "min", "Cabling", "lower", ("labour_minutes",)),
    SharedMetric("bisection_gbps", "Bisection bandwidth", "Gbit/s", "Network", "higher", ("bisection_gbps",)),
)
NETWORK_METRICS: dict[str, tuple[str, Literal["lower", "higher", "neither"]]] = {
    "diameter": ("Diameter", "lower"),
    "average_path": ("Mean path", "lower"),
    "all_to_all_throughput": ("All-to-all throughput, in links", "higher"),
    "disjoint_paths": ("Disjoint paths", "higher"),
}
"""Structure metrics of the engine that are shown when every plan has them."""


def value_of(summary: Json, path: tuple[str, ...]) -> float | None:
    here: object = summary
    for key in path:
        if not isinstance(here, dict):
            return None
        here = here.get(key)
    if isinstance(here, bool) or not isinstance(here, int | float) or not math.isfinite(here):
        return None
    return float(here)


def shared(summaries: Sequence[Json]) -> list[SharedMetric]:
    """The metrics that at least one of the plans has, in the order of the table."""
    table = list(METRICS)
    for name, (title, better) in NETWORK_METRICS.items():
        table.append(SharedMetric(name, title, "", "Network", better, ("metrics", name, "value")))
    return [metric for metric in table if any(value_of(summary, metric.path) is not None for summary in summaries)]


def deltas(plan: Json, base: Json) -> list[schemas.Delta]:
    result: list[schemas.Delta] = []
    for metric in shared([plan, base]):
        value, other = value_of(plan, metric.path), value_of(base, metric.path)
        difference = value - other if value is not None and other is not None else None
        result.append(
            schemas.Delta(
                metric=metric.name,
                title=metric.title,
                unit=metric.unit,
                better=metric.better,
                value=value,
                base=other,
                delta=difference,
            )
        )
    return result


def compare(plans: Sequence[schemas.ComparedPlan], built: Sequence[BuiltPlan], base: int) -> schemas.CompareResponse:
    summaries = [plan.summary for plan in built]
    rows: list[schemas.CompareRow] = []
    for metric in shared(summaries):
        values = [value_of(summary, metric.path) for summary in summaries]
        reference = values[base]
        rows.append(
            schemas.CompareRow(
                metric=metric.name,
                title=metric.title,
                unit=metric.unit,
                group=metric.group,
                better=metric.better,
                values=values,
                deltas=[value - reference if value is not None and reference is not None else None for value in values],
                ratios=[value / reference if value is not None and reference else None for value in values],
                best=_best(values, metric.better),
            )
        )
    return schemas.CompareResponse(base=base, plans=list(plans), rows=rows)


def _best(values: Sequence[float | None], better: str) -> list[int]:
    known = [value for value in values if value is not None]
    if better == "neither" or len(known) < 2 or len(set(known)) == 1:
        return []
    best = min(known) if better == "lower" else max(known)
    return [index for index, value in enumerate(values) if value == best]
