"""Sweeps over topologies, failure rates and seeds: every combination is a point, and all points
form a data frame."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import orjson

from cubeyard.engine import Engine, Json
from cubeyard.experiments.checks import outlines, refused_by_field
from cubeyard.experiments.points import count, points
from cubeyard.experiments.rows import POINT_COLUMNS, row_of
from cubeyard.experiments.schemas import MAX_POINTS
from cubeyard.notebook import session
from cubeyard.notebook.errors import explained, mistake
from cubeyard.notebook.picture import Picture
from cubeyard.notebook.plans import Plan, spec_of
from cubeyard.notebook.progress import Told, line
from cubeyard.notebook.question import (
    RENAMED,
    Asked,
    Failures,
    Seeds,
    each_of,
    has_rates,
    kind_of,
    question,
    rate_of,
    seeds_of,
)
from cubeyard.notebook.table import Table
from cubeyard.notebook.topology import Topology
from cubeyard.reports import chart
from cubeyard.reports.points import gather, sections

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


@dataclass(frozen=True, repr=False)
class Sweep:
    """The points of a sweep, in their order: seeds outermost, then topologies, then failure
    rates."""

    titles: list[str]
    """Titles of the topologies, by their number in the points."""
    engine: str
    """Either `flow` or `packet`."""
    points: list[Json]
    """Points of the form `{point, topology, seed, failure_kind, failure_ratio, result}`, as in a
    run's frames."""

    @property
    def table(self) -> Table:
        """One row per point, with the columns of a run's CSV file."""
        columns = POINT_COLUMNS["simulation" if self.engine == "packet" else "points"]
        return Table.of_rows("Sweep", list(columns), [row_of(point, self.titles) for point in self.points])

    def to_pandas(self) -> pd.DataFrame:
        """`table` as a data frame of pandas."""
        return self.table.to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """`table` as a data frame of polars."""
        return self.table.to_polars()

    def frame(self) -> Any:
        """A pandas data frame if pandas is installed, else a polars data frame, else rows as
        dicts."""
        return self.table.frame()

    @property
    def charts(self) -> list[Picture]:
        """The charts of the run's report, two for each kind of failure: throughput and dropped
        flows over the failure rate, as means over the seeds with bands from minimum to maximum.
        Empty without failures and for simulations."""
        if self.engine != "flow":
            return []
        made = [item for section in sections(gather(self.points), self.titles) for item in section.charts]
        return [Picture(chart.standalone(section), section.words or section.title) for section in made]

    def chart(self) -> Picture:
        """The first of `charts`. Raises `CubeyardError` if there is none."""
        charts = self.charts
        if not charts:
            raise mistake(
                "failures", None, "Only a sweep of predictions over failure rates has charts", hint="Give failures."
            )
        return charts[0]

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"<Sweep of {', '.join(self.titles)}: {len(self.points):,} points, engine {self.engine}>"

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(item.words)}</p>{item.html()}" for item in self.charts) + self.table.html()


def sweep(
    what: Asked | Sequence[Asked] | Mapping[str, Asked],
    workload: str | Mapping[str, Any] = "all-to-all",
    *,
    failures: Failures | None = None,
    seeds: Seeds = 1,
    routing: str | None = None,
    engine: str = "flow",
    link_gbps: float | None = None,
    max_min: bool | None = None,
    flow_gigabits: float | None = None,
    packet: Mapping[str, Any] | None = None,
    progress: bool | Told | None = None,
) -> Sweep:
    """Computes every combination of topologies, failure rates and seeds on all processors.

    `what` is one topology, plan or spec, a list of them, or a dict with names for charts;
    `failures` are those of every point, as in `predict`; a list of rates
    (`{"switches": [0, 0.1, 0.2]}`, also next to others: `[{"links": [0, 0.1]}, "rack R03"]`) is
    varied. `engine` is `"flow"` (predictions) or `"packet"` (simulations, with `packet` as
    settings). Other arguments are as in `predict`. At most 20,000 points. Ctrl-C cancels the
    computation. Raises `CubeyardError`, which names the argument, before the first point is
    computed.
    """
    if engine not in (known := [item["name"] for item in session.engine().engines]):
        raise mistake("engine", engine, f"There is no engine {engine} for sweeps", limit=f"one of {', '.join(known)}")
    named = _named(what)
    varied, faults = _varied(failures)
    document = question(
        next(iter(named.values())), workload, faults, seeds, routing=routing, engine=engine, link_gbps=link_gbps,
        max_min=max_min, flow_gigabits=flow_gigabits, packet=None if packet is None else dict(packet),
        axes=_axes(list(named.values()), varied, seeds),
    )  # fmt: skip
    return Sweep(list(named), engine, _computed(document, list(named), progress))


def _computed(document: Json, titles: list[str], progress: bool | Told | None) -> list[Json]:
    total = count(document)
    if total > MAX_POINTS:
        raise mistake(
            "failures", total, f"The sweep would have {total:,} points", limit=f"at most {MAX_POINTS:,}",
            hint="Take fewer seeds or rates, or make several sweeps.",
        )  # fmt: skip
    matches: list[Json] = []
    with explained(RENAMED), line(f"Sweep of {total:,} points", progress) as reported:
        outlines(_engine(), document, titles)
        for point in points(document):

            def follow(done: int, of: int, number: int = point.number) -> None:
                reported((number + (done / of if of else 0.0)) / total)

            with refused_by_field("body", on=titles[point.topology], faults=len(document["faults"])):
                result = orjson.loads(_engine().predict_json(point.spec, point.experiment, follow))
            matches.append({**point.described(), "result": result})
    return matches


def _varied(failures: Failures | None) -> tuple[dict[str, list[float]], list[Any]]:
    """Lists of rates by kind, and the failures of every point."""
    varied: dict[str, list[float]] = {}
    faults: list[Any] = []
    for failure in () if failures is None else each_of(failures):
        if not has_rates(failure):
            faults.append(failure)
            continue
        for word, rates in failure.items():
            if not isinstance(rates, list):
                faults.append({word: rates})
            elif word in varied:
                raise mistake(f"failures.{word}", rates, f"{word} are varied twice", hint="Give one list of rates.")
            else:
                varied[word] = rates
    return varied, faults


def _axes(what: list[Asked], varied: Mapping[str, list[float]], seeds: Seeds) -> Json:
    axes: Json = {"topologies": [copy.deepcopy(spec_of(item)) for item in what], "seeds": seeds_of(seeds)}
    if varied:
        axes["failure"] = [{"kind": kind_of(word), "ratios": _rates(word, rates)} for word, rates in varied.items()]
    return axes


def _rates(word: str, rates: list[float]) -> list[float]:
    values = [rate_of(word, rate) for rate in rates]
    repeated = next((value for value in values if values.count(value) > 1), None)
    if repeated is not None:
        raise mistake(f"failures.{word}", repeated, "A rate is given twice", hint="Give each rate once.")
    return values


def _named(what: Asked | Sequence[Asked] | Mapping[str, Asked]) -> dict[str, Asked]:
    """The topologies by title."""
    if isinstance(what, Mapping) and not {"family", "topology", "spec"} & what.keys():
        result: dict[str, Asked] = dict(what)
    else:
        each = list(what) if isinstance(what, Sequence) and not isinstance(what, str) else [what]
        result = {}
        for item in each:
            title = _title(item)
            result[title if title not in result else f"{title} ({len(result) + 1})"] = item
    if not result:
        raise mistake("what", what, "There is nothing to sweep", hint="Give a topology, or several.")
    return result


def _title(what: Any) -> str:
    if isinstance(what, Plan):
        return what.name
    return (what if isinstance(what, Topology) else Topology(spec_of(what))).title


def _engine() -> Engine:
    return session.engine()
