"""Published experiments with real packets, shortened: the same trials with less data, so that
numbers are less accurate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cubeyard.cli.place import own_lab
from cubeyard.emulation.figures import (
    chip_bcube,
    chip_fig10,
    fig9,
    shuffles,
    subways_fig10,
    subways_fig12,
    subways_fig13,
)
from cubeyard.emulation.figures.catalog import FIGURES
from cubeyard.emulation.figures.fig10 import trials
from cubeyard.emulation.figures.lab import Lab
from cubeyard.engine import CancelledError, Engine, OnProgress
from cubeyard.settings import Settings

Json = dict[str, Any]
Left = Callable[[], dict[str, set[str]]]


@contextmanager
def lab(brevity: float, told: OnProgress | None = None) -> Iterator[Lab]:
    settings = Settings()
    with own_lab(settings, Engine(settings), brevity) as made:
        yield made(told)


def measured(figure: str, brevity: float) -> tuple[dict[str, Json], Json]:
    """The rows of a figure by name, and the whole document."""
    with lab(brevity) as made:
        document = next(item for item in FIGURES if item.id == figure).document(made)
    assert document["provenance"]["basis"] == "measured"
    assert {"host", "fidelity", "parts"} <= set(document["provenance"])
    return {row["name"]: row for row in document["rows"]}, document


def test_a_server_on_the_path_goes_off_and_a_new_path_is_found(nothing_left: Left) -> None:
    rows, document = measured("bcube-failover", 0.6)
    assert rows["both connections before"]["ours"] > 1.6, "two parallel paths"
    assert 1.5 < rows["00 finds 03 dead"]["ours"] < 5.0
    assert rows["the flow is on the cached path"]["ours"] < 5.5
    assert rows["hops of the new parallel path"]["ours"] == 4.0
    assert document["series"][0]["x"] == sorted(document["series"][0]["x"])


@pytest.mark.long
def test_one_source_reaches_all_twice_as_fast_as_in_the_tree(nothing_left: Left) -> None:
    wanted = [trial for trial in trials(0.2) if trial.name.startswith("one-to-one")]
    with lab(0.2) as made:
        result = made.measure(wanted)
    secs = [result[f"one-to-one, {name}"].end_secs for name in ("BCube", "tree")]
    assert all(secs), result["one-to-one, tree"].report["total"]
    assert 1.5 < (secs[1] or 0) / (secs[0] or 1) < 2.3


@pytest.mark.long
def test_an_all_to_all_loads_the_links_evenly(nothing_left: Left) -> None:
    rows, document = measured("bcube-balance", 0.25)
    assert rows["mean throughput of a link"]["ours"] > 200
    assert rows["deviation over mean"]["ours"] < 0.25
    assert rows["probings of a connection"]["ours"] >= 1
    assert len(document["series"][0]["x"]) == 32


@pytest.mark.long
def test_one_server_forwards_in_the_kernel_and_in_user_space(nothing_left: Left) -> None:
    kinds = ("eBPF 9000, round 1", "user space 9000")
    with lab(0.3) as made:
        result = made.measure([trial for trial in fig9.trials(0.3) if trial.name in kinds])
    for name in kinds:
        relayed = {server["server"]: server["relayed_bits_per_sec"] for server in result[name].report["per_server"]}
        assert relayed[fig9.CENTRE] > 50e6, (name, relayed)
        assert all(not rate for server, rate in relayed.items() if server != fig9.CENTRE), "no other way around"
    assert result["user space 9000"].node_cpu(fig9.CENTRE) > 0.0


@pytest.mark.long
def test_dcell_reroutes_around_a_pulled_cable_and_a_silent_server(nothing_left: Left) -> None:
    rows, document = measured("dcell-fig11-measured", 0.2)
    assert rows["hops of the path at first"]["ours"] == 3.0
    assert rows["hops while the cable is out"]["ours"] == 4.0
    assert rows["degraded after the cable is pulled"]["ours"] <= 1.5
    assert rows["back on the first path after"]["ours"] <= 3.0
    assert 3.5 < rows["outage after the server is silent"]["ours"] < 10.0
    assert rows["hops around the silent server"]["ours"] == 4.0
    assert "[1,0]" in document["choices"][-1] or "[3,0]" in document["choices"][-1]


@pytest.mark.long
def test_an_all_to_all_is_over_sooner_in_a_dcell_than_in_a_tree(nothing_left: Left) -> None:
    rows, _ = measured("dcell-fig12-measured", 0.3)
    assert rows["the tree's time over DCell's"]["ours"] > 1.5
    assert rows["one-hop connections of level 1 among the first 20 that are over"]["ours"] >= 15


@pytest.mark.long
def test_the_tor_between_two_hot_racks_has_twice_the_load_unless_flows_follow_it(nothing_left: Left) -> None:
    rows, document = measured("subways-hot-racks", 0.4)
    assert {row["verdict"] for row in rows.values()} <= {"matches", "within band"}, rows
    shared, even = rows.values()
    assert shared["ours"] > 1.7
    assert even["ours"] <= 1.2
    assert [len(item["y"]) for item in document["series"]] == [3, 3]


@pytest.mark.long
def test_a_shuffle_ends_sooner_in_loops_of_three(nothing_left: Left) -> None:
    with lab(0.2) as made:
        wanted = {trial.name: trial for trial in subways_fig10.trials(made)}
        names = [subways_fig10.name_of("ecmp", size) for size in (0, 3)]
        result = made.measure([wanted[name] for name in names])
    assert all(result[name].end_secs for name in names), result[names[0]].report["total"]
    # A fluid model gives 1.73, the paper 1.64.
    assert (shuffles.speedup(*(result[name] for name in names)) or 0.0) > 1.15


@pytest.mark.long
def test_memcache_answers_by_load_what_a_trunk_loses(nothing_left: Left) -> None:
    """The load is 1.5 times the capacity of the two racks' uplinks with trunks; detours carry twice
    as much. While other tests run, part of it is lost: 0.58 of the value for trunks was measured,
    against less than half without other tests."""
    per_sec = 4000.0
    first, *_, last = subways_fig12.VARIANTS
    with lab(0.5) as made:
        wanted = [subways_fig12.trial(made, item, 5.0, per_sec) for item in (first, last)]
        result = made.measure(wanted)
    by_trunks, by_detours = (subways_fig12.answered(result[item.name]) for item in wanted)
    assert by_trunks.requests > 0.8 * per_sec * wanted[0].emulation["seconds"], "the clients keep up"
    assert not by_trunks.sustained(1.0)
    lost = [1 - item.answered / item.requests for item in (by_trunks, by_detours)]
    assert lost[0] > 0.2, lost
    assert lost[1] < 0.75 * lost[0], lost


@pytest.mark.long
def test_relays_carry_what_the_uplinks_rate_sets(nothing_left: Left) -> None:
    load = 25
    with lab(0.5) as made:
        wanted = [subways_fig13.trial(made, load, 0, around) for around in (True, False)]
        result = made.measure(wanted)
    around, straight = (result[item.name] for item in wanted)
    relayed = subways_fig13.relayed(around)
    assert max(relayed.values()) / subways_fig13.LINK_BITS_PER_SEC == pytest.approx(load / 100, rel=0.4), relayed
    assert min(relayed.values()) > 0.25 * max(relayed.values()), "on both sides, and the next ones"
    assert sum(subways_fig13.relayed(straight).values()) < 1e5, "no detours over wide uplinks"
    assert around.goodput_bits_per_sec > 0.85 * straight.goodput_bits_per_sec


@pytest.mark.long
def test_three_racks_reach_the_fourth_sooner_over_shared_tors_than_over_trunks(nothing_left: Left) -> None:
    rows, document = measured("subways-table5-measured", 0.2)
    assert rows["Type 0 over type 1, testbed"]["ours"] > 1.5
    assert rows["Type 0, of the data over aggregation switches"]["ours"] > 90
    # Flows between servers with a common ToR do not leave it. A brief run retransmits much, and
    # segments lost below the ToR are counted again above it.
    assert 30 < rows["Type 1, of the data over aggregation switches"]["ours"] < 50
    first, second, *others = document["series"]
    assert [item["y"][-1] for item in (first, second)] == [100.0, 100.0], "every flow has ended"
    assert [other["paper"] for other in others] == [True] * 3


@pytest.mark.long
def test_a_cancelled_measurement_ends_and_leaves_nothing(nothing_left: Left) -> None:
    calls = 0

    def told(done: int, total: int) -> bool:
        nonlocal calls
        calls += 1
        assert 0 <= done <= total
        return calls < 12

    with lab(1.0, told) as made, pytest.raises(CancelledError):
        made.measure(trials(1.0)[:1])
    assert nothing_left() == {}


@pytest.mark.long
def test_two_connections_take_two_relays_by_the_chips_tables(nothing_left: Left) -> None:
    rows, _ = measured("serverswitch-bcube", 0.3)
    for kind in (chip_bcube.CHIP, chip_bcube.SOFTWARE):
        assert rows[f"both connections, {kind}"]["ours"] > 0.1
    # In user space, a busy machine determines which of the two makes progress.
    assert rows[f"busier relay over the other, {chip_bcube.CHIP}"]["ours"] < 2, "each connection takes another path"
    assert rows[f"CPU of a relay for 1.7 Gb/s, {chip_bcube.SOFTWARE}"]["ours"] > 1


@pytest.mark.long
def test_a_chip_sends_on_packets_of_every_size_and_loses_none(nothing_left: Left) -> None:
    rows, document = measured("serverswitch-fig9-measured", 0.4)
    # Both are limited by the sender, which on a busy machine sends less than either can forward.
    assert rows["packets a second at 64 bytes, chip over user space"]["ours"] > 0.8
    assert rows["most packets lost at any size, chip"]["ours"] < 1
    # A relay's delay is tens of microseconds, but on a busy machine round trips vary by as much. So
    # its value is only compared when figures are measured.
    assert rows["delay at 64 bytes, chip"]["ours"] is not None
    assert rows["delay at 64 bytes, user space over chip"]["ours"] is not None
    assert 0 < rows["register, read"]["ours"] < 100
    assert [item["x"] for item in document["series"][:2]] == [[64, 1514]] * 2


@pytest.mark.long
def test_a_cache_saves_as_much_upstream_as_it_answers(nothing_left: Left) -> None:
    rows, document = measured("serverswitch-fig10-measured", 0.3)
    for where in chip_fig10.WHERE.values():
        for percent in (25, 50, 75, 100):
            assert abs(rows[f"upstream traffic saved at {percent} % hits, {where}"]["ours"] - percent) < 8
        assert rows[f"requests that are answered, the least at any share of hits, {where}"]["ours"] > 80
    assert all(share > 0 for item in document["series"][2:6] for share in item["y"])


@pytest.mark.long
def test_aggregation_takes_the_links_of_table_1(nothing_left: Left) -> None:
    rows, _ = measured("camcube-table1-measured", 1.0)
    for mode, (packets, links, most) in {"none": (54, 26, 9), "full": (26, 26, 1)}.items():
        matches = [
            rows[f"Aggregation, {mode}: {cell}"]["ours"] for cell in ("packets sent", "links used", "most on a link")
        ]
        assert matches == [packets, links, most], mode
    assert rows["Routing service: packets sent"]["ours"] == 54
    assert 26 <= rows["Routing service: links used"]["ours"] <= 54
    assert (
        rows["pairs of other keys in the sum, none"]["ours"]
        == rows["pairs in the sum of the one key, full"]["ours"]
        == 27
    )


@pytest.mark.long
def test_a_server_returns_the_packets_of_six_links_by_both_routing_services(nothing_left: Left) -> None:
    rows, _ = measured("camcube-fig6-measured", 0.2)
    # The figure reports which links this machine can fill. This test only checks that all packets
    # return in every mode.
    assert rows["base: throughput of twelve links"]["ours"] > 3
    assert rows["throughput lost with |K| = 3"]["ours"] < 40
    assert all(
        rows[f"CPU of a packet, {mode}: at most"]["ours"] > 0 for mode in ("base", "|K| = 1", "|K| = 2", "|K| = 3")
    )


@pytest.mark.long
def test_joins_leave_the_trees_of_the_model_edge_for_edge(nothing_left: Left) -> None:
    rows, document = measured("camcube-fig2-measured", 0.2)
    (own,) = [row for name, row in rows.items() if "of the service's trees" in name]
    assert own["ours"] == 0
    assert rows["reduction when all servers join"]["ours"] == 0
    assert max(document["series"][0]["y"]) > 0.0
