"""The report of a prediction or a sweep: curves over the failure ratio, and the numbers by
topology."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cubeyard.reports.content import Cell, Chart, Column, Line, Section, Table, shown

Json = dict[str, Any]
MAX_POINT_ROWS = 100
"""At most this number of points is listed individually; the CSV and Parquet files have all
points."""
MUCH_DROPPED = 0.1
BANDS = "Lines are means over the seeds; bands span all of them."
DROPPED = "A flow is dropped when one of its two servers has failed, or when its routing finds no path."


@dataclass
class Group:
    """The points of one topology at one failure ratio: one for each seed."""

    topology: int
    kind: str | None
    ratio: float | None
    abt_gbps: list[float] = field(default_factory=list)
    dropped_share: list[float] = field(default_factory=list)
    hops: list[float] = field(default_factory=list)
    max_link_flows: list[float] = field(default_factory=list)

    def add(self, result: Json) -> None:
        request = result["flows"] + result["dropped_flows"]
        self.abt_gbps.append(result["abt_gbps"])
        self.dropped_share.append(result["dropped_flows"] / request if request else 0.0)
        if result["flows"]:  # stored results of earlier versions have 0 for none
            self.hops.append(result["path_hops"]["mean"])
        self.max_link_flows.append(result["max_link_flows"])


@dataclass
class Gathered:
    """The report's data from a run's points, collected frame by frame."""

    groups: dict[tuple[int, str | None, float | None], Group] = field(default_factory=dict)
    first: dict[int, Json] = field(default_factory=dict)
    """Each topology's first result."""
    rows: list[Json] = field(default_factory=list)
    count: int = 0


def gather(payloads: Iterable[Json]) -> Gathered:
    result = Gathered()
    for payload in payloads:
        key = (payload["topology"], payload["failure_kind"], payload["failure_ratio"])
        result.groups.setdefault(key, Group(*key)).add(payload["result"])
        result.first.setdefault(payload["topology"], payload["result"])
        result.count += 1
        if result.count <= MAX_POINT_ROWS:
            result.rows.append(payload)
    return result


def sections(found: Gathered, titles: list[str]) -> list[Section]:
    """`titles` are the titles of the topologies, by their number in the points."""
    made = [_overview(found, titles)]
    kinds = dict.fromkeys(group.kind for group in found.groups.values())
    made += [_curves(found, kind, titles) for kind in kinds if kind is not None]
    made.append(_levels(found, titles))
    if 0 < found.count <= MAX_POINT_ROWS:
        made.append(_every_point(found, titles))
    return made


def findings(found: Gathered, titles: list[str]) -> list[str]:
    """The key results for an operator, in sentences with numbers."""
    message = []
    for (topology, kind, ratio), group in found.groups.items():
        whole = _unfailed(found, topology, kind)
        if whole is None or not ratio or ratio != _worst_ratio(found, topology, kind):
            continue
        before, after = _mean(whole.abt_gbps), _mean(group.abt_gbps)
        kept = (
            f"{shown(after / before, share=True)} of its throughput"
            if before
            else "no throughput, as it had none before"
        )
        dropped = _mean(group.dropped_share)
        message.append(
            f"With {shown(ratio, share=True)} of its {_plural(kind)} failed, {titles[topology]} keeps {kept} "
            f"({shown(after)} of {shown(before)} Gb/s) and drops {shown(dropped, share=True)} of the flows."
        )
    if any(_mean(group.dropped_share) > MUCH_DROPPED for group in found.groups.values()):
        message.append(
            "Aggregate bottleneck throughput counts carried flows only. If many flows are dropped, the remaining flows have "
            "more room, and it can rise: compare it with the share of dropped flows."
        )
    return message


def _overview(found: Gathered, titles: list[str]) -> Section:
    columns = (
        Column("Topology"), Column("Failed"), Column("Share", number=True, share=True), Column("Seeds", number=True),
        Column("ABT, Gb/s", number=True), Column("least", number=True), Column("most", number=True),
        Column("Dropped", number=True, share=True), Column("Mean path", number=True), Column("in"), Column("Flows on the fullest link", number=True),
    )  # fmt: skip
    rows: list[list[Cell]] = [
        [
            titles[group.topology], _plural(group.kind), group.ratio, len(group.abt_gbps), _mean(group.abt_gbps),
            min(group.abt_gbps), max(group.abt_gbps), _mean(group.dropped_share), _mean(group.hops) if group.hops else None,
            found.first[group.topology]["path_hops"]["unit"], _mean(group.max_link_flows),
        ]
        for group in _ordered(found)
    ]  # fmt: skip
    return Section("Results", tables=[Table("By topology and failures: means over the seeds", columns, rows)])


def _curves(found: Gathered, kind: str, titles: list[str]) -> Section:
    throughput, dropped = [], []
    for topology, title in enumerate(titles):
        groups = [group for group in _ordered(found) if (group.topology, group.kind) == (topology, kind)]
        ratios = [group.ratio or 0.0 for group in groups]
        banded = any(len(group.abt_gbps) > 1 for group in groups)

        def line(values: list[list[float]], title: str = title, x: list[float] = ratios, banded: bool = banded) -> Line:
            low, high = ([min(value) for value in values], [max(value) for value in values]) if banded else (None, None)
            return Line(title, x, [_mean(value) for value in values], low, high)

        throughput.append(line([group.abt_gbps for group in groups]))
        dropped.append(line([group.dropped_share for group in groups]))
    what = f"failed {_plural(kind)}"
    charts = [
        Chart(
            f"Throughput against {what}", f"Share of {what}", "Aggregate bottleneck throughput, Gb/s", throughput,
            x_share=True, words=f"Aggregate bottleneck throughput of {', '.join(titles)} against the share of {what}.",
        ),
        Chart(
            f"Dropped flows against {what}", f"Share of {what}", "Share of all flows", dropped,
            x_share=True, y_share=True, words=f"Share of dropped flows in {', '.join(titles)} against the share of {what}.",
        ),
    ]  # fmt: skip
    return Section(f"Under {kind} failures", notes=[BANDS, DROPPED], charts=charts)


def _levels(found: Gathered, titles: list[str]) -> Section:
    columns = (
        Column("Topology"), Column("Routing"), Column("Links of level"), Column("Directed links alive", number=True),
        Column("Flows, least", number=True), Column("mean", number=True), Column("most", number=True),
    )  # fmt: skip
    rows: list[list[Cell]] = [
        [
            titles[topology],
            result["routing"],
            link_flow["label"],
            link_flow.get("directed_links"),
            link_flow["min"],
            link_flow["mean"],
            link_flow["max"],
        ]
        for topology, result in sorted(found.first.items())
        for link_flow in result["link_flows_by_level"].values()
    ]
    return Section(
        "Load by level", tables=[Table("Flows on a directed link, at each topology's first point", columns, rows)]
    )


def _every_point(found: Gathered, titles: list[str]) -> Section:
    columns = (
        Column("Point", number=True), Column("Topology"), Column("Failed"), Column("Share", number=True, share=True),
        Column("Seed", number=True), Column("ABT, Gb/s", number=True), Column("Flows", number=True), Column("Dropped", number=True),
        Column("Max-min in all, Gb/s", number=True), Column("Last flow ends, s", number=True),
    )  # fmt: skip
    rows: list[list[Cell]] = []
    for payload in sorted(found.rows, key=lambda payload: payload["point"]):
        result = payload["result"]
        rates, completion = result.get("maxmin") or {}, result.get("completion") or {}
        rows.append([
            payload["point"], titles[payload["topology"]], _plural(payload["failure_kind"]), payload["failure_ratio"], payload["seed"],
            result["abt_gbps"], result["flows"], result["dropped_flows"], rates.get("total_gbps"), completion.get("last_secs"),
        ])  # fmt: skip
    kept = [i for i in range(len(columns)) if any(row[i] not in (None, "") for row in rows)]
    return Section(
        "Every point",
        tables=[Table("As computed", tuple(columns[i] for i in kept), [[row[i] for i in kept] for row in rows])],
    )


def _ordered(found: Gathered) -> Iterator[Group]:
    """By topology, kind in the order of the request, and ratio; independent of the order in which
    points ended."""
    kinds = list(dict.fromkeys(group.kind for group in found.groups.values()))
    yield from sorted(
        found.groups.values(), key=lambda group: (group.topology, kinds.index(group.kind), group.ratio or 0.0)
    )


def _unfailed(found: Gathered, topology: int, kind: str | None) -> Group | None:
    return found.groups.get((topology, kind, 0.0)) if kind is not None else None


def _worst_ratio(found: Gathered, topology: int, kind: str | None) -> float:
    return max(
        group.ratio or 0.0 for group in found.groups.values() if (group.topology, group.kind) == (topology, kind)
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _plural(kind: str | None) -> str:
    return {None: "", "switch": "switches"}.get(kind, f"{kind}s")
