"""Figures that are measured: in one list with the computed ones, judged by the same rule, and refused where a host cannot."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.emulation.figures import fig9, fig10
from cubeyard.emulation.figures.catalog import FIGURES
from cubeyard.emulation.figures.lab import Measured, Trial
from cubeyard.emulation.figures.rows import Row, near
from cubeyard.emulation.setup.question import read
from cubeyard.engine import Engine
from cubeyard.figures.catalog import FigureCatalog
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings
from tests.runs.conftest import API

MEASURED = {
    "bcube-fig9", "bcube-fig10-measured", "bcube-fig11-measured", "bcube-failover", "bcube-balance",
    "dcell-fig11-measured", "dcell-fig12-measured", "serverswitch-bcube", "subways-hot-racks",
}  # fmt: skip
NUMBERS = st.floats(-1e6, 1e6)


@pytest.fixture
def unable(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Settings:
    """A host whose user may not do what the emulator needs: no helper runs, and none may be started."""
    return settings.model_copy(update={"fabric_start": False})


def test_measured_figures_stand_with_those_of_their_paper(client: TestClient, engine: Engine) -> None:
    items = client.get(f"{API}/figures").json()["items"]
    assert {one["id"] for one in items if one["basis"] == "measured"} == MEASURED == {one.id for one in FIGURES}
    papers = [one["source"].split()[0] for one in items]
    assert papers == sorted(papers, key=papers.index), "a paper's figures are not in one piece"
    assert len({one["id"] for one in items}) == len(items) == len(engine.figures) + len(MEASURED)


@pytest.mark.parametrize("figure", sorted(MEASURED))
def test_a_host_that_cannot_measure_says_what_it_lacks(engine: Engine, unable: Settings, figure: str) -> None:
    with pytest.raises(ProblemError) as refused:
        FigureCatalog(engine, unable).figure_json(figure)
    assert refused.value.status == 503
    assert "The privileged helper (cubeyard-fabric)" in refused.value.detail
    assert "Start it as root" in refused.value.detail


@given(NUMBERS, NUMBERS, st.floats(0, 1e3), st.floats(0, 1e3))
def test_a_verdict_is_the_nearest_that_is_true(paper: float, ours: float, step: float, width: float) -> None:
    row = Row("x", "", paper, ours, paper - width, paper + width, step, "why")
    slack = 2e-9 * max(abs(paper), 1.0)
    if row.verdict == "matches":
        assert abs(ours - paper) <= step / 2 + slack
        assert "reason" not in row.document()
    elif row.verdict == "within band":
        assert abs(ours - paper) <= width + slack
    else:
        assert abs(ours - paper) > width
        assert row.document()["reason"] == "why"


def test_what_could_not_be_measured_differs() -> None:
    assert near("x", "s", 3.0, None, 0.5).verdict == "differs"
    assert Row("x", "s", None, 1.0, 0.0, 2.0).verdict == "within band"


@pytest.mark.parametrize("trial", [*fig9.trials(1.0), *fig10.trials(0.2)], ids=lambda trial: trial.name)
def test_every_trial_is_an_experiment_that_anybody_can_run(engine: Engine, trial: Trial) -> None:
    question = read(engine, trial.document())
    assert question.flows
    assert question.prediction.dropped_flows == 0
    size = question.settings.flow_bytes
    if size is not None:
        assert question.settings.seconds * question.prediction.ideal_bits_per_sec > size * 8, "no time to arrive"


def test_ends_and_curves_follow_from_the_ticks() -> None:
    trial = Trial("x", {}, {}, 1e8, {"flow_bytes": 100, "seconds": 1.0})
    measured = Measured(trial, at_secs=[0.1, 0.2, 0.3], flows=[[50, 0], [50, 50], [0, 50]], cpu=[[1.0]] * 3)
    assert measured.ends_secs.tolist() == [0.2, 0.3]
    assert measured.end_secs == 0.3
    assert measured.between(0.1, 0.3) == pytest.approx(150 * 8 / 0.2)
    x, y = measured.curve(0.15)
    assert (x, y) == (pytest.approx([0.1]), pytest.approx([150 * 8 / 0.2]))
    assert Measured(trial, at_secs=[0.1], flows=[[100, 99]]).end_secs is None
