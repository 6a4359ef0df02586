"""ns-3's and htsim's files, read back by the grammars of their programs and compared with the
plan."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.exports.simulators import NS_PER_METRE
from cubeyard.kit.errors import ProblemError
from cubeyard.plans.view import PlanView
from tests.conftest import examples
from tests.exports import plans

Json = dict[str, Any]
_UNITS = {"Gbps": 1.0, "Mbps": 1e-3}


def cable_pairs(plan: PlanView) -> list[tuple[int, int]]:
    return list(zip(plan.cables["a_device"].tolist(), plan.cables["b_device"].tolist(), strict=True))


def check_ns3(plan: PlanView, data: bytes) -> None:
    """Like the programs that read it: numbers separated by white space, as many as the first line
    states; the rest is for people."""
    words = iter(data.decode().split())
    nodes, switches, links = (int(next(words)) for _ in range(3))
    kinds = plan.scene["devices"]["kind"]
    assert nodes == len(kinds)
    assert [int(next(words)) for _ in range(switches)] == [i for i, kind in enumerate(kinds) if kind]
    assert links == plan.cable_count
    for i, pair in enumerate(cable_pairs(plan)):
        a, b, rate, delay, error = (next(words) for _ in range(5))
        assert (int(a), int(b), error) == (*pair, "0")
        matched = re.fullmatch(r"([\d.]+)(Gbps|Mbps)", rate)
        assert matched
        assert float(matched[1]) * _UNITS[matched[2]] == pytest.approx(plan.gbps[i])
        assert int(delay.removesuffix("ns")) == max(1, round(plan.cables["stock_mm"][i] / 1000 * NS_PER_METRE))
    named = re.findall(r"^# (\d+) (\S+)$", data.decode(), re.MULTILINE)
    assert named == [(str(i), host) for i, host in enumerate(plan.host_names)]


def check_inet(plan: PlanView, data: bytes) -> None:
    """As `InetTopologyReader` does: counts, a line a node that is passed over, then
    `from to weight`."""
    lines = data.decode().splitlines()
    nodes, links = map(int, lines[0].split())
    assert (nodes, links) == (len(plan.host_names), plan.cable_count)
    assert [line.split()[0] for line in lines[1 : nodes + 1]] == plan.host_names
    matches = [line.split() for line in lines[nodes + 1 :]]
    hosts = plan.host_names
    assert [(a, b) for a, b, _ in matches] == [(hosts[a], hosts[b]) for a, b in cable_pairs(plan)]
    assert [int(weight) for *_, weight in matches] == [
        max(1, round(mm / 1000 * NS_PER_METRE)) for mm in plan.cables["stock_mm"].tolist()
    ]


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs())
def test_ns3_gets_every_cable_of_any_plan(engine: Engine, spec: Json) -> None:
    plan = plans.compute(engine, spec, "current-2026")
    check_ns3(plan, b"".join(render("ns3", plan)))
    check_inet(plan, b"".join(render("ns3-inet", plan)))


def read_htsim(text: str) -> tuple[dict[str, int], list[dict[str, int]]]:
    """The header and the tiers, with the checks that htsim's own reader makes."""
    header: dict[str, int] = {}
    tiers: list[dict[str, int]] = []
    into = header
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        key, value = line.split(" ")
        if key == "Tier":
            assert int(value) == len(tiers)
            tiers.append(into := {})
        else:
            assert key not in into, "htsim refuses a setting that comes twice"
            into[key] = int(value)
    assert header["Tiers"] == len(tiers) in (2, 3)
    for tier, item in enumerate(tiers):
        assert min(item[key] for key in ("Downlink_speed_Gbps", "Radix_Down", "Downlink_Latency_ns")) > 0
        assert ("Radix_Up" in item) == (tier + 1 < len(tiers))
    return header, tiers


def check_htsim(plan: PlanView, text: str) -> None:
    """The network that htsim builds from the numbers has the plan's devices and cables, tier by
    tier."""
    header, tiers = read_htsim(text)
    levels = plan.scene["devices"]["level"]
    assert header["Nodes"] == levels.count(-1)
    assert header["Nodes"] % header["Podsize"] == 0
    below, speed_below = header["Nodes"], 0
    cables = Counter(max(levels[a], levels[b]) for a, b in cable_pairs(plan))
    links = header["Nodes"]
    for tier, item in enumerate(tiers):
        if tier:
            # htsim: uplinks = downlinks x speed / (speed above x oversubscription), switches =
            # uplinks / radix_down.
            under = tiers[tier - 1]
            links = links * speed_below // (item["Downlink_speed_Gbps"] * under["Oversubscribed"])
        assert links == cables[tier]
        assert links % item["Radix_Down"] == 0
        below = links // item["Radix_Down"]
        assert below == levels.count(tier)
        if "Radix_Up" in item:
            assert below * item["Radix_Up"] == cables[tier + 1]
        speed_below = item["Downlink_speed_Gbps"]


@pytest.mark.parametrize(
    "spec",
    [
        {"family": "fat_tree", "ports": 4, "layers": 2},
        {"family": "fat_tree", "ports": 8, "layers": 3},
        {"family": "leaf_spine", "leaves": 4, "spines": 2, "servers_per_leaf": 16, "uplinks_per_spine": 2},
        {"family": "leaf_spine", "leaves": 8, "spines": 4, "servers_per_leaf": 32, "uplinks_per_spine": 1},
    ],
)
def test_htsim_builds_the_same_network(engine: Engine, spec: Json) -> None:
    plan = plans.compute(engine, spec, "current-2026")
    check_htsim(plan, b"".join(render("htsim", plan)).decode())


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs())
def test_htsim_gets_the_same_network_or_a_refusal_by_field(engine: Engine, spec: Json) -> None:
    plan = plans.compute(engine, spec, "current-2026")
    refused: ProblemError | None = None
    try:
        check_htsim(plan, b"".join(render("htsim", plan)).decode())
    except ProblemError as error:
        refused = error
    if refused:
        assert refused.status == 422
        assert [(item.field, item.value) for item in refused.errors] == [("topology.family", spec["family"])]
        assert "ns-3" in (refused.errors[0].hint or "")


def test_a_refusal_comes_before_the_first_byte(plan: Callable[[str], PlanView]) -> None:
    with pytest.raises(ProblemError, match="its servers have 2 ports"):
        render("htsim", plan("subways"))
