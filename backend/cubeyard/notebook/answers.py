"""The engines' results for one plan: predictions by the flow engine, simulations packet by
packet."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import orjson
from pydantic import PrivateAttr

from cubeyard.engine import Json
from cubeyard.experiments import results
from cubeyard.experiments.checks import refused_by_field
from cubeyard.experiments.flow_times import FLOW_COLUMNS
from cubeyard.experiments.rows import POINT_COLUMNS, row_of
from cubeyard.notebook.errors import explained, mistake
from cubeyard.notebook.picture import facts
from cubeyard.notebook.progress import Told, line
from cubeyard.notebook.question import RENAMED, Asked, Failures, Seeds, experiment, question
from cubeyard.notebook.session import engine
from cubeyard.notebook.table import Table


class _Answer:
    """Common base of both kinds of results."""

    _document: Json
    _kind: ClassVar[str] = "points"

    @property
    def document(self) -> Json:
        """The complete result of the first seed, with the other seeds in `by_seed`: the output of
        the command line with `--json`."""
        return copy.deepcopy(self._document)

    def by_seed(self) -> Table:
        """The numbers of each seed, one row each, in the columns of a sweep."""
        each = self._document.get("by_seed") or [self._document]
        title = self._document["topology"]
        request = {"topology": 0, "failure_kind": None, "failure_ratio": None}
        rows = [
            row_of({"point": i, **request, "seed": item["seed"], "result": {**self._document, **item}}, [title])
            for i, item in enumerate(each)
        ]
        return Table.of_rows(f"{title} by seed", list(POINT_COLUMNS[self._kind]), rows)

    def _title(self) -> str:
        document = self._document
        return f"{document['topology']}, {document['workload']['kind']}, routing {document['routing']}, seed {document['seed']}"


class Prediction(results.Prediction, _Answer):
    """The throughput of a plan, computed by the flow engine: `abt_gbps`, `maxmin`, `path_hops`,
    `failures`, ... of the first seed."""

    _document: Json = PrivateAttr(default_factory=dict)

    @classmethod
    def of(cls, document: Json) -> Self:
        """Parses the engine's document."""
        result = cls.model_validate({name: value for name, value in document.items() if name != "by_seed"})
        result._document = document  # noqa: SLF001 - of this class
        return result

    def __repr__(self) -> str:
        return f"<Prediction {self._title()}: ABT {self.abt_gbps:,.2f} Gb/s, {self.dropped_flows:,} of {self.flows + self.dropped_flows:,} flows dropped>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        rates, hops = self.maxmin, self.path_hops
        rows = [
            ("Aggregate bottleneck throughput", f"{self.abt_gbps:,.2f}", "Gb/s"),
            ("Flows carried", f"{self.flows:,}", ""),
            ("Flows dropped", f"{self.dropped_flows:,}", ""),
            ("Flows on the fullest link", f"{self.max_link_flows:,}", ""),
        ]
        if hops.mean is not None:
            rows.append(("Path length", f"{hops.mean:.3f}", f"{hops.unit} on average, {hops.max or 0:g} at most"))
        if rates is not None:
            rows.append(("Max-min fair rates", f"{rates.total_gbps:,.2f}", "Gb/s in all"))
        return facts(self._title(), rows)


class Simulation(results.Simulation, _Answer):
    """The results of a workload, simulated packet by packet: `completion_secs`, `goodput_gbps`,
    `drops`, `timeouts`, `series`, ... of the first seed."""

    _document: Json = PrivateAttr(default_factory=dict)
    _kind: ClassVar[str] = "simulation"

    @classmethod
    def of(cls, document: Json) -> Self:
        """Parses the engine's document."""
        result = cls.model_validate({name: value for name, value in document.items() if name != "by_seed"})
        result._document = document  # noqa: SLF001 - of this class
        return result

    def flow_times(self) -> Table:
        """Each flow's bytes, start, completion time (seconds), drops, retransmits and timeouts.
        Needs `flow_times=True`."""
        columns = self._document.get("flow_times")
        if columns is None:
            raise mistake("flow_times", None, "The times of flows were not kept", hint="Simulate with flow_times=True.")
        return Table("Flows", {name: columns[name] for name in FLOW_COLUMNS})

    def __repr__(self) -> str:
        times = self.completion_secs
        median = "no flow completed" if times.median is None else f"median completion {times.median:.6g} s"
        return f"<Simulation {self._title()}: {self.flows:,} flows, {median}, {self.drops:,} drops>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        times = self.completion_secs
        named = (("Completion time, median", times.median), ("99th percentile", times.p99), ("longest", times.max))
        rows = [
            ("Flows", f"{self.flows:,}", f"{times.unfinished:,} not complete at the end"),
            *((name, f"{value:.6g}", "s") for name, value in named if value is not None),
            *([] if self.goodput_gbps is None else [("Goodput of all flows", f"{self.goodput_gbps:,.4g}", "Gb/s")]),
            ("Packets dropped", f"{self.drops:,}", f"{self.retransmits:,} sent again"),
            ("Timeouts", f"{self.timeouts:,}", ""),
            ("Simulated", f"{self.simulated_secs:.6g}", "s"),
        ]
        return facts(self._title(), rows)


def predict(
    what: Asked,
    workload: str | Mapping[str, Any] = "all-to-all",
    *,
    failures: Failures | None = None,
    routing: str | None = None,
    seeds: Seeds = 1,
    link_gbps: float | None = None,
    max_min: bool | None = None,
    flow_gigabits: float | None = None,
    link_load: bool = False,
    progress: bool | Told | None = None,
) -> Prediction:
    """Predicts what a network carries: aggregate bottleneck throughput, link loads, paths and
    max-min fair rates.

    `workload` is a kind (`"all-to-all"`, `"permutation"`, `"incast"`, ...) or a document with its
    parameters; `failures` are the failed or degraded parts (see `Failures`); `routing` is a scheme
    of the family, by default that of its paper; `seeds` is a number of seeds (starting at 7) or a
    list. `link_gbps` is the rate of every link instead of the plan's, `flow_gigabits` is the size
    of each flow and adds `completion`; `link_load` adds the flows on every link. Ctrl-C cancels the
    computation. Raises `CubeyardError`, which names the argument.
    """
    request = question(
        what, workload, failures, seeds, routing=routing, link_gbps=link_gbps, max_min=max_min,
        flow_gigabits=flow_gigabits, link_load=link_load,
    )  # fmt: skip
    return Prediction.of(_computed(request, "Routing flows", progress))


def simulate(
    what: Asked,
    workload: str | Mapping[str, Any] = "permutation",
    *,
    bytes: int | None = None,
    failures: Failures | None = None,
    routing: str | None = None,
    seeds: Seeds = 1,
    link_gbps: float | None = None,
    flow_times: bool = False,
    progress: bool | Told | None = None,
    **settings: Any,
) -> Simulation:
    """Simulates a workload packet by packet in virtual time, with queues and TCP: completion times,
    drops, timeouts.

    `bytes` is the size of each flow; `failures` can have `at_secs` and `until_secs`; `settings` are
    those of the packet engine, such as `recovery="sack"`, `subflows=8` or `mtu_bytes=9000`.
    `flow_times` keeps each flow's times. Other arguments are as in `predict`.
    """
    named: Json = {"kind": workload} if isinstance(workload, str) else dict(workload)
    if bytes is not None:
        named["bytes"] = bytes
    packet = {**settings, "flow_times": True} if flow_times else settings
    request = question(
        what, named, failures, seeds, routing=routing, link_gbps=link_gbps, engine="packet", packet=packet
    )
    return Simulation.of(_computed(request, "Simulating packets", progress))


def _computed(asked: Json, title: str, progress: bool | Told | None) -> Json:
    with explained(RENAMED), line(title, progress) as reported, refused_by_field("body", faults=len(asked["faults"])):
        # The callback is always set, so that Ctrl-C is handled while the engine computes.
        return orjson.loads(
            engine().predict_json(
                asked["plan"]["spec"], experiment(asked), lambda done, total: reported(done / total if total else 0.0)
            )
        )
