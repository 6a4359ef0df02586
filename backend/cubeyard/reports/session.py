"""The report of a session with real packets: the verdict, its fidelity, and the recovery from each
fault."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from cubeyard.experiments.fault_kinds import PARAMETERS
from cubeyard.experiments.scenario.verdict import missing_in_words, off_schedule_in_words, unfinished_in_words
from cubeyard.reports.content import Cell, Chart, Column, Line, Section, Table, shown
from cubeyard.reports.settings import rate

Json = dict[str, Any]
MEGA = 1e6
WINDOWS = ("before", "during", "after")
WHOLE = "whole run"
MEASURES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("Length", "secs", lambda secs: f"{shown(secs)} s"),
    ("Goodput", "goodput_bits_per_sec", rate),
    ("Least goodput of any second", "least_goodput_bits_per_sec", rate),
    ("ABT", "abt_bits_per_sec", rate),
    ("Least ABT of any second", "least_abt_bits_per_sec", rate),
    ("Stalled flows", "stalled_flows", shown),
    ("Retransmits", "retransmits", shown),
    ("Dropped at ends of links", "queue_drops", shown),
    ("Dropped by servers", "drops", shown),
    ("Host CPU", "cpu", lambda share: shown(share, share=True)),
)
"""The titles of the parts of the run, by key."""
FAULT_COLUMNS = (
    Column("Fault"), Column("Kind"), Column("Affects"), Column("From (s)", number=True), Column("To (s)", number=True),
    Column("Detected after (ms)", number=True), Column("First flow moved after (ms)", number=True),
    Column("Last flow moved after (ms)", number=True), Column("Moves", number=True), Column("Goodput back after (s)", number=True),
    Column("Fidelity"),
)  # fmt: skip
SERVER_COLUMNS = (
    Column("Server"), Column("Sent (Mb/s)", number=True), Column("Received (Mb/s)", number=True),
    Column("Relayed (Mb/s)", number=True), Column("Fidelity"),
)  # fmt: skip
LINK_COLUMNS = (
    Column("Link"), Column("Level", number=True), Column("A→B (Mb/s)", number=True), Column("B→A (Mb/s)", number=True),
    Column("Packets A→B", number=True), Column("Packets B→A", number=True), Column("Drops A→B", number=True),
    Column("Drops B→A", number=True), Column("Fidelity"),
)  # fmt: skip
LATENCY_COLUMNS = (Column("Of requests"), Column("Value", number=True), Column("Fidelity"))


OUTCOMES = {
    "held": "Hypothesis met: ",
    "broken": "Hypothesis not met: ",
    "inconclusive": "Inconclusive: ",
    "not-tested": "Not tested: ",
}


def findings(report: Json) -> list[str]:
    """The verdict, its fidelity, and the totals compared with the prediction."""
    fidelity, verdict = report["fidelity"], report["verdict"]
    outcome = OUTCOMES.get(verdict["outcome"], "")
    ideal = report["ideal_bits_per_sec"] * report["header_efficiency"]
    predicted_abt = report["predicted"]["abt_bits_per_sec"] * report["header_efficiency"]
    share = f", {shown(report['aggregate_goodput_bits_per_sec'] / ideal, share=True)} of it" if ideal > 0 else ""
    return [
        f"{outcome}{verdict['sentence']}",
        f"Fidelity: {fidelity['verdict']}. {fidelity['reason']}",
        f"Aggregate goodput {rate(report['aggregate_goodput_bits_per_sec'])}; headers leave {rate(ideal)} of the ideal{share}.",
        f"ABT {rate(report['abt_bits_per_sec'])}; the flow engine predicts {rate(predicted_abt)} without headers.",
        *(["The run ended before its time: it was aborted."] if report["ended"] == "aborted" else []),
        *(missing_in_words(fault) for fault in report.get("not_injected") or []),
        *off_schedule_in_words(report["faults"]),
        *filter(None, [unfinished_in_words(report.get("upgrade"))]),
    ]


def sections(report: Json, scheduled: int = 0) -> list[Section]:
    """Every table states the fidelity of its numbers in each row. `scheduled` is the number of
    faults scheduled before the start."""
    worth = report["fidelity"]["verdict"]
    made = [_stretches(report, worth)]
    if "latency_secs" in report:
        made.append(_latency(report["latency_secs"], report["latency_distribution"], worth))
    if report["faults"]:
        rows = [_fault(fault, scheduled, worth) for fault in report["faults"]]
        made.append(Section("Recovery by fault", tables=[Table("Faults", FAULT_COLUMNS, rows)]))
    servers: list[list[Cell]] = [
        [server["server"], *(server[f"{what}_bits_per_sec"] / MEGA for what in ("sent", "received", "relayed")), worth]
        for server in report["per_server"]
    ]
    links: list[list[Cell]] = [
        [
            link["link"],
            link["level"],
            *(link[f"{way}_bits_per_sec"] / MEGA for way in ("ab", "ba")),
            *(link.get(f"{way}_{what}") for what in ("packets", "drops") for way in ("ab", "ba")),  # none in older runs
            worth,
        ]
        for link in report["per_link"]
    ]
    made.append(Section("Every server", tables=[Table("Servers", SERVER_COLUMNS, servers)]))
    made.append(Section("Every link", tables=[Table("Links", LINK_COLUMNS, links)]))
    return made


def provenance(report: Json) -> list[tuple[str, str]]:
    return [("numbers", "measured"), ("fidelity", report["fidelity"]["verdict"])]


def _latency(told: Json, distribution: Json, worth: str) -> Section:
    """Requests: the number of responses, and their latency."""
    counts = [
        (name, told[key])
        for name, key in (("requests", "requests"), ("answered", "answered"), ("timed out", "timed_out"))
    ]
    times = [
        (f"{name} (ms)", None if told[key] is None else told[key] * 1e3)
        for name, key in (
            ("median", "median"), ("mean", "mean"), ("99th percentile", "p99"), ("99.9th percentile", "p999"), ("longest", "max"),
        )
    ]  # fmt: skip
    bound = (
        []
        if told["bound"] is None
        else [(f"within {told['bound'] * 1e3:g} ms (%)", (told["within_bound"] or 0.0) * 100)]
    )
    rows: list[list[Cell]] = [[name, value, worth] for name, value in [*counts, *times, *bound]]
    line = Line("measured", distribution["secs"], distribution["share"])
    charts = [Chart("Answered requests by latency", "latency (s)", "share", [line])] if len(line.x) > 1 else []
    return Section("Latency of requests", charts=charts, tables=[Table("Latency", LATENCY_COLUMNS, rows)])


def _charts(report: Json) -> list[Chart]:
    series = report["series"]
    at = [float(at_sec) for at_sec in series["at_secs"]]
    if len(at) < 2:
        return []
    lines = [
        Line(name, at, [item / MEGA for item in series[f"{key}_bits_per_sec"]])
        for name, key in (("goodput", "goodput"), ("ABT", "abt"))
    ]
    return [Chart("Throughput over time", "time (s)", "Mb/s", [*lines, *_predicted(report, at[0], at[-1])])]


def _predicted(report: Json, begin_secs: float, end_secs: float) -> list[Line]:
    """The flow engine's prediction in steps: it changes with each fault and recovery. Older runs
    have none."""
    if "predicted_steps" not in report:
        return []
    whole = {"at_secs": begin_secs, **report["predicted"]}
    steps = [
        whole,
        *(
            predicted_step
            for predicted_step in report["predicted_steps"]
            if begin_secs < predicted_step["at_secs"] < end_secs
        ),
    ]
    lines = []
    for name, key in (("goodput, predicted", "ideal_bits_per_sec"), ("ABT, predicted", "abt_bits_per_sec")):
        x, y = [], []
        for step, until in zip(steps, [*(item["at_secs"] for item in steps[1:]), end_secs], strict=True):
            x += [step["at_secs"], until]
            y += [step[key] * report["header_efficiency"] / MEGA] * 2
        lines.append(Line(name, x, y))
    return lines


def _stretches(report: Json, worth: str) -> Section:
    """Before, during and after the faults, and the whole run. Older runs do not have every
    measure."""
    event = "faults" if report["faults"] else "upgrade" if report.get("upgrade") else None
    result = {name: report["windows"][name] for name in WINDOWS if event and name in report["windows"]}
    result[WHOLE] = report["total"]
    columns = (Column("Mean"), *(Column(name, number=True) for name in result), Column("Fidelity"))
    rows: list[list[Cell]] = [
        [title, *("" if item.get(key) is None else words(item[key]) for item in result.values()), worth]
        for title, key, words in MEASURES
    ]
    title = f"Before, during and after the {event}" if event else "The whole run"
    return Section(title, charts=_charts(report), tables=[Table(title, columns, rows)])


def _fault_name(id: str, scheduled: int) -> str:
    """As on the page: F1, F2, in one sequence the scheduled faults (f1, f2), then those injected by
    hand (l1, l2)."""
    matched = re.fullmatch(r"([fl])(\d+)", id)
    return id if matched is None else f"F{int(matched[2]) + (scheduled if matched[1] == 'l' else 0)}"


def _fault(one: Json, scheduled: int, worth: str) -> list[Cell]:
    millis = (
        None if one[key] is None else one[key] * 1e3 for key in ("detected_secs", "first_move_secs", "last_move_secs")
    )
    return [
        _fault_name(one["id"], scheduled), kind_in_words(one), ", ".join(one["targets"]), one["injected_at_secs"],
        one["recovered_at_secs"], *millis, one["moves"], one["recovered_secs"], worth,
    ]  # fmt: skip


def kind_in_words(fault: Json) -> str:
    """The kind in words, with its amount if it has one."""
    given = ((fault.get(name), parameter.unit) for name, parameter in PARAMETERS.items())
    amounts = [AMOUNTS[unit](value) for value, unit in given if value is not None]
    return " ".join([fault["kind"].replace("-", " "), *amounts])


AMOUNTS: dict[str, Callable[[float], str]] = {
    "bit/s": rate,
    "": lambda ratio: shown(ratio, share=True),
    "s": lambda secs: f"{shown(secs * 1e3)} ms",
}
"""The format of a fault's amount, by the unit of its parameter in the catalogue of fault kinds."""
