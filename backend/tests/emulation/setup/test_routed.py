"""Networks of routers before a run: the path of each connection, and links with different rates."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubeyard.emulation.faults.damage import Damage
from cubeyard.emulation.faults.faults import resolve
from cubeyard.emulation.network import network as networks
from cubeyard.emulation.network.network import Network
from cubeyard.emulation.setup.prediction import Prediction, predict
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import Emulation
from cubeyard.kit.errors import ProblemError
from tests.conftest import examples

Json = dict[str, Any]

FAT_TREE = {"family": "fat_tree", "ports": 4, "layers": 3}
TWO_RATES = {
    "family": "subways", "type": 2, "p": 2, "q": 4, "l": 4, "c": 2, "clusters": 2, "aggs_per_cluster": 2, "cores": 2,
    "cluster_gbps": [10, 25], "uplink_gbps": 50,
}  # fmt: skip
SPECS = [FAT_TREE, TWO_RATES, {"family": "tree", "edge_ports": 4, "servers": 8}]
PERMUTATION = {"kind": "permutation"}


def network(engine: Engine, spec: Json, part: Json | None = None) -> Network:
    return networks.build(engine, spec, 2e7, 1500, part)


def predicted(engine: Engine, here: Network, seed: int, connections: int = 1, damage: Damage = Damage()) -> Prediction:  # noqa: B008 - a value
    return predict(engine, here, PERMUTATION, None, seed, Emulation(connections=connections), damage)


@settings(max_examples=examples(30), deadline=None)
@given(which=st.integers(0, 2), seed=st.integers(0, 2**32), connections=st.integers(1, 3))
def test_every_connection_has_a_path_of_its_own(engine: Engine, which: int, seed: int, connections: int) -> None:
    here = network(engine, SPECS[which])
    result = predicted(engine, here, seed, connections)
    joined = {frozenset((link.a[0], link.b[0])) for link in here.links}
    pairs = list(zip(result.source, result.destination, strict=True))
    assert result.paths is not None
    assert len(result.paths) == len(pairs) * connections
    for i, path in enumerate(result.paths):
        source, destination = pairs[i // connections]
        assert (here.name_of[path[0]], here.name_of[path[-1]]) == (source, destination)
        assert all(frozenset(pair) in joined for pair in pairwise(path))
    rates = result.rates_of_connections(connections)
    assert sum(rates) == pytest.approx(result.ideal_bits_per_sec)
    assert result.abt_bits_per_sec == pytest.approx(len(rates) * min(rates))
    assert predicted(engine, here, seed, connections) == result, "the same seed, the same paths"


def test_connections_of_one_pair_take_several_paths(engine: Engine) -> None:
    result = predicted(engine, network(engine, FAT_TREE), 7, connections=8)
    assert result.paths is not None
    first = {tuple(path) for path in result.paths[:8]}
    assert len(first) > 1
    assert result.routing == "ecmp"


def test_a_rack_that_is_off_leaves_flows_without_a_path(engine: Engine) -> None:
    here = network(engine, FAT_TREE)
    edge = here.name_of[len(here.servers)]
    (fault,) = resolve(engine, here, [{"kind": "switch-off", "target": {"names": [edge]}}], 7, ["f1"])
    result = predicted(engine, here, 7, connections=2, damage=Damage.of([fault]))
    cut = result.cut_off(2)
    assert len(cut) == 2 * result.dropped_flows > 0
    assert result.paths is not None
    assert all(not result.paths[item] for item in cut)
    assert {result.rates_of_connections(2)[item] for item in cut} == {0.0}


def test_a_named_scheme_and_relayed_data_are_predicted_by_the_flow_engine(engine: Engine) -> None:
    here = network(engine, FAT_TREE)
    assert predict(engine, here, PERMUTATION, "fat-tree", 7, Emulation()).paths is None
    one_to_all = {"kind": "one-to-all"}
    assert predict(engine, here, one_to_all, None, 7, Emulation(delivery="pipeline")).paths is None


def test_links_are_as_many_times_faster_as_in_the_plan(engine: Engine) -> None:
    here = network(engine, TWO_RATES)
    rates = {link["rate_bits_per_sec"] for link in here.for_fabric("r", 7, "kernel", {})["links"]}
    assert rates == {2e7, 5e7, 1e8}
    assert here.fastest_bits_per_sec == 1e8
    assert not network(engine, FAT_TREE).has_several_rates


def test_the_flow_engine_sees_rates_and_faults_of_the_emulation_s_scale(engine: Engine) -> None:
    here = network(engine, TWO_RATES)
    server = here.servers[0]
    mine = [link for link in here.links if link.a[0] == 0]
    assert sorted(here.rate_of(link) for link in mine) == [2e7, 5e7]
    flow = {"kind": "one-to-one", "source": server, "destination": here.servers[1]}
    matches = {
        round(predict(engine, here, flow, "subways-ecmp", seed, Emulation()).ideal_bits_per_sec) for seed in range(20)
    }
    assert matches == {20_000_000, 50_000_000}
    request = [
        {"kind": "link-rate", "rate_bits_per_sec": 1e7, "target": {"names": [here.link_name(link)]}} for link in mine
    ]
    damage = Damage.of(resolve(engine, here, request, 7, ["f1", "f2"]))
    for routing in ("subways-ecmp", None):
        slow = predict(engine, here, flow, routing, 7, Emulation(), damage)
        assert slow.rates_bits_per_sec == pytest.approx([1e7])


def test_flows_are_spread_by_rate_where_switches_are_routers(engine: Engine) -> None:
    here = network(engine, TWO_RATES)
    assert here.for_fabric("r", 7, "kernel", {}, balance="wcmp")["balance"] == "wcmp"
    assert [balance["name"] for balance in here.protocol["balances"]] == ["ecmp", "wcmp", "lb", "detour"]
    result = predict(engine, here, PERMUTATION, None, 7, Emulation(balance="wcmp", connections=16))
    assert result.routing == "wcmp"
    assert result.paths is not None
    tor = {link.b[0]: here.rate_of(link) for link in here.links if link.a[0] in here.servers}
    fast = sum(tor[path[1]] == 5e7 for path in result.paths)
    assert fast > 0.55 * len(result.paths), "5/7 but for pairs with a ToR in common"
    networks.check_balance(here, "wcmp")


def test_flows_are_spread_by_load_where_servers_have_several_tors(engine: Engine) -> None:
    """Two adjacent racks send to the other loop: with equal-cost paths their common ToR gets twice
    the flows, with load-aware paths it does not."""
    spec = {"family": "subways", "type": 1, "p": 2, "q": 8, "l": 4, "clusters": 2, "aggs_per_cluster": 2, "cores": 2}
    here = network(engine, spec)
    names = list(here.servers.values())
    entries = [[names[a], names[b], 1.0] for a in range(4, 12) for b in range(16, 32)]
    workload = {"kind": "matrix", "entries": entries}

    def loads(balance: str) -> list[int]:
        result = predict(engine, here, workload, None, 7, Emulation.model_validate({"balance": balance}))
        assert result.routing == balance
        assert result.paths is not None
        by_tor = Counter(path[1] for path in result.paths)
        return sorted(by_tor.values())

    least, middle, most = loads("ecmp")
    assert most / middle > 1.5
    least, _, most = loads("lb")
    assert most / least <= 1.2
    networks.check_balance(here, "lb")


def test_detours_are_predicted_and_refused_where_a_loop_has_no_further_tor(engine: Engine) -> None:
    spec = {
        "family": "subways",
        "type": 1,
        "p": 2,
        "q": 8,
        "l": 6,
        "clusters": 1,
        "loops_per_cluster": 2,
        "uplink_gbps": 5,
    }
    here = network(engine, spec)
    names = list(here.servers.values())
    entries = [[names[a], names[b], 1.0] for a in range(8, 12) for b in range(24, 40)]

    def predicted(balance: str) -> tuple[float, int]:
        settings = Emulation.model_validate({"balance": balance})
        result = predict(engine, here, {"kind": "matrix", "entries": entries}, None, 7, settings)
        assert result.routing == balance
        assert result.paths is not None
        relays = [sum(node in here.servers for node in path[1:-1]) for path in result.paths]
        return result.ideal_bits_per_sec, max(relays)

    (by_load, none), (by_detour, most) = predicted("lb"), predicted("detour")
    assert none == 0
    assert most == 2, "two servers relay at most"
    assert by_detour > 1.2 * by_load
    with pytest.raises(ProblemError) as refused:
        networks.check_balance(network(engine, spec | {"l": 2}), "detour")
    assert refused.value.status == 422
    assert refused.value.errors[0].field == "body.emulation.balance"


@pytest.mark.parametrize(
    "spec",
    [
        {"family": "fat_tree", "ports": 4, "layers": 3},
        {"family": "subways", "type": 0, "p": 2, "q": 4, "l": 4, "clusters": 2},
    ],
)
def test_servers_with_one_tor_have_no_controllers(engine: Engine, spec: Json) -> None:
    here = network(engine, spec)
    assert [balance["name"] for balance in here.protocol["balances"]] == ["ecmp", "wcmp"]
    with pytest.raises(ProblemError) as refused:
        networks.check_balance(here, "lb")
    assert refused.value.status == 422
    with pytest.raises(ProblemError):
        engine.routed_flows(spec, {"seed": 1, "balance": "lb", "link_gbps": 0.1, "protocol": 6, "flows": [(0, 0, 3)]})


def test_bridges_spread_no_flows(engine: Engine) -> None:
    cube = network(engine, {"family": "bcube", "n": 2, "k": 1})
    networks.check_balance(cube, "ecmp")
    with pytest.raises(ProblemError) as refused:
        networks.check_balance(cube, "wcmp")
    assert refused.value.status == 422
    assert cube.protocol["balances"] == []
