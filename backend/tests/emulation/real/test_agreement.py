"""Closed form, flow engine and real packets give the same loads where all three are available: for
flows with a fixed rate on known paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import pytest

from cubeyard.cli.place import own_lab
from cubeyard.emulation.figures.lab import Measured, Trial
from cubeyard.emulation.figures.testbed import BCUBE, TREE
from cubeyard.engine import Engine
from cubeyard.settings import Settings

Json = dict[str, Any]
LINK_BITS_PER_SEC = 40e6
TOLERANCE = 0.06
"""Tolerance for traffic other than the payload: headers, acknowledgements in the other direction,
hellos and probes."""


def measure(engine: Engine, spec: Json, workload: Json, flow_bits_per_sec: float | None) -> Measured:
    """Measures the flows. Without a rate, they send as fast as TCP allows."""
    emulation = {
        "flow_bits_per_sec": flow_bits_per_sec,
        "seconds": 4.0,
        "settle_secs": 2.5,
        "calibrate_secs": 0.0,
    }
    trial = Trial("agreement", spec, workload, LINK_BITS_PER_SEC, emulation)
    with own_lab(Settings(), engine, 1.0) as lab:
        return lab(None).measure([trial])["agreement"]


def flows_on_links(engine: Engine, spec: Json, workload: Json, routing: str | None = None) -> np.ndarray:
    """[link, direction] Flows on each link, by the flow engine."""
    request = {"workload": workload, "routing": routing, "link_load": True, "seeds": [7]}
    load = orjson.loads(engine.predict_json(spec, request))["link_load"]
    return np.array([load["a_to_b"], load["b_to_a"]]).T


def bits_on_links(measured: Measured) -> np.ndarray:
    return np.array([[link["ab_bits_per_sec"], link["ba_bits_per_sec"]] for link in measured.report["per_link"]])


@pytest.mark.long
def test_in_a_tree_every_link_carries_what_its_cut_says(nothing_left: Callable[[], Any]) -> None:
    engine, pace, workload = Engine(Settings()), 0.5e6, {"kind": "all-to-all"}
    # Closed form: 15 flows in each direction below a server, 4 x 12 below an edge switch.
    counted = flows_on_links(engine, TREE, workload)
    assert sorted(set(counted.ravel().tolist())) == [15, 48]
    assert (counted == 48).sum() == 8
    measured = measure(engine, TREE, workload, pace)
    assert measured.goodput_bits_per_sec == pytest.approx(240 * pace, rel=TOLERANCE)
    per_flow = bits_on_links(measured) / counted
    assert per_flow.min() > pace * (1 - TOLERANCE)
    assert per_flow.max() < pace * (1 + 2 * TOLERANCE)


@pytest.mark.long
def test_in_a_bcube_all_links_together_carry_every_flow_s_hops(nothing_left: Callable[[], Any]) -> None:
    engine, workload = Engine(Settings()), {"kind": "all-to-all"}
    # Closed form: ABT of a BCube_1 is n/(n-1) (N-1) links. All flows must carry a rate of 60 % of
    # their share.
    abt = 4 / 3 * 15 * LINK_BITS_PER_SEC
    pace = 0.6 * abt / 240
    # Of the 15 other servers, 6 are one hop away and 9 are two hops away: 24 links up and 24 down
    # for each server.
    counted = flows_on_links(engine, BCUBE, workload, "bcube-fixed")
    assert counted.sum() == 16 * 24 * 2
    measured = measure(engine, BCUBE, workload, pace)
    flows = np.array([flow["goodput_bits_per_sec"] for flow in measured.report["per_flow"]])
    assert flows.sum() == pytest.approx(240 * pace, rel=TOLERANCE)
    assert flows.min() > 0.8 * pace
    # BSR may take the longer of two parallel paths, as the flow engine may in its own draws, but
    # never a shorter one.
    links = bits_on_links(measured)
    assert links.sum() > counted.sum() * pace * (1 - TOLERANCE)
    assert links.sum() < counted.sum() * pace * 1.45
    # Closed form: because of the symmetry, both levels and all servers carry equal shares of the
    # load.
    shares = links.sum(axis=1) / links.sum()
    assert shares.max() < 1.5 / 32
    assert shares.min() > 0.5 / 32


@pytest.mark.parametrize(
    ("spec", "routing", "timers", "crossed"),
    [
        # Closed form: the 3 other servers of a DCell_0 are two links away. To each of the 4 servers
        # of another DCell_0, the path is the cable (1) plus a switch on either side (2 links each),
        # unless the end is at the cable itself. In total 10 links to the DCell_0 behind the own
        # cable, 18 to each other one.
        ({"family": "dcell", "n": 4, "k": 1}, "dcell", {}, 20 * (3 * 2 + 10 + 3 * 18)),
        # Closed form: 6, 12 and 8 of the 26 other servers are one, two and three links away.
        (
            {"family": "torus3d", "x": 3, "y": 3, "z": 3},
            "torus-multipath",
            {"disjoint_paths": 0},
            27 * (6 + 12 * 2 + 8 * 3),
        ),
    ],
    ids=["DCell", "torus"],
)
def test_packets_carry_the_abt_of_the_closed_form_and_of_the_flow_engine(
    spec: Json, routing: str, timers: Json, crossed: int, nothing_left: Callable[[], Any]
) -> None:
    engine, workload = Engine(Settings()), {"kind": "all-to-all"}
    counted = flows_on_links(engine, spec, workload, routing)
    assert counted.sum() == crossed, "closed form"
    # 702 flows at the rate of DCell's 380 would be more than a busy machine can carry.
    link = 10e6 if len(counted) < 80 else 5e6
    # The fullest link limits every flow's rate. If all flows carry nine tenths of that, ABT is
    # within a tenth of the flow engine's.
    pace = 0.9 * link / counted.max()
    emulation = {"flow_bits_per_sec": pace, "seconds": 4.0, "settle_secs": 2.5, "calibrate_secs": 0.0, "timers": timers}
    with own_lab(Settings(), engine, 1.0) as lab:
        measured = lab(None).measure([Trial("agreement", spec, workload, link, emulation)])["agreement"]
    flows = np.array([flow["goodput_bits_per_sec"] for flow in measured.report["per_flow"]])
    assert flows.sum() == pytest.approx(len(flows) * pace, rel=TOLERANCE)
    assert np.percentile(flows, 2) > 0.8 * pace, "every flow gets its rate"
    # Links also carry acknowledgements, hellos and link state.
    assert bits_on_links(measured).sum() == pytest.approx(crossed * pace, rel=3 * TOLERANCE)


@pytest.mark.long
def test_one_to_one_takes_one_path_alone(nothing_left: Callable[[], Any]) -> None:
    engine, pace = Engine(Settings()), 10e6
    workload = {"kind": "one-to-one", "source": "0.0", "destination": "3.3"}
    counted = flows_on_links(engine, TREE, workload)
    assert counted.sum() == 4, "up to the root and down again"
    links = bits_on_links(measure(engine, TREE, workload, pace))
    assert links[counted == 1] == pytest.approx(pace, rel=TOLERANCE)
    assert links[counted == 0].max() < 0.05 * pace, "only acknowledgements go in the other direction"


@pytest.mark.long
def test_tcp_gives_flows_on_equal_ways_equal_shares(nothing_left: Callable[[], Any]) -> None:
    report = measure(Engine(Settings()), BCUBE, {"kind": "all-to-all"}, None).report
    by_hops: dict[int, list[float]] = {1: [], 2: []}
    for flow in report["per_flow"]:
        hops = sum(a != b for a, b in zip(flow["source"], flow["destination"], strict=True))
        by_hops[hops].append(flow["goodput_bits_per_sec"])
    # Both levels are equal, and every link carries the same number of flows, so for TCP paths
    # differ only in length.
    for rates in by_hops.values():
        assert np.percentile(rates, 95) < 1.5 * np.percentile(rates, 5)
    assert np.median(by_hops[1]) > np.median(by_hops[2])
    # ABT is given by the slowest flow: close to the flow engine's prediction, but not above it.
    assert 0.7 < report["abt_bits_per_sec"] / report["predicted"]["abt_bits_per_sec"] < 1.05
