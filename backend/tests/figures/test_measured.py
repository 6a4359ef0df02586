"""Figures that are measured: in one list with the computed ones, judged by the same rule, and
refused where a host cannot."""

from __future__ import annotations

import dataclasses
import threading
from collections import Counter
from importlib import import_module
from math import inf
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.emulation.fabric.client import FabricGoneError
from cubeyard.emulation.figures import (
    camcube_fig3,
    camcube_fig6,
    dcell_table2,
    fig9,
    fig10,
    torus,
)
from cubeyard.emulation.figures.catalog import FIGURES, MeasuredFigure
from cubeyard.emulation.figures.lab import Measured, Trial
from cubeyard.emulation.figures.rows import WHOLE, Row, cannot_fail, near
from cubeyard.emulation.figures.talk import Answer, Talking, Watched, newer
from cubeyard.emulation.network.network import Link
from cubeyard.emulation.setup.question import read
from cubeyard.engine import Engine
from cubeyard.figures.catalog import FigureCatalog
from cubeyard.figures.references import reference_of
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings
from tests.runs.conftest import API

MEASURED = {
    "bcube-fig9", "bcube-fig10-measured", "bcube-fig11-measured", "bcube-failover", "bcube-balance",
    "dcell-fig11-measured", "dcell-fig12-measured", "dcell-table2-measured", "camcube-fig1-measured", "camcube-fig2-measured",
    "camcube-fig3-measured", "camcube-fig4-measured", "camcube-fig5-measured", "camcube-fig6-measured", "camcube-table1-measured",
    "serverswitch-bcube", "serverswitch-fig9-measured", "serverswitch-fig10-measured", "serverswitch-fig11-measured",
    "subways-fig8-measured", "subways-fig9-measured", "subways-fig10-measured", "subways-fig11-measured", "subways-fig12-measured",
    "subways-fig13-measured", "subways-hot-racks", "subways-table5-measured", "subways-upgrade",
}  # fmt: skip
NUMBERS = st.floats(-1e6, 1e6)


@pytest.fixture
def unable(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Settings:
    """A host whose user may not do what the emulator needs: no helper runs, and none may be
    started."""
    return settings.model_copy(update={"fabric_start": False})


def test_measured_figures_stand_with_those_of_their_paper(client: TestClient, engine: Engine) -> None:
    items = client.get(f"{API}/figures").json()["items"]
    assert (
        {item["id"] for item in items if item["basis"] == "measured"} == MEASURED == {figure.id for figure in FIGURES}
    )
    papers = [item["source"].split()[0] for item in items]
    assert papers == sorted(papers, key=papers.index), "a paper's figures are not in one piece"
    assert len({item["id"] for item in items}) == len(items) == len(engine.figures) + len(MEASURED)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda item: item.id)
def test_a_figure_names_the_module_that_measures_it(figure: MeasuredFigure) -> None:
    assert callable(import_module(f"cubeyard.emulation.figures.{figure.module}").measure)


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


@pytest.mark.parametrize(
    ("unit", "low", "high"), [("%", 0, 100), ("%", -1, 101), ("x", 0, inf), ("hops", -1, inf), ("", -inf, inf)]
)
def test_a_band_of_every_value_is_no_band(unit: str, low: float, high: float) -> None:
    with pytest.raises(ValueError, match="nothing can differ"):
        Row("x", unit, None, 1.0, low, high)
    # A bound on one side is one.
    assert [Row("x", unit, None, ours, 0.5, high).verdict for ours in (0.6, 0.4)] == ["within band", "differs"]


@pytest.mark.parametrize("figure", sorted(MEASURED))
def test_each_number_of_a_stored_result_could_have_differed(figure: str) -> None:
    """At least one of the values below, in the middle of, and above a band is valid for the unit,
    and differs."""
    result = reference_of(figure)
    assert result is not None
    for row in result.document["rows"]:
        low, high = float(row["low"]), float(row["high"])
        assert not cannot_fail(row["unit"], low, high), row
        least, most = WHOLE.get(row["unit"], (0.0, inf))
        aside = [value for value in (low - 1e-3, high + 1e-3, 2 * abs(high) + 1) if least <= value <= most]
        assert aside, row
        assert all(Row("x", row["unit"], None, value, low, high).verdict == "differs" for value in aside)


def test_bands_are_the_spread_of_the_model() -> None:
    assert torus.spread([1.0, 1.0]) == (1.0, 1.0)
    assert torus.spread([1.0, 3.0]) == (-1.0, 5.0)
    assert torus.spread([1.0, 3.0], [10.0, 10.0]) == (-1.0, 10.0)


def test_packets_are_lost_where_more_come_than_go_on() -> None:
    """From 0 over 1 and 2 to 3, which they enter by two links and leave by one to 4; 2 loses one
    itself."""
    hops = {(0, 1): 10, (0, 2): 11, (1, 3): 10, (2, 3): 10, (3, 4): 12}
    flood = torus.Flood(12, 1.0, hops)
    assert flood.carried == 53
    assert flood.lost((0, 4)) == (9, 8)


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


@given(st.lists(st.integers(0, 40), max_size=60))
def test_a_stress_is_by_nearest_rank_over_the_links_used(counts: list[int]) -> None:
    links, packets, *percentiles = torus.Stress.of(counts).cells
    used = sorted(count for count in counts if count)
    assert (links, packets) == (len(used), sum(counts))
    assert percentiles == sorted(percentiles)
    assert percentiles[-1] == max(counts, default=0)
    if used:
        assert percentiles[0] in used
        assert sum(item <= percentiles[0] for item in used) * 2 >= len(used)


@pytest.mark.parametrize("kind", dcell_table2.KINDS)
@pytest.mark.parametrize("ratio", dcell_table2.RATIOS)
def test_failures_are_drawn_once_and_leave_two_servers_for_the_flow(engine: Engine, kind: str, ratio: float) -> None:
    described = engine.emulation_network(dcell_table2.DCELL)
    broken = dcell_table2.draw(described, kind, ratio)
    assert broken == dcell_table2.draw(described, kind, ratio)
    count = len(described["servers" if kind == "node" else "links"])
    assert len(set(broken.numbers)) == len(broken.names) == round(ratio * count)
    assert not set(broken.ends) & set(broken.names)
    trial = Trial("x", dcell_table2.DCELL, {"kind": "one-to-one"}, 1e8, {"seconds": 1.0})
    fault = {
        "kind": "server-off" if kind == "node" else "cable-pulled",
        "target": {"names": broken.names},
        "at_secs": 0.0,
    }
    assert read(engine, dataclasses.replace(trial, faults=[fault]).document()).flows, "names that the plan has"


def test_members_and_lookups_are_drawn_once_and_follow_their_laws() -> None:
    every = torus.Members.draw(64, 1.0, 3)
    assert sorted(every.members) == list(range(64))
    assert every == torus.Members.draw(64, 1.0, 3)
    assert len(torus.Members.draw(64, 0.001, 3).members) == 1
    lookups = camcube_fig3.draw(4000, 7)
    assert lookups == camcube_fig3.draw(4000, 7)
    counts = Counter(name for _, name in lookups)
    (first, most), (_, next_most) = counts.most_common(2)
    assert first == "key0"
    assert most / next_most == pytest.approx(2**camcube_fig3.EXPONENT, rel=0.2)


def test_packets_of_a_time_are_those_counted_since() -> None:
    assert newer({(0, 1): 5, (1, 2): 3, (2, 3): 4}, {(0, 1): 2, (1, 2): 3}) == {(0, 1): 3, (2, 3): 4}


class Six:
    """A talk with a torus in which only the centre's six links carry traffic: a given rate in each
    direction."""

    def __init__(self, engine: Engine, share: float, micros: float) -> None:
        described = engine.emulation_network(torus.torus(3))
        links = [Link(link["id"], tuple(link["a"]), tuple(link["b"]), 0) for link in described["links"]]
        self.network = SimpleNamespace(
            links=links, servers={server["id"]: server["name"] for server in described["servers"]}
        )
        self.told: list[str] = []
        self._share, self._micros = share, micros

    def tell(self, server: int, service: str, message: str) -> None:
        self.told.append(f"{server} {service} {message}")

    def answers(self, service: str, wanted: int) -> list[Answer]:
        return [Answer(0, f"received by {service}")] * wanted

    def watch(self, secs: float) -> Watched:
        mine = [camcube_fig6.CENTRE in (link.a[0], link.b[0]) for link in self.network.links]
        length = camcube_fig6.PAYLOAD + torus.WIRE_BYTES
        count = round(self._share * camcube_fig6.LINK_BITS_PER_SEC * secs / 8 / (length - camcube_fig6.ETHERNET_BYTES))
        cpu = [0.0] * 27
        cpu[camcube_fig6.CENTRE] = self._micros / 1e6 * 6 * count / secs
        ways = [(length * count, length * count) if item else (7, 7) for item in mine]
        return Watched(secs, ways, [(0, 0) for _ in mine], cpu)


def test_throughput_and_cpu_of_six_links_are_those_counted_at_the_middle(engine: Engine) -> None:
    talks = iter([Six(engine, 0.98, 10.0), Six(engine, 0.97, 12.0)])

    class Made:
        brevity = 0.2

        def measure(self, trials: list[Trial]) -> None:
            (trial,) = trials
            talk = trial.talk
            assert talk is not None
            first = next(talks)
            talk(first)  # type: ignore[arg-type]
            assert len(first.told) == 2 * 6 * len(camcube_fig6.MODES), "two rounds"
            assert first.told[0].startswith(("4 ", "22 ", "10 ", "16 ", "12 ", "14 "))
            assert " benchmark flood 1,1,1 bounce " in first.told[0]

    rounds = camcube_fig6.rounds_of(Made())  # type: ignore[arg-type]
    throughput, micros = camcube_fig6.best_of(rounds)
    assert list(throughput.values()) == pytest.approx([0.98 * 12] * 4, rel=0.01)
    assert list(micros.values()) == pytest.approx([10.0] * 4, rel=0.01)
    mixed = {mode: [*ones, camcube_fig6.Round(1.0, 99.0)] for mode, ones in rounds.items()}
    assert camcube_fig6.best_of(mixed) == (throughput, micros), "the most throughput, the least CPU"


def test_the_whole_of_fig_6_is_an_experiment_that_can_be_run() -> None:
    asked: list[Any] = []

    class Whole:
        brevity = 1.0

        def measure(self, trials: list[Trial]) -> None:
            asked.extend(trial.document() for trial in trials)

    camcube_fig6.rounds_of(Whole())  # type: ignore[arg-type]
    assert len(asked) == 1


class Ended:
    """A talk's connections, of which only the end matters here."""

    closed = False

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("error", [None, FabricGoneError("the run is gone"), ValueError("a fault of ours")])
def test_a_talk_that_ends_or_fails_tells_the_session(error: Exception | None) -> None:
    ended, began = Ended(), threading.Event()

    def talk(_: Any) -> None:
        began.wait(5)
        if error is not None:
            raise error

    talking = Talking(talk, lambda: ended)  # type: ignore[arg-type, return-value]
    assert not talking.over()
    talking.begin()
    assert not talking.over()
    began.set()
    if isinstance(error, ValueError):
        with pytest.raises(ValueError, match="of ours"):
            talking.end()
    else:
        talking.end()
    if error is None:
        assert talking.over()
    else:
        with pytest.raises(type(error)):
            talking.over()
    assert ended.closed
