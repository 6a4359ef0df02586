"""Collects the data of a run's report: its experiment, its frames, the figure's document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from cubeyard.experiments.models import ExperimentRow
from cubeyard.experiments.points import failures_of, seeds_of
from cubeyard.kit.db import Database
from cubeyard.reports import figure, points, session, settings, simulation
from cubeyard.reports.content import Report, shown
from cubeyard.runs.results import frames_of
from cubeyard.runs.schemas import Run

Json = dict[str, Any]
KINDS = {
    "prediction": "Prediction",
    "sweep": "Sweep",
    "simulation": "Simulation",
    "emulation": "Session with real packets",
    "figure": "Published figure",
}
MAX_WORDS_CHARACTERS = 400


def of_experiment(database: Database, run: Run, experiment: ExperimentRow) -> Report:
    """The report of a prediction, a sweep, a simulation or a session, complete or not."""
    if run.kind == "emulation":
        return _of_session(database, run, experiment)
    titles = [_title(topology) for topology in experiment.topologies]
    if run.kind == "simulation":
        return _of_simulation(database, run, experiment, titles)
    result = points.gather(_payloads(database, run.id, "point"))
    return Report(
        title=run.title,
        kind=KINDS[run.kind],
        state=_state(run),
        findings=points.findings(result, titles),
        question=_question(experiment),
        sections=points.sections(result, titles) if result.count else [],
        provenance=[*_plans(experiment), ("question", experiment.content_hash[:12]), *_seeds(seeds_of(experiment.document)), *_made(run)],
    )  # fmt: skip


def _of_simulation(database: Database, run: Run, experiment: ExperimentRow, titles: list[str]) -> Report:
    result = simulation.gather(_payloads(database, run.id, "simulation"))
    return Report(
        title=run.title,
        kind=KINDS[run.kind],
        state=_state(run),
        findings=simulation.findings(result, titles),
        question=_question(experiment),
        sections=simulation.sections(result, titles) if result else [],
        provenance=[*_plans(experiment), ("question", experiment.content_hash[:12]), *_seeds(seeds_of(experiment.document)), *_made(run)],
    )  # fmt: skip


def _of_session(database: Database, run: Run, experiment: ExperimentRow) -> Report:
    """Has no numbers until the session has ended."""
    document = next(_payloads(database, run.id, "report"), None)
    worth = session.provenance(document) if document is not None else []
    scheduled = len(experiment.document["faults"])
    made = [item for item in _made(run) if item[0] not in {"engine", "numbers"}]
    return Report(
        title=run.title,
        kind=KINDS[run.kind],
        state=_state(run),
        findings=session.findings(document) if document is not None else [],
        question=[*_question(experiment), *settings.in_words(experiment.document.get("emulation") or {})],
        sections=session.sections(document, scheduled) if document is not None else [],
        provenance=[*_plans(experiment), ("question", experiment.content_hash[:12]), *_seeds(seeds_of(experiment.document)), *worth, *made],
    )  # fmt: skip


def of_figure(database: Database, run: Run) -> Report:
    """The report of a figure's run; without numbers until it has a result."""
    document = next(_payloads(database, run.id, "figure"), None)
    given = document["provenance"] if document is not None else {}
    source = [("source", str(given["source"]))] if "source" in given else []
    return Report(
        title=run.title,
        kind=KINDS[run.kind],
        state=_state(run),
        findings=figure.findings(document) if document is not None else [],
        question=[("Figure", run.figure or ""), *((name.capitalize(), value) for name, value in source)],
        sections=figure.sections(document) if document is not None else [],
        provenance=[*source, *_seeds(given.get("seeds", [])), *_made(run)],
    )


def _payloads(database: Database, run_id: str, kind: str) -> Iterator[Json]:
    return (orjson.loads(frame.payload) for frame in frames_of(database, run_id) if frame.kind == kind)


def _state(run: Run) -> str:
    reason = f" {run.reason}" if run.reason else ""
    if run.state == "succeeded":
        return f"Complete: {run.points_total:,} of {run.points_total:,} points."
    return f"Not complete: the run is {run.state} with {run.points_done:,} of {run.points_total:,} points.{reason}"


def _title(topology: Json) -> str:
    name = topology.get("name")
    return topology["title"] if not name or name == topology["title"] else f"{name} ({topology['title']})"


def _question(experiment: ExperimentRow) -> list[tuple[str, str]]:
    document = experiment.document
    request = [
        ("Plan" if index == 0 else "", f"{_title(topology)}: {topology['servers']:,} servers, {topology['switches']:,} switches, {topology['links']:,} links")
        for index, topology in enumerate(experiment.topologies)
    ]  # fmt: skip
    request.append(("Workload", _words(document["workload"])))
    request.append(("Routing", document["routing"] or "the paper's own for each topology"))
    if document["link_gbps"] is not None:
        request.append(("Link rate", f"{settings.rate(document['link_gbps'] * settings.GIGA)} instead of the plan's"))
    if document["flow_gigabits"] is not None:
        request.append(("Each flow sends", f"{shown(document['flow_gigabits'])} Gb"))
    request += [
        ("Fault", f"{session.kind_in_words(fault)} of {_words(fault['target'])}{_when(fault)}")
        for fault in document["faults"]
    ]
    varied: dict[str, list[str]] = {}
    for kind, ratio in failures_of(document):
        if kind is not None:
            varied.setdefault(kind, []).append(shown(ratio, share=True))
    request += [(f"Failing: {kind}", ", ".join(ratios)) for kind, ratios in varied.items()]
    return request


def _words(fields: Json) -> str:
    """`kind` and the other given fields; lists of thousands are shortened."""
    kind = str(fields.get("kind", "")).replace("-", " ")
    rest = [f"{name} {_short(value)}" for name, value in fields.items() if name != "kind" and value is not None]
    return ", ".join([kind, *rest] if kind else rest)


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= MAX_WORDS_CHARACTERS else text[: MAX_WORDS_CHARACTERS - 1] + "…"


def _when(fault: Json) -> str:
    begins = f" from {fault['at_secs']:g} s" if fault["at_secs"] else ""
    return begins + (f" until {fault['until_secs']:g} s" if fault["until_secs"] is not None else "")


def _plans(experiment: ExperimentRow) -> list[tuple[str, str]]:
    return [("plan", topology["plan_hash"][:12]) for topology in experiment.topologies if topology.get("plan_hash")]


def _seeds(seeds: list[int]) -> list[tuple[str, str]]:
    if not seeds:
        return []
    in_a_row = len(seeds) > 1 and seeds == list(range(seeds[0], seeds[0] + len(seeds)))
    return (
        [("seed", str(seeds[0]))]
        if len(seeds) == 1
        else [("seeds", f"{seeds[0]} to {seeds[-1]}" if in_a_row else _short(seeds))]
    )


def _made(run: Run) -> list[tuple[str, str]]:
    finished = run.finished_at
    return [
        ("engine", f"flow {run.engine_version}".strip()),
        ("numbers", "modelled"),
        ("run", run.id),
        *([("finished", f"{finished:%Y-%m-%d %H:%M} UTC")] if finished is not None else []),
    ]
