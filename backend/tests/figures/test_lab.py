"""The lab of measured figures: what it refuses, and how far its numbers are the network's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.figures import lab as lab_module
from cubeyard.emulation.figures.lab import Lab, Measured, Trial
from cubeyard.engine import Engine
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings
from tests.conftest import SMALL

Json = dict[str, Any]
FAULT = {"id": "f1", "kind": "server-off", "targets": ["03"]}
LATE = {**FAULT, "late_secs": 5.0}
CUT_SHORT = {**LATE, "lasted_secs": 1.0, "planned_secs": 3.0}


def report_of(verdict: str = "faithful", cause: str = "none", **more: Any) -> Json:
    return {
        "fidelity": {"verdict": verdict, "cause": cause, "reason": f"{cause}."},
        "total": {"secs": 1.0, "cpu": 0.1, "retransmits": 0}, "aggregate_goodput_bits_per_sec": 1e8, "faults": [],
        "not_injected": [], **more,
    }  # fmt: skip


def measured(engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch, *reports: Json) -> Json:
    """The provenance of trials with these reports."""
    waiting = iter(reports)

    class Done:
        def __init__(self, *_: object) -> None: ...

        def run(self) -> Json:
            return next(waiting)

    monkeypatch.setattr(lab_module, "Session", Done)
    lab = Lab(Settings(), engine, Place(folder), lambda: None)
    trials = [
        Trial(f"trial {number}", SMALL, {"kind": "permutation"}, 1e8, {"seconds": 1.0, "settle_secs": 0.0})
        for number in range(len(reports))
    ]
    assert all(isinstance(result, Measured) for result in lab.measure(trials).values())
    return lab.provenance()


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"not_injected": [{**FAULT, "reason": "no tc"}]}, "f1 (server-off of 03) was not injected: no tc."),
        ({"faults": [CUT_SHORT]}, "f1 (server-off of 03) was injected 5.0 s late and lasted 1.0 of 3.0 s."),
    ],
)
def test_a_fault_that_did_not_happen_as_planned_is_no_measurement(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: Json, reason: str
) -> None:
    with pytest.raises(ProblemError) as refused:
        measured(engine, tmp_path, monkeypatch, report_of(**more))
    assert (refused.value.status, refused.value.code) == (503, "cannot-measure")
    assert f"trial 0 cannot be measured. {reason}" in refused.value.detail


def test_the_fidelity_of_a_figure_is_that_of_its_worst_part(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fidelity(*reports: Json) -> tuple[str, str, str]:
        result = measured(engine, tmp_path, monkeypatch, *reports)["fidelity"]
        return result["verdict"], result["cause"], result["reason"]

    assert fidelity(report_of(), report_of()) == ("faithful", "none", "trial 0: none.")
    assert fidelity(report_of(), report_of(cause="tcp")) == ("faithful", "tcp", "trial 1: tcp.")
    limited = report_of("host-limited", "machine")
    assert fidelity(limited, report_of(cause="tcp")) == ("host-limited", "machine", "trial 0: machine.")
    verdict, cause, reason = fidelity(report_of(), report_of(faults=[LATE]))
    assert (verdict, cause) == ("host-limited", "machine")
    assert reason == "trial 1: f1 (server-off of 03) was injected 5.0 s late. none."
