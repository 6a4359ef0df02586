"""Measured figures of Subways: their settings, and the comparison of results with the paper and the
engines."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cubeyard.emulation.figures import (
    shuffles,
    subways_fig9,
    subways_fig10,
    subways_fig11,
    subways_fig12,
    subways_fig13,
    table5,
    upgrade,
)
from cubeyard.emulation.figures.lab import Measured, Trial
from cubeyard.emulation.setup.prediction import ends_secs
from cubeyard.emulation.setup.question import read
from cubeyard.engine import Engine


def test_an_upgrade_is_judged_by_what_flows_carry_and_lose() -> None:
    windows = {"before": {"goodput_bits_per_sec": 4e7}, "after": {"goodput_bits_per_sec": 7.6e7}}
    done = {"steps": 8, "steps_done": 8, "connections_lost": 0}
    trial = Trial("p", {}, {}, 2e7, {})
    result = Measured(trial, {"windows": windows, "upgrade": done, "drops": {}})
    assert [row.verdict for row in upgrade.rows(result)] == ["within band", "matches", "matches", "matches"]
    lost = {**done, "steps_done": 3, "connections_lost": 1}
    result = Measured(trial, {"windows": {"before": windows["before"]}, "upgrade": lost, "drops": {"no-route": 2}})
    assert [row.verdict for row in upgrade.rows(result)] == ["differs"] * 4


class Models:
    """A lab that has models, and no network."""

    brevity = 1.0

    def __init__(self, engine: Engine) -> None:
        self.engine = engine


@given(st.floats(0, 1), st.integers(1, 12))
def test_a_greatest_rate_is_found_to_half_of_what_halving_leaves(limit: float, halvings: int) -> None:
    least, most = 100.0, 300.0
    wanted = least + limit * (most - least)
    tried: list[float] = []

    def sustains(rate: float) -> bool:
        tried.append(rate)
        return rate <= wanted

    result = subways_fig12.greatest(sustains, least, most, halvings)
    assert len(tried) == halvings
    assert abs(result - wanted) <= (most - least) / 2 ** (halvings + 1) + 1e-9


@pytest.mark.parametrize(
    ("answered", "mean", "kept"),
    [(1000, 1.0, True), (990, 1.0, True), (989, 1.0, False), (1000, 1.01, False), (0, None, False)],
)
def test_a_rate_is_sustained_in_time_with_a_hundredth_lost_at_most(
    answered: int, mean: float | None, kept: bool
) -> None:
    assert subways_fig12.Answered(1000, answered, mean).sustained(1.0) == kept


@pytest.mark.parametrize("variant", subways_fig12.VARIANTS, ids=lambda item: item.title)
def test_web_servers_of_ten_racks_ask_two_over_uplinks_of_the_ratio(
    engine: Engine, variant: subways_fig12.Variant
) -> None:
    ratio = subways_fig12.RATIOS[-1]
    lab: Any = Models(engine)
    trial = subways_fig12.trial(lab, variant, ratio, 1000.0)
    question = read(engine, trial.document())
    assert len(question.flows) == 2 * 40 * 8
    described = engine.emulation_network(trial.spec)
    servers = {server["id"] for server in described["servers"]}
    rates: dict[int, list[float]] = {}
    for link in described["links"]:
        tor, up = (link["b"][0], False) if link["a"][0] in servers else (link["a"][0], True)
        rates.setdefault(tor, [0.0, 0.0])[up] += link["rate_ratio"] * trial.link_bits_per_sec
    assert len(rates) == subways_fig12.RACKS
    for below, above in rates.values():
        assert below == pytest.approx(8 * subways_fig12.LINK_BITS_PER_SEC)
        assert below / above == pytest.approx(ratio)
    # The maximum rate out of two racks of type 0.
    most = 2 * 8 * subways_fig12.LINK_BITS_PER_SEC / ratio / 8 / subways_fig12.RESPONSE_BYTES
    assert subways_fig12.simulated(lab, variant, ratio, 0.6 * most).sustained(subways_fig12.BOUND_SECS)
    assert not subways_fig12.simulated(lab, variant, ratio, 3.5 * most).sustained(subways_fig12.BOUND_SECS)
    assert subways_fig12.fluid_per_sec(lab, variant, ratio) < 3.1 * most


GAINS = st.lists(st.floats(0.5, 4), min_size=3, max_size=3)


@given(GAINS, GAINS)
def test_variants_are_judged_by_their_gain_over_type_0_and_beside_the_packet_engine(
    ours: list[float], packets: list[float]
) -> None:
    titles = [variant.title for variant in subways_fig12.VARIANTS]
    base = subways_fig12.PAPER_MQPS / subways_fig12.mqps(1.0)
    lines = [
        {title: [base * gain, base / 2 * gain] for title, gain in zip(titles, [1.0, *of], strict=True)}
        for of in (ours, packets)
    ]
    result = {row.name: row for row in subways_fig12.rows((5.0, 10.0), *lines)}
    for name, at, bounds in (
        ("type 1 over type 0, mean", 0, (1.02, 1.38)),
        ("type 1LB over type 0, mean", 1, (1.36, 1.84)),
        ("type 1D over type 0, least", 2, (1.53, 2.875)),
        ("type 1D over type 0, most", 2, (1.53, 2.875)),
    ):
        row = result[name]
        assert row.ours == pytest.approx(ours[at])
        assert (row.low, row.high) == pytest.approx(bounds)
    assert result["type 0 at 5:1"].verdict == "matches"
    assert result["type 1D at 10:1"].ours == pytest.approx(5 * ours[2])
    beside = result["type 1LB at 10:1, by the packet engine"]
    assert beside.expected == pytest.approx(5 * packets[1])
    assert (beside.verdict == "differs") == (abs(ours[1] / packets[1] - 1) > 0.15 + 1e-9)


@pytest.mark.parametrize("around", [True, False])
@pytest.mark.parametrize("load", subways_fig13.LOADS)
def test_a_hot_server_sends_and_gets_more_than_its_tors_carry_only_where_it_goes_around(
    engine: Engine, load: float, around: bool
) -> None:
    trial = subways_fig13.trial(Models(engine), load, 0, around)  # type: ignore[arg-type]
    question = read(engine, trial.document())
    described = engine.emulation_network(trial.spec)
    hot = subways_fig13.HOT
    tors = {link["b"][0] for link in described["links"] if link["a"][0] == hot}
    uplinks = [link["rate_ratio"] for link in described["links"] if link["a"][0] in tors]
    ports = [link["rate_ratio"] for link in described["links"] if link["a"][0] == hot]
    sent = trial.emulation["flow_bits_per_sec"] * sum(flow.source == hot for flow in question.flows)
    assert len(uplinks) == len(ports) == 2
    assert sum(ports) * trial.link_bits_per_sec == pytest.approx(2 * subways_fig13.LINK_BITS_PER_SEC)
    assert 1.05 * sent < 2 * subways_fig13.LINK_BITS_PER_SEC, "wrapped packets fit its ports too"
    filled = sent / (sum(uplinks) * trial.link_bits_per_sec)
    assert filled == pytest.approx(2.0) if around else filled < 0.6


CPUS = st.floats(0.001, 1.0)


@given(CPUS, CPUS, st.lists(st.floats(0.01, 1.0), min_size=3, max_size=9, unique=True))
def test_a_line_through_cpu_is_the_least_squares_line(slope: float, least: float, x: list[float]) -> None:
    exact = subways_fig13.fit([subways_fig13.Point(item, slope * item + least) for item in x])
    assume(max(x) - min(x) > 0.05)
    assert exact == pytest.approx((slope, least, 1.0), abs=1e-6)
    # A point off the line explains less, by as much as the others are apart.
    assume(min(after - before for before, after in pairwise(sorted(x))) > 0.01)
    off = [subways_fig13.Point(item, slope * item + least + slope * (at == 1)) for at, item in enumerate(x)]
    assert subways_fig13.fit(off)[2] < 1 - 1e-6


def test_cpu_of_a_relay_is_its_part_of_what_the_machine_takes_more(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    pairs = []
    for number, cpu in enumerate((0.30, 0.32, 0.9)):
        both = []
        for around in (True, False):
            trial = subways_fig13.trial(Models(engine), 40, number, around)  # type: ignore[arg-type]
            described = engine.emulation_network(trial.spec)
            ends = [(link["a"][0], link["b"][0]) for link in described["links"]]
            ids = [server["id"] for server in described["servers"]]
            sent = {1: 30e6, 3: 20e6, 0: 10e6, 4: 10e6, subways_fig13.HOT: 99e6, 7: 88e6} if around else {}
            carried = [{"ab_bits_per_sec": sent.get(a, 0.0) / 2 if a in ids else 77e6} for a, _ in ends]
            report = {
                "per_link": carried,
                "fidelity": {"own_cpu": cpu if around else 0.25},
                "aggregate_goodput_bits_per_sec": 90e6 if around else 100e6,
            }
            network = {"servers": {"id": ids}, "links": {"a": [a for a, _ in ends]}}
            both.append(Measured(trial, report=report, network=network))
        pairs.append((both[0], both[1]))
    assert subways_fig13.relayed(pairs[0][0]) == pytest.approx({0: 10e6, 1: 30e6, 3: 20e6, 4: 10e6})
    result = subways_fig13.point(pairs)
    assert result.gbps == pytest.approx(0.03)
    # The middle round: two processors, nine tenths of the goodput, and three sevenths of the
    # relayed traffic.
    assert result.cpu == pytest.approx(2 * (0.32 - 0.9 * 0.25) * 3 / 7)
    rows = {row.name: row for row in subways_fig13.rows([10.0, 95.0], 0.0, 0.97, 99.0)}
    assert rows["a core would relay"].ours is None
    assert [row.verdict for row in rows.values()] == ["differs", "within band", "within band", "within band", "differs"]


SECONDS = st.floats(1.0, 1e3)


@given(st.lists(SECONDS, min_size=1, max_size=4), st.lists(SECONDS, min_size=1, max_size=4))
def test_tails_are_means_over_seeds_and_the_ratio_is_theirs(zero: list[float], one: list[float]) -> None:
    result = {row.name: row for row in table5.rows({0: zero, 1: one}, {0: 100.0, 1: 33.0})}
    means = [sum(each) / len(each) for each in (zero, one)]
    for wiring_type, mean in enumerate(means):
        for paper in ("testbed", "simulator"):
            row = result[f"Type {wiring_type}, {paper}"]
            assert row.ours == pytest.approx(mean)
            assert (row.deviation is None) == (len((zero, one)[wiring_type]) == 1)
    assert result["Type 0 over type 1, testbed"].ours == pytest.approx(means[0] / means[1])


def test_a_tail_of_flows_that_are_not_over_is_not_known() -> None:
    result = {row.name: row for row in table5.rows({0: [160.0, None], 1: [45.0]}, {0: 100.0, 1: 33.0})}
    unknown = [result[name] for name in ("Type 0, testbed", "Type 0 over type 1, testbed")]
    assert [(row.ours, row.deviation, row.verdict) for row in unknown] == [(None, None, "differs")] * 2
    assert result["Type 1, testbed"].verdict == "within band"


@pytest.mark.parametrize(("wiring_type", "racks"), [(0, 3), (1, 1)])
def test_what_crosses_aggregation_switches_is_what_they_send_down(engine: Engine, wiring_type: int, racks: int) -> None:
    """Each of the three racks sends the same amount; in type 1 two of them over ToRs that they
    share with the fourth."""
    described = engine.emulation_network(table5.spec(wiring_type))
    ids = [server["id"] for server in described["servers"]]
    ends = [(link["a"][0], link["b"][0]) for link in described["links"]]
    tors = {above for below, above in ends if below in ids[: table5.SERVERS_OF_RACK]}
    assert len(tors) == wiring_type + 1
    into_servers = [link for link in ends if link[0] in ids[: table5.SERVERS_OF_RACK]]
    into_tors = [link for link in ends if link[0] in tors]
    carried = [
        {
            "ba_bits_per_sec": 3.0 / len(into_servers)
            if end in into_servers
            else racks / len(into_tors)
            if end in into_tors
            else 9.0
        }
        for end in ends
    ]
    network = {"servers": {"id": ids}, "links": {"a": [end[0] for end in ends], "b": [end[1] for end in ends]}}
    trial = Trial("x", table5.spec(wiring_type), {}, 1e8, {"flow_bytes": 100, "seconds": 1.0})
    result = Measured(trial, report={"per_link": carried}, network=network)
    assert table5.crossing(result) == pytest.approx(100 * racks / 3)


def test_the_share_of_flows_that_are_over_rises_to_all_that_are() -> None:
    trial = Trial("x", {}, {}, 1e8, {"flow_bytes": 100, "seconds": 1.0})
    measured = Measured(trial, at_secs=[0.1, 0.2, 0.3], flows=[[50, 0, 0], [50, 100, 0], [0, 0, 99]])
    curve = table5.over("x", measured, brevity=1.0)
    assert (curve["x"], curve["y"]) == ([2.0, 2.0], pytest.approx([100 / 3, 200 / 3], abs=1e-3))
    assert table5.tail_secs(measured, 1.0) is None


SPEEDUPS = st.floats(0.1, 10.0)


@given(st.lists(SPEEDUPS, min_size=6, max_size=6), st.lists(SPEEDUPS, min_size=6, max_size=6))
def test_loops_are_judged_beside_the_paper_and_beside_the_fluid(ours: list[float], ideal: list[float]) -> None:
    keys = [(balance, size) for balance in subways_fig10.BALANCES for size in subways_fig10.LOOPS]
    result = subways_fig10.rows(dict(zip(keys, ours, strict=True)), dict(zip(keys, ideal, strict=True)))
    by_name = {row.name: row for row in result}
    assert len(by_name) == len(result) == len(subways_fig10.PAPER) + 1 + len(keys)
    for row in result[-len(keys) :]:
        assert row.expected is not None
        assert row.ours is not None
        band = shuffles.SCHEME_BAND if "LB" in row.name else shuffles.OWN_BAND
        assert (row.verdict == "differs") == (abs(row.ours / row.expected - 1) > band + 1e-9)
    ratio = by_name["Type 1 at l = 4 over l = 3: less than"]
    assert (ratio.verdict == "within band") == (
        ours[keys.index(("ecmp", 4))] <= ours[keys.index(("ecmp", 3))] * (1 + 1e-9)
    )


FAT_TREE = {"family": "fat_tree", "ports": 4, "layers": 3}


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(1, 15)), min_size=1, max_size=24), st.floats(1e3, 1e7))
def test_flows_end_in_the_fluid_when_their_links_have_carried_them(
    engine: Engine, drawn: list[tuple[int, int]], flow_bytes: float
) -> None:
    question = read(engine, Trial("x", FAT_TREE, {"kind": "permutation"}, 2e7, {"seconds": 1.0}).document())
    servers = sorted(question.network.id_of[name] for name in question.network.servers.values())
    ends = [(servers[item], servers[(item + away) % 16]) for item, away in drawn]
    result = ends_secs(engine, question.network, 7, question.settings, ends, flow_bytes)
    alone = flow_bytes * 8 / 2e7
    # The last flow of a server has waited for all its other flows at least, and any flow waits for
    # at most all the others.
    for source in {item for item, _ in ends}:
        of_source = [secs for (item, _), secs in zip(ends, result, strict=True) if item == source]
        assert max(of_source) >= len(of_source) * alone * (1 - 1e-6)
    assert min(result) >= alone * (1 - 1e-6)
    assert max(result) <= len(ends) * alone * (1 + 1e-6)
    longer = ends_secs(engine, question.network, 7, question.settings, ends, 2 * flow_bytes)
    assert longer == pytest.approx([2 * secs for secs in result], rel=1e-3)


def test_a_shuffle_that_is_not_over_has_no_speedup() -> None:
    trial = Trial("x", {}, {}, 2e7, {"flow_bytes": 100, "seconds": 3.0})
    over, late = Measured(trial, at_secs=[1.0, 2.0]), Measured(trial, at_secs=[1.0, 3.1])
    assert (over.end_secs, late.end_secs) == (2.0, None)
    assert shuffles.speedup(over, over) == 1.0
    assert shuffles.speedup(over, late) is shuffles.speedup(late, over) is None


@pytest.mark.parametrize("gbps", [10.0, 25.0])
def test_what_left_by_slower_ports_is_told_by_the_counters_of_servers(engine: Engine, gbps: float) -> None:
    links = engine.emulation_network(subways_fig9.beside(gbps))["links"]
    trial = Trial("x", {}, {}, 2e7, {"seconds": 1.0})
    rates = [2e7 * link["rate_ratio"] for link in links]
    servers = list(range(48))
    report = {"per_link": [{"ab_bits_per_sec": rate} for rate in rates]}
    network = {"links": {"a": [link["a"][0] for link in links], "rate_bits_per_sec": rates}, "servers": {"id": servers}}
    share = subways_fig9.slow_share(Measured(trial, report=report, network=network))
    assert share == pytest.approx(1.0 if gbps == 10 else 2 / 7)


@given(st.lists(SPEEDUPS, min_size=6, max_size=6), st.lists(SPEEDUPS, min_size=6, max_size=6))
def test_what_load_balancing_adds_is_judged_by_its_share_with_more_ports(ours: list[float], ideal: list[float]) -> None:
    titles = [title for _, _, title in subways_fig11.VARIANTS]
    halves = [dict(zip(titles, (of[:3], of[3:]), strict=True)) for of in (ours, ideal)]
    result = subways_fig11.rows(*halves)
    adds = [ours[3] / ours[0], ours[5] / ours[2]]
    assert result[0].ours == pytest.approx(adds[1] / adds[0])
    assert [row.expected for row in result[2:]] == ideal
    assert [row.ours for row in result[2:]] == ours
    unknown = subways_fig11.rows({**halves[0], "Type 1": [None, *ours[1:3]]}, halves[1])
    assert [row.verdict for row in unknown[:3]] == ["differs"] * 3
