"""The report of a simulation: completion times compared with the prediction, drops, timeouts, and
all settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cubeyard.reports.content import Cell, Chart, Column, Line, Section, Table, shown

Json = dict[str, Any]
MAX_POINT_ROWS = 100
"""At most this number of points is listed; the CSV and Parquet files have all points."""


def gather(payloads: Iterable[Json]) -> list[Json]:
    """The first points of a run, by number."""
    kept = [payload for payload, _ in zip(payloads, range(MAX_POINT_ROWS), strict=False)]
    return sorted(kept, key=lambda payload: payload["point"])


def findings(found: list[Json], titles: list[str]) -> list[str]:
    """The key results for an operator, in sentences with numbers."""
    message = []
    for payload in found[:1]:
        result, title = payload["result"], titles[payload["topology"]]
        times = result["completion_secs"]
        if times["median"] is not None:
            message.append(
                f"On {title}, half of {times['flows']:,} flows complete within {shown(times['median'])} s, "
                f"the last after {shown(times['max'])} s."
            )
        if times["unfinished"]:
            message.append(
                f"{times['unfinished']:,} flows were not complete after {shown(result['simulated_secs'])} s."
            )
        if (predicted := result.get("predicted")) and predicted["max"] and times["max"] is not None:
            message.append(
                f"As fluids on the same paths the last flow would end after {shown(predicted['max'])} s: "
                f"packets take {shown(times['max'] / predicted['max'])} times as long."
            )
        if result["drops"]:
            message.append(f"{result['drops']:,} packets were dropped, and {result['timeouts']:,} timers expired.")
    return message


def sections(found: list[Json], titles: list[str]) -> list[Section]:
    """`titles` are the titles of the topologies, by their number in the points."""
    return [_times(found[0]), _points(found, titles), _choices(found[0]["result"])]


def _times(payload: Json) -> Section:
    result = payload["result"]
    simulated = result["completion_distribution"]
    lines = [Line("Simulated", simulated["secs"], simulated["share"])]
    if predicted := result.get("predicted"):
        lines.append(Line("Predicted", predicted["secs"], predicted["share"]))
    words = f"Share of flows that are complete, by time; the last after {shown(result['completion_secs']['max'])} s."
    return Section(
        "Completion times",
        charts=[Chart("Complete flows", "Seconds from a flow's start", "Flows", lines, y_share=True, words=words)],
    )


def _points(found: list[Json], titles: list[str]) -> Section:
    columns = (
        Column("Point", number=True), Column("Topology"), Column("Failed"), Column("Share", number=True, share=True),
        Column("Seed", number=True), Column("Median, s", number=True), Column("99th percentile, s", number=True),
        Column("Longest, s", number=True), Column("Goodput, Gb/s", number=True), Column("Drops", number=True), Column("Timeouts", number=True),
    )  # fmt: skip
    rows: list[list[Cell]] = []
    for payload in found:
        result, times = payload["result"], payload["result"]["completion_secs"]
        rows.append([
            payload["point"], titles[payload["topology"]], payload["failure_kind"], payload["failure_ratio"], payload["seed"],
            times["median"], times["p99"], times["max"], result["goodput_gbps"], result["drops"], result["timeouts"],
        ])  # fmt: skip
    kept = [i for i in range(len(columns)) if any(row[i] not in (None, "") for row in rows)]
    return Section(
        "Every point",
        tables=[Table("As simulated", tuple(columns[i] for i in kept), [[row[i] for i in kept] for row in rows])],
    )


def _choices(result: Json) -> Section:
    given = [(name, value) for name, value in result["choices"].items() if not isinstance(value, list)]
    rows: list[list[Cell]] = [[name, "" if value is None else str(value)] for name, value in given]
    return Section(
        "Choices",
        notes=result["choices"]["assumptions"],
        tables=[Table("Settings of the simulation", (Column("Setting"), Column("Value")), rows)],
    )
