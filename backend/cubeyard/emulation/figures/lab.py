"""The lab that measures figures: starts, measures and removes one network after the other on this
machine."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.figures.talk import Talk, Talking
from cubeyard.emulation.session.session import Session
from cubeyard.emulation.setup.question import read
from cubeyard.engine import CancelledError, Engine, OnProgress
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.experiments.scenario.verdict import missing_in_words, off_schedule_in_words
from cubeyard.kit.errors import ProblemError
from cubeyard.kit.ids import new_id
from cubeyard.plans.spec import normal_spec
from cubeyard.settings import Settings

Json = dict[str, Any]

MODE = "namespaces"
"""Namespaces use the same kernel and packets as containers, and a network is up within a second."""
SEED = 7
OVERHEAD_SECS = 1.0
"""Time to start and remove a network of the testbed."""
VERDICTS = ("faithful", "unknown", "host-limited")
"""Verdicts from best to worst. With a cause other than `none`, each is worse than without."""


@dataclass(frozen=True)
class Trial:
    """One network with its settings."""

    name: str
    spec: Json
    workload: Json
    link_bits_per_sec: float
    emulation: Json
    """Fields of `Emulation`. With `flow_bytes`, `seconds` is the maximum duration."""
    faults: list[Json] = field(default_factory=list)
    expect_secs: float | None = None
    """The expected duration, if it is less than `seconds`."""
    seed: int = SEED
    talk: Callable[[Talk], None] | None = None
    """Communicates with the servers while packets flow; the trial ends when it returns."""

    @property
    def secs(self) -> float:
        measured = self.expect_secs if self.expect_secs is not None else self.emulation["seconds"]
        return (
            OVERHEAD_SECS + measured + sum(self.emulation.get(f"{item}_secs", 0.0) for item in ("settle", "calibrate"))
        )

    def document(self) -> Json:
        """The trial as an experiment, which anybody can repeat with `cubeyard emulate` or as a
        run."""
        question = {
            "plan": self.spec,
            "workload": self.workload,
            "faults": self.faults,
            "engine": "emulation",
            "emulation": {"mode": MODE, **self.emulation},
            "link_gbps": self.link_bits_per_sec / 1e9,
            "seeds": [self.seed],
        }
        request = ExperimentCreate.model_validate(question)
        return {**request.model_dump(mode="json"), "plan": {"spec": normal_spec(self.spec)}}


@dataclass
class Measured:
    """Report and ticks of a trial, as columns."""

    trial: Trial
    report: Json = field(default_factory=dict)
    network: Json = field(default_factory=dict)
    """The frame that describes the columns."""
    at_secs: list[float] = field(default_factory=list)
    flows: list[list[int]] = field(default_factory=list)
    """Goodput bytes [tick][flow]; empty if there are more flows than ticks can hold."""
    cpu: list[list[float]] = field(default_factory=list)
    """CPU share of a core [tick][server] of the node's process, without the kernel."""
    events: list[Json] = field(default_factory=list)
    routes: list[tuple[float, int, list[int]]] = field(default_factory=list)
    """Time, row of the flow, and path of servers that the flow uses from then on."""

    @cached_property
    def received(self) -> np.ndarray:
        """Bytes [tick, flow] since the start."""
        return np.cumsum(np.array(self.flows, dtype=np.int64), axis=0)

    @property
    def goodput_bits_per_sec(self) -> float:
        return float(self.report["aggregate_goodput_bits_per_sec"])

    @property
    def ends_secs(self) -> np.ndarray:
        """When each flow had received all its bytes; infinite for an incomplete flow."""
        there = self.received >= int(self.trial.emulation["flow_bytes"])
        first = np.argmax(there, axis=0)
        return np.where(there[-1], np.array(self.at_secs)[first], np.inf)

    @property
    def end_secs(self) -> float | None:
        if not self.flows:
            # A session ends with the tick in which its last flow is complete.
            last = self.at_secs[-1] if self.at_secs else np.inf
            return last if last < self.trial.emulation["seconds"] else None
        last = float(self.ends_secs.max())
        return last if np.isfinite(last) else None

    def curve(self, window_secs: float) -> tuple[list[float], list[float]]:
        """Total goodput in bits per second; each point is the mean since the previous one."""
        total = self.received.sum(axis=1)
        x, y = [], []
        began, had = 0.0, 0
        for at_secs, now in zip(self.at_secs, total.tolist(), strict=True):
            if at_secs - began >= window_secs:
                x.append(round((began + at_secs) / 2, 3))
                y.append((now - had) * 8 / (at_secs - began))
                began, had = at_secs, now
        return x, y

    def between(self, from_secs: float, to_secs: float) -> float:
        """Total goodput in this interval, in bits per second."""
        times = np.array(self.at_secs)
        inside = np.flatnonzero((times >= from_secs) & (times <= to_secs))
        if inside.size < 2:
            return 0.0
        first, last = int(inside[0]), int(inside[-1])
        total = self.received.sum(axis=1)
        return float(total[last] - total[first]) * 8 / (self.at_secs[last] - self.at_secs[first])

    def node_cpu(self, server: str) -> float:
        """Mean CPU share of a core of a server's process."""
        row = self.network["servers"]["name"].index(server)
        return float(np.mean([item[row] for item in self.cpu])) if self.cpu else 0.0


class Lab:
    """Measures trials. `told(done, total)` counts tenths of a second; its `False` ends the
    measurement."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        place: Place,
        ready: Callable[[], None],
        told: OnProgress | None = None,
        brevity: float = 1.0,
    ) -> None:
        self.engine = engine
        self.brevity = brevity
        """Share of the figure's data and time that is measured; below 1 the numbers are less
        accurate."""
        self._settings = settings
        self._place = place
        self._ready = ready
        self._told = told
        self._total_secs = 0.0
        self._done_secs = 0.0
        self._load_before = _load()
        self._parts: list[Measured] = []

    def measure(self, trials: list[Trial], in_all_secs: float | None = None) -> dict[str, Measured]:
        """Runs trials one after the other, since two at a time would share the machine. Returns
        results by name. `in_all_secs` is the total duration of this and all further calls, if later
        trials depend on earlier results."""
        self._ready()
        self._total_secs = in_all_secs or sum(trial.secs for trial in trials)
        result = {}
        for trial in trials:
            result[trial.name] = self._measure(trial)
            self._done_secs += trial.secs
        return result

    def tell(self, share: float, trial: Trial) -> None:
        """Reports progress. Raises CancelledError if the measurement was cancelled."""
        done = round(10 * (self._done_secs + share * trial.secs))
        if self._told is not None and self._told(done, round(10 * self._total_secs)) is False:
            raise CancelledError

    def _measure(self, trial: Trial) -> Measured:
        measured = Measured(trial)
        question = read(self.engine, trial.document())
        run_id = new_id()
        talking = None
        if trial.talk is not None:
            talking = Talking(trial.talk, lambda: Talk(self._place.socket, run_id, question.network))
        try:
            sink = _Sink(self, measured, talking)
            measured.report = Session(self._settings, self._place, run_id, question, sink).run()
        finally:
            if talking is not None:
                talking.end()
        if talking is not None and not talking.over():
            _refuse(trial, f"It was not over within {trial.emulation['seconds']:g} s: this machine is too busy.")
        if missing := measured.report["not_injected"]:
            _refuse(trial, " ".join(missing_in_words(fault) for fault in missing))
        if short := [fault for fault in measured.report["faults"] if "lasted_secs" in fault]:
            _refuse(trial, f"{' '.join(off_schedule_in_words(short))} This machine is too busy.")
        self._parts.append(measured)
        return measured

    def provenance(self) -> Json:
        """Machine, versions and fidelity of the measurement."""
        worst = max(self._parts, key=lambda part: _badness(_fidelity(part.report)), default=None)
        fidelity = {"verdict": "unknown", "reason": "Nothing was measured."}
        if worst is not None:
            fidelity = _fidelity(worst.report)
            fidelity["reason"] = f"{worst.trial.name}: {fidelity['reason']}"
        return {
            "engine": "emulation",
            "engine_version": self.engine.version,
            "basis": "measured",
            "seeds": sorted({part.trial.seed for part in self._parts} or {SEED}),
            "mode": MODE,
            "host": {
                "cpu": _cpu_model(),
                "cores": os.cpu_count() or 1,
                "kernel": platform.release(),
                "load_before": self._load_before,
                "load_after": _load(),
            },
            "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "fidelity": fidelity,
            "parts": [_part(part) for part in self._parts],
        }


class _Sink:
    """A session's sink that stores frames as columns."""

    def __init__(self, lab: Lab, measured: Measured, talking: Talking | None) -> None:
        self._lab = lab
        self._talking = talking
        self._measured = measured
        self._share = 0.0

    def frame(self, kind: str, payload: Json) -> None:
        if kind == "network":
            self._measured.network = payload
        elif kind == "phase" and payload["phase"] == "measuring" and self._talking is not None:
            self._talking.begin()
        elif kind == "tick":
            # Paths are already chosen while the traffic settles.
            self._measured.routes += [(payload["at_secs"], row, path) for row, path in payload.get("routes", [])]
        if kind == "tick" and payload["at_secs"] >= 0:
            self._measured.at_secs.append(payload["at_secs"])
            # With very many flows, ticks have values per server only.
            if "flows" in payload:
                self._measured.flows.append(payload["flows"]["bytes"])
            self._measured.cpu.append(payload["servers"]["cpu"])
            self._measured.events += payload.get("events", [])

    def progress(self, share: float) -> None:
        self._share = share

    def check(self) -> None:
        self._lab.tell(self._share, self._measured.trial)

    def over(self) -> bool:
        return self._talking is not None and self._talking.over()

    def orders(self) -> list[Any]:
        return []

    def done(self, order: Any, outcome: Json) -> None:
        _ = order, outcome


def _refuse(trial: Trial, reason: str) -> None:
    raise ProblemError(503, "cannot-measure", f"{trial.name} cannot be measured. {reason}")


def _fidelity(report: Json) -> Json:
    """Verdict, cause and reason. If a fault was late or too long, the machine was the limit."""
    result = {name: report["fidelity"][name] for name in ("verdict", "cause", "reason")}
    if late := off_schedule_in_words(report["faults"]):
        result |= {"verdict": VERDICTS[-1], "cause": "machine", "reason": " ".join([*late, result["reason"]])}
    return result


def _badness(fidelity: Json) -> tuple[int, bool]:
    return VERDICTS.index(fidelity["verdict"]), fidelity["cause"] != "none"


def _part(measured: Measured) -> Json:
    report, trial = measured.report, measured.trial
    return {
        "name": trial.name,
        "secs": report["total"]["secs"],
        "cpu": report["total"]["cpu"],
        "goodput_bits_per_sec": report["aggregate_goodput_bits_per_sec"],
        "retransmits": report["total"]["retransmits"],
        "fidelity": report["fidelity"],
        "experiment": trial.document(),
    }


def _load() -> float:
    """The load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def _cpu_model() -> str:
    for text in Path("/proc/cpuinfo").read_text().splitlines():
        if text.startswith("model name"):
            return text.partition(":")[2].strip()
    return platform.machine()
