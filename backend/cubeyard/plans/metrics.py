"""The numbers by which plans are compared, each with its unit and whether higher or lower is
better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from cubeyard.built_plan import BuiltPlan
from cubeyard.engine import Json
from cubeyard.kit.money import money
from cubeyard.plans import schemas

Rates = Mapping[str, float]
"""The value of one unit of each currency in the currency of the base plan."""


MONEY = "money"
"""The unit of amounts; responses replace it with the currency of the base plan."""


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
    SharedMetric("cost_total_usd", "Total cost", MONEY, "Cost", "lower", ("cost_usd", "total")),
    SharedMetric("cost_network_usd", "Network cost", MONEY, "Cost", "lower", ("cost_usd", "network")),
    SharedMetric("cost_switches_usd", "Switches", MONEY, "Cost", "lower", ("cost_usd", "switches")),
    SharedMetric("cost_nics_usd", "NICs", MONEY, "Cost", "lower", ("cost_usd", "nics")),
    SharedMetric("cost_cables_usd", "Cables", MONEY, "Cost", "lower", ("cost_usd", "cables")),
    SharedMetric("power_total_watts", "Total power", "W", "Power and weight", "lower", ("power_watts", "total")),
    SharedMetric("power_switches_watts", "Switch power", "W", "Power and weight", "lower", ("power_watts", "switches")),
    SharedMetric("weight_total_kg", "Weight", "kg", "Power and weight", "lower", ("weight_kg", "total")),
    SharedMetric("cable_metres", "Cable length in all", "m", "Cabling", "lower", ("cable_metres",)),
    SharedMetric("longest_cable_metres", "Longest cable", "m", "Cabling", "lower", ("longest_cable_metres",)),
    SharedMetric("mean_cable_metres", "Mean cable", "m", "Cabling", "lower", ("mean_cable_metres",)),
    SharedMetric("tray_peak_fill", "Fullest tray", "", "Cabling", "lower", ("tray", "peak_fill")),
    SharedMetric("tray_peak_cables", "Most cables in a tray", "", "Cabling", "lower", ("tray", "peak_cables")),
    SharedMetric("labour_minutes", "Labour", "min", "Cabling", "lower", ("labour_minutes",)),
    SharedMetric("bisection_gbps", "Bisection bandwidth", "Gb/s", "Network", "higher", ("bisection_gbps",)),
)


class StructureMetric(NamedTuple):
    """A closed form of the engine: `{value, exact, unit, note}` at `metrics.<key>` of a summary."""

    name: str
    title: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    key: str
    less: int = 0
    """A number to subtract from the value."""
    remark: str = ""


STRUCTURE = (
    StructureMetric("diameter_links", "Diameter", "links", "lower", "diameter_links"),
    StructureMetric("average_path_links", "Mean path", "links", "lower", "average_path_links"),
    StructureMetric("diameter", "Diameter, server to server", "hops", "lower", "diameter"),
    StructureMetric("average_path", "Mean path, server to server", "hops", "lower", "average_path"),
    StructureMetric("bisection_links", "Bisection width", "links", "higher", "bisection"),
    StructureMetric("all_to_all_throughput", "All-to-all throughput, in links", "", "higher", "all_to_all_throughput"),
    StructureMetric("disjoint_paths", "Disjoint paths", "", "higher", "disjoint_paths"),
    StructureMetric(
        "faults_tolerated",
        "Faults tolerated",
        "",
        "higher",
        "disjoint_paths",
        less=1,
        remark="The largest number of servers, switches and links that may fail in any combination, while the other servers still reach each other: "
        "one less than the disjoint paths. [ours, by Menger's theorem]",
    ),
)
"""A metric in hops is shown only if every plan counts in hops; metrics in links compare across
families."""


def value_of(summary: Json, path: tuple[str, ...]) -> float | None:
    here: object = summary
    for key in path:
        if not isinstance(here, dict):
            return None
        here = here.get(key)
    if isinstance(here, bool) or not isinstance(here, int | float) or not math.isfinite(here):
        return None
    return float(here)


def structure_of(summary: Json, metric: StructureMetric) -> Json | None:
    """The plan's `{value, exact, unit, note}`, if its family has that closed form in that unit."""
    result = summary.get("metrics", {}).get(metric.key)
    if result is None or (metric.unit == "hops" and result["unit"] != "hops"):
        return None
    value = value_of(result, ("value",))
    value = None if value is None else max(0.0, value - metric.less)
    return {**result, "value": value, "note": " ".join(text for text in (metric.remark, result["note"]) if text)}


class Shown(NamedTuple):
    """One row: a metric and its value for each plan; `exact` and `notes` for a closed form."""

    metric: SharedMetric
    values: list[float | None]
    exact: list[bool | None]
    notes: list[str]


class LifecycleMetric(NamedTuple):
    """A metric of Zhang et al. (NSDI 2019), at `part.name` of the engine's `lifecycle` document."""

    part: Literal["deployment", "expansion"]
    name: str
    title: str
    note: str


LIFECYCLE = (
    LifecycleMetric(
        "deployment", "inter_rack_cables", "Cables between racks", "Cables whose ends are in different racks."
    ),
    LifecycleMetric(
        "deployment", "bundles", "Bundles", "Cables between the same two racks over the same trays, pulled together."
    ),
    LifecycleMetric(
        "deployment",
        "bundle_types",
        "Bundle types",
        "Bundles that differ in their number of cables or in their length, to the metre. [nsdi19 §3]",
    ),
    LifecycleMetric(
        "deployment",
        "patch_panels",
        "Patch panels (48 ports)",
        "If every cable between racks ended on a panel in each of its racks; the plan itself has none. [nsdi19 §3]",
    ),
    LifecycleMetric(
        "expansion",
        "links_rewired",
        "Links rewired from the base",
        "Cables of the base plan that the work order moves or removes. [nsdi19 §4]",
    ),
    LifecycleMetric("expansion", "links_added", "Links added to the base", "Cables that the work order adds."),
    LifecycleMetric(
        "expansion",
        "steps",
        "Rewiring steps",
        "The smallest number of steps that keeps every device on three quarters of its links. [nsdi19 §4, ours by device]",
    ),
    LifecycleMetric(
        "expansion",
        "rewired_per_rack_and_step",
        "Ends rewired at a rack and step",
        "Mean number of cable ends rewired in a step, at a rack where cables are rewired. [nsdi19 §4: links at a panel's rack]",
    ),
    LifecycleMetric("expansion", "trays_touched", "Trays touched", "Trays that hold cables that are rewired."),
    LifecycleMetric(
        "expansion",
        "rewired_per_tray",
        "Links re-touched in a tray",
        "Mean number of rewired cables in a tray that has some.",
    ),
)


def lifecycle_rows(lifecycles: Sequence[Json]) -> list[Shown]:
    """One row per metric; the base plan has no values for an expansion from itself."""
    rows: list[Shown] = []
    for item in LIFECYCLE:
        metric = SharedMetric(item.name, item.title, "", "Lifecycle of wiring", "lower", ())
        values = [value_of(lifecycle, (item.part, item.name)) for lifecycle in lifecycles]
        rows.append(
            Shown(metric, values, [None if value is None else True for value in values], [item.note] * len(values))
        )
    return rows


def currency_of(summary: Json) -> str:
    """Older summaries have no currency: all price books were in dollars then."""
    return str(summary.get("currency", "USD"))


def _in_one_currency(metric: SharedMetric, found: Shown, currencies: list[str], base: int, rates: Rates) -> Shown:
    """Amounts in the base plan's currency. An amount without an exchange rate is left out, with a
    note."""
    wanted = currencies[base]
    values, notes = list(found.values), list(found.notes)
    for at, currency in enumerate(currencies):
        value = values[at]
        if currency == wanted or value is None:
            continue
        rate = rates.get(currency)
        values[at] = None if rate is None else value * rate
        notes[at] = (
            f"{money(value, currency)}: not compared with {wanted}, because no rate was given ({currency}=...)."
            if rate is None
            else f"{money(value, currency)} at {currency}={rate:g}."
        )
    return Shown(metric._replace(unit=wanted), values, found.exact, notes)


def shared(summaries: Sequence[Json], base: int = 0, rates: Rates | None = None) -> list[Shown]:
    """The metrics that at least one of the plans has (for metrics in hops: all plans), in the order
    of the table.

    Amounts are in the currency of the plan `base`; `rates` has the exchange rates of other
    currencies.
    """
    table: list[Shown] = []
    currencies = [currency_of(summary) for summary in summaries]
    for metric in METRICS:
        values = [value_of(summary, metric.path) for summary in summaries]
        row = Shown(metric, values, [None] * len(values), [""] * len(values))
        table.append(_in_one_currency(metric, row, currencies, base, rates or {}) if metric.unit == MONEY else row)
    for item in STRUCTURE:
        matches = [structure_of(summary, item) for summary in summaries]
        if item.unit == "hops" and None in matches:
            continue
        metric = SharedMetric(item.name, item.title, item.unit, "Network", item.better, ())
        table.append(
            Shown(
                metric,
                [None if each is None else each["value"] for each in matches],
                [None if each is None else each["exact"] for each in matches],
                ["" if each is None else each["note"] for each in matches],
            )
        )
    return [row for row in table if any(value is not None for value in row.values)]


def deltas(plan: Json, base: Json) -> list[schemas.Delta]:
    result: list[schemas.Delta] = []
    for metric, (value, other), _, _ in shared([plan, base], base=1):
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


def compare(
    plans: Sequence[schemas.ComparedPlan],
    built: Sequence[BuiltPlan],
    base: int,
    rates: Rates,
    lifecycles: Sequence[Json],
) -> schemas.CompareResponse:
    summaries = [plan.summary for plan in built]
    rows: list[schemas.CompareRow] = []
    for metric, values, exact, notes in [*shared(summaries, base, rates), *lifecycle_rows(lifecycles)]:
        reference = values[base]
        rows.append(
            schemas.CompareRow(
                metric=metric.name,
                title=metric.title,
                unit=metric.unit,
                group=metric.group,
                better=metric.better,
                values=values,
                exact=exact,
                notes=notes,
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
