"""The setup of a run: networks and slices, flows, faults, and errors before anything starts."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from cubeyard.emulation.faults.damage import Damage
from cubeyard.emulation.faults.faults import Fault, Schedule, resolve
from cubeyard.emulation.live.service import Outliner
from cubeyard.emulation.network import network as networks
from cubeyard.emulation.network.network import Network
from cubeyard.emulation.setup.prediction import predict
from cubeyard.emulation.setup.question import Question, read
from cubeyard.engine import Engine, PlanRejectedError
from cubeyard.experiments.emulation import Emulation
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings
from tests.conftest import PAPER, SMALL, examples

Json = dict[str, Any]
LARGE = {"family": "bcube", "n": 8, "k": 3}
TREE = {"family": "tree", "edge_ports": 4, "servers": 8}
SUBWAYS = {
    "family": "subways",
    "type": 2,
    "p": 2,
    "q": 4,
    "l": 4,
    "c": 2,
    "clusters": 2,
    "aggs_per_cluster": 2,
    "cores": 2,
}


def network(engine: Engine, spec: Json = SMALL, part: Json | None = None) -> Network:
    return networks.build(engine, spec, 1e8, 9000, part)


def question(engine: Engine, spec: Json = SMALL, workload: str = "all-to-all", **fields: Any) -> Question:
    request = {"plan": spec, "workload": {"kind": workload}, "engine": "emulation", "link_gbps": 0.1, **fields}
    document = ExperimentCreate.model_validate(request).model_dump(mode="json")
    return read(engine, {**document, "plan": {"spec": spec}})


def test_each_address_is_one_server_s(engine: Engine) -> None:
    result = network(engine)
    assert len(set(result.addresses.values())) == len(result.servers)
    assert {result.server_at(address): item for item, address in result.addresses.items()} == {
        name: item for item, name in result.servers.items()
    }
    assert result.server_at("198.18.0.1") is None
    part = network(engine, part={"servers": ["11", "12"]})
    assert part.addresses == {server: result.addresses[server] for server in part.servers}
    assert part.server_at(result.addresses[result.id_of["00"]]) is None


def test_a_plan_s_network_is_its_topology(engine: Engine) -> None:
    result = network(engine)
    assert (len(result.servers), len(result.switches), len(result.links)) == (16, 8, 32)
    assert result.link_name(result.links[0]) == "00/<0,0>"
    ends = [end for link in result.links for end in (link.a, link.b)]
    assert len(set(ends)) == len(ends), "no port has two links"
    reported = result.for_fabric("r", 7, "kernel", {})
    assert reported["servers"][5] == {"id": 5, "name": "11", "ip": "10.0.0.6"}
    assert reported["links"][0] == {"id": 0, "a": [0, 0], "b": [16, 0], "level": 0, "rate_bits_per_sec": 1e8}


@pytest.fixture(scope="module")
def papers_links(engine: Engine) -> dict[int, object]:
    return {link.id: link for link in network(engine, PAPER).links}


@settings(max_examples=examples(20), deadline=None)
@given(server=st.integers(0, 2047), k=st.integers(0, 2))
def test_a_smaller_bcube_of_a_plan_is_one(engine: Engine, papers_links: dict[int, object], server: int, k: int) -> None:
    name = "".join(str(server // 8**power % 8) for power in (3, 2, 1, 0))
    part = network(engine, PAPER, {"within": name, "k": k})
    assert len(part.servers) == 8 ** (k + 1)
    assert len(part.switches) == (k + 1) * 8**k
    assert len(part.links) == (k + 1) * len(part.servers)
    assert part.id_of[name] == server, "a slice keeps the plan's ids"
    assert all(papers_links[link.id] == link for link in part.links)


def test_five_servers_of_a_large_bcube_keep_the_switches_that_join_them(engine: Engine) -> None:
    """The slice of BCube §7.4."""
    names = ["0000", "0001", "0011", "0111", "1111"]
    part = network(engine, LARGE, {"servers": names})
    assert list(part.servers.values()) == names
    assert len(part.switches) == 4, "one a digit, between each and the next"
    assert len(part.links) == 8
    assert not part.whole


def test_a_slice_s_flows_stay_within_it(engine: Engine) -> None:
    for kind in ("one-to-one", "one-to-all", "permutation", "incast", "one-to-several"):
        result = question(engine, PAPER, kind, emulation={"slice": {"within": "0000", "k": 1}})
        servers = set(result.network.servers)
        assert {end for flow in result.flows for end in (flow.source, flow.destination)} <= servers
        assert all(flow.ideal_bits_per_sec > 0 for flow in result.flows), kind
    assert len(question(engine, PAPER, emulation={"slice": {"within": "0000", "k": 0}}).flows) == 8 * 7


def test_a_share_is_one_of_the_emulated_part_whichever_servers_that_are(engine: Engine) -> None:
    part = network(engine, LARGE, {"within": "7654", "k": 1})
    assert (len(part.servers), len(part.switches), len(part.links)) == (64, 16, 128)
    for target, hits in (
        ({"selector": "10% of switches"}, 2),
        ({"kind": "switch", "ratio": 0.1}, 2),
        ({"selector": "3 level-1 switches"}, 3),
        ({"selector": "all level-0 links"}, 64),
        ({"selector": "5 servers"}, 5),
    ):
        matches = [resolve(engine, part, [{"target": target}], seed, ["f1"])[0] for seed in (1, 2)]
        assert [len(fault.strikes) for fault in matches] == [hits, hits], target
    with pytest.raises(ProblemError, match="has 16 of them: 17 cannot fail"):
        resolve(engine, part, [{"target": {"selector": "17 switches"}}], 1, ["f1"])
    with pytest.raises(ProblemError, match="1% of switches is none: the run has 64 servers, 16 switches"):
        resolve(engine, part, [{"target": {"selector": "1% of switches"}}], 1, ["f1"])
    rack = {"kind": "server-off", "target": {"selector": "rack R00"}}
    with pytest.raises(ProblemError, match=r"rack R00 is outside of the part of the plan that runs") as refused:
        resolve(engine, part, [rack], 1, ["f1"])
    assert "two ends" not in str(refused.value.errors)


def test_targets_of_faults_are_reported_before_the_start(engine: Engine) -> None:
    faults = [
        {"kind": "cable-pulled", "target": {"names": ["00/<0,0>", "01/<0,0>"]}},
        {"kind": "link-loss", "loss_ratio": 0.1, "target": {"names": ["00/<0,0>"]}, "at_secs": 5},
        {"target": {"selector": "50% of level-1 switches"}},
    ]
    request = {"plan": SMALL, "workload": {"kind": "permutation"}, "engine": "emulation", "faults": faults}
    document = ExperimentCreate.model_validate(request).model_dump(mode="json")
    outline = Outliner(engine, Settings()).outline({**document, "plan": {"spec": SMALL}})
    assert outline["failed"] == {"servers": 0, "switches": 2, "links": 2, "degraded_links": 1}
    assert outline["flows"] == 16


def test_connections_share_their_flow_s_ideal(engine: Engine) -> None:
    item = question(engine, workload="one-to-one")
    four = question(engine, workload="one-to-one", emulation={"connections": 4})
    assert len(four.flows) == 4
    assert sum(flow.ideal_bits_per_sec for flow in four.flows) == pytest.approx(item.flows[0].ideal_bits_per_sec)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"spec": LARGE}, "at most 256 run as containers"),
        ({"spec": {"family": "torus3d", "x": 1, "y": 1, "z": 1}}, "must be 2 to 1024 servers"),
        ({"spec": {"family": "bcube", "n": 65, "k": 1}}, "spec.n is 65, but must be at most 64"),
        ({"spec": {"family": "bcube", "n": 2, "k": 4}}, "spec.k is 4, but must be at most 3"),
        ({"spec": {"family": "bcube", "n": 8, "k": 1}}, "4,032 connections"),
        ({"emulation": {"slice": {"servers": ["00", "99"]}}}, "no server 99"),
        ({"emulation": {"slice": {"servers": ["00", "00"]}}}, "needs at least 2"),
        ({"emulation": {"timers": {"hello_secs": 0.001}}}, "must be 0.02 to 3600"),
        ({"emulation": {"timers": {"dead_after": 2.5}}}, "a whole number, 1 to 100"),
        ({"emulation": {"timers": {"hello": 1}}}, "has no setting hello"),
        ({"emulation": {"gateways": ["00", "99"]}}, "no server 99"),
        ({"emulation": {"gateways": ["00", "01", "00"]}}, "00 is named twice"),
        ({"emulation": {"gateways": ["00"], "slice": {"servers": ["10", "11"]}}}, "no server 00"),
        ({"emulation": {"protocol": "mptcp"}}, "take one path at a time"),
        ({"spec": TREE, "emulation": {"protocol": "mptcp"}}, "all subflows would share it"),
        ({"spec": SUBWAYS, "emulation": {"protocol": "mptcp", "balance": "lb"}}, "ecmp or wcmp with mptcp"),
        (
            {"spec": SUBWAYS, "workload": "one-to-all", "emulation": {"protocol": "mptcp", "delivery": "pipeline"}},
            "unicast with mptcp",
        ),
        ({"faults": [{"target": {"names": ["00/<0,1>"]}}]}, "No link joins"),
        ({"faults": [{"kind": "cable-pulled", "target": {"names": ["00"]}}]}, "is not a link"),
        ({"faults": [{"kind": "server-off", "target": {"names": ["<0,1>"]}}]}, "is not a server"),
        (
            {"faults": [{"kind": "link-rate", "rate_bits_per_sec": 1e6, "target": {"selector": "1% of links"}}]},
            "1% of links is none: the run has 32 links",
        ),
        (
            {"faults": [{"kind": "server-off", "target": {"kind": "server", "ratio": 0.01}}]},
            "1% of servers is none: the run has 16 servers",
        ),
        ({"faults": [{"target": {"selector": "a few switches"}}]}, "is not understood"),
    ],
)
def test_plans_that_cannot_run_are_refused_with_the_reason(engine: Engine, fields: Json, said: str) -> None:
    with pytest.raises((ProblemError, PlanRejectedError)) as refused:
        question(engine, **fields)
    assert said in f"{refused.value.detail} {refused.value.errors}"


CABLE = {"kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}}
SHARE = {"metric": "goodput-share", "bound": 0.9}


@pytest.mark.parametrize(
    ("at_secs", "hypothesis", "field", "limit"),
    [
        ([9], None, "body.faults.0.at_secs", "less than 4"),
        ([1, 4], None, "body.faults.1.at_secs", "less than 4"),
        ([3], SHARE, "body.emulation.hypothesis.for_secs", "at most 0.8"),
        ([2], SHARE, "body.emulation.hypothesis.for_secs", "at most 1.8"),
        ([1.5, 3], SHARE, None, None),
        ([3], {**SHARE, "for_secs": 0.8}, None, None),
        ([], {"metric": "goodput", "bound": 1e12, "for_secs": 4}, "body.emulation.hypothesis.for_secs", "at most 3.8"),
        ([], {"metric": "goodput", "bound": 1e12}, None, None),
        ([3.999], None, None, None),
    ],
)
def test_a_run_that_is_too_short_for_a_fault_or_a_hypothesis_is_refused(
    engine: Engine, at_secs: list[float], hypothesis: Json | None, field: str | None, limit: str | None
) -> None:
    faults = [{**CABLE, "at_secs": at} for at in at_secs]
    with nullcontext() if field is None else pytest.raises(ProblemError) as refused:
        question(engine, faults=faults, emulation={"seconds": 4, "hypothesis": hypothesis})
    if refused is not None:
        (error,) = refused.value.errors
        assert (error.field, error.limit) == (field, limit)


def test_a_latency_is_of_requests(engine: Engine) -> None:
    slow: Json = {"emulation": {"hypothesis": {"metric": "latency-p99-secs", "bound": 0.01}}}
    with pytest.raises(ProblemError, match="no latencies") as refused:
        question(engine, **slow)
    assert refused.value.errors[0].field == "body.emulation.hypothesis.metric"
    assert question(engine, workload="requests", **slow).hypotheses[0].bound == 0.01


def test_the_second_of_two_hypotheses_is_named_by_its_place(engine: Engine) -> None:
    request = {"plan": SMALL, "workload": {"kind": "permutation"}, "engine": "emulation"}
    claims = [SHARE, {**SHARE, "for_secs": 5}]
    short = {**request, "emulation": {"seconds": 4, "hypothesis": SHARE}, "hypotheses": claims}
    document = ExperimentCreate.model_validate(short).model_dump(mode="json")
    with pytest.raises(ProblemError) as refused:
        read(engine, {**document, "plan": {"spec": SMALL}})
    assert refused.value.errors[0].field == "body.hypotheses.1.for_secs"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"protocol": "mptcp", "flow_bits_per_sec": 1e6}, "paces no connection"),
        ({"protocol": "tcp", "subflows": 2}, "one path a connection"),
        ({"protocol": "mptcp", "subflows": 10}, "less than or equal to 9"),
        ({"protocol": "sctp"}, "'tcp', 'udp' or 'mptcp'"),
        ({"protocol": "tcp", "datagram_bytes": 100}, "datagram_bytes: tcp sends no datagrams"),
        ({"protocol": "udp", "datagram_bytes": 8}, "greater than or equal to 9"),
    ],
)
def test_settings_that_a_transport_has_not_are_refused_by_field(fields: Json, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Emulation.model_validate(fields)


@given(subflows=st.integers(1, 6), connections=st.integers(1, 3))
@settings(max_examples=examples(8), deadline=None)
def test_a_connection_s_ideal_is_what_its_subflows_add_up_to(engine: Engine, subflows: int, connections: int) -> None:
    """Two subflows alone fill the two ports of each end, and so do four. Of three subflows, one
    shares a port with each of the others: without coupling, each gets half a port."""
    pair = {"kind": "one-to-one", "source": "0.0.0", "destination": "1.3.1"}
    request = {"plan": SUBWAYS, "workload": pair, "engine": "emulation", "link_gbps": 0.1}
    request["emulation"] = {"protocol": "mptcp", "subflows": subflows, "connections": connections}
    document = ExperimentCreate.model_validate(request).model_dump(mode="json")
    result = read(engine, {**document, "plan": {"spec": SUBWAYS}})
    ideal = sum(flow.ideal_bits_per_sec for flow in result.flows)
    assert ideal == pytest.approx({1: 1e8, 3: 1.5e8}.get(subflows, 2e8))
    assert len(result.flows) == connections
    assert "uncoupled" in result.prediction.document()["choices"][0]
    reported = result.network.for_fabric("r", 1, "kernel", {}, subflows=subflows)
    assert reported["subflows"] == subflows


def test_gateways_are_named_to_the_fabric_by_id(engine: Engine) -> None:
    result = question(engine, emulation={"gateways": ["11", "00"]})
    assert result.network.for_fabric("run", 7, "kernel", {})["gateways"] == [
        result.network.id_of[item] for item in ("11", "00")
    ]


def test_degraded_links_are_no_failures_in_a_prediction(engine: Engine) -> None:
    here, link = network(engine), {"names": ["00/<0,0>"]}
    request = [
        {"kind": "link-rate", "rate_bits_per_sec": 1e7, "target": {"names": ["01/<0,0>", "00/<0,0>"]}},
        {"kind": "link-loss", "loss_ratio": 0.5, "target": link},
        {"kind": "link-loss", "loss_ratio": 0.5, "target": link},
        {"kind": "link-delay", "delay_secs": 0.1, "target": {"names": ["02/<0,0>"]}},
        {"kind": "server-frozen", "target": {"names": ["11"]}},
        {"target": {"names": ["11", "<1,2>"]}},
    ]
    damage = Damage.of(resolve(engine, here, request, 7, [f"f{i}" for i in range(len(request))]))
    slow, lost = {"kind": "link-rate", "rate_bits_per_sec": 1e7}, {"kind": "link-loss", "loss_ratio": 0.5}
    assert damage.document() == {
        "failed": ["11", "<1,2>"],
        "degraded": [
            {"link": "00/<0,0>", **lost}, {"link": "00/<0,0>", **lost}, {"link": "00/<0,0>", **slow},
            {"link": "01/<0,0>", **slow},
        ],
    }  # fmt: skip
    assert damage.faults(["33"])[0] == {"target": {"names": ["33", "11", "<1,2>"]}}
    # 00 sends to 01 over one switch, at a tenth of the rate; two losses let a quarter pass.
    flow = {"kind": "one-to-one", "source": "00", "destination": "01"}
    alone = predict(engine, here, flow, "bcube-fixed", 7, Emulation(), Damage(degraded=damage.degraded))
    assert alone.rates_bits_per_sec == pytest.approx([1e7 / 4])
    assert predict(engine, here, flow, "bcube-fixed", 7, Emulation()).rates_bits_per_sec == pytest.approx([1e8])


def test_plain_down_is_the_loss_of_power_or_of_a_cable(engine: Engine) -> None:
    targets = [{"names": ["00", "<1,2>"]}, {"names": ["03/<0,0>"]}]
    result = resolve(engine, network(engine), [{"target": target} for target in targets], 7, ["f1", "f2"])
    assert [(strike.kind, strike.name) for fault in result for strike in fault.strikes] == [
        ("server-off", "00"),
        ("switch-off", "<1,2>"),
        ("cable-pulled", "03/<0,0>"),
    ]


CUSTOM = {
    "family": "custom", "link_gbps": 1,
    "nodes": [{"name": "a", "role": "switch"}, {"name": "b", "role": "switch"}, {"name": "x", "role": "server"}, {"name": "y", "role": "server"}],
    "links": [{"a": "x", "b": "a"}, {"a": "b", "b": "y"}, {"a": "a", "b": "b"}],
}  # fmt: skip


@pytest.mark.parametrize("spec", [CUSTOM, {"family": "leaf_spine", "leaves": 2, "spines": 1, "servers_per_leaf": 1}])
def test_a_port_that_goes_down_is_named_by_its_cable(engine: Engine, spec: Json) -> None:
    here = network(engine, spec)
    for link in here.links:
        down = {"kind": "port-down", "target": {"names": [here.link_name(link)]}}
        (strike,) = resolve(engine, here, [down], 7, ["f1"])[0].strikes
        assert strike.target == {"link": link.id}


def test_a_seed_draws_the_same_targets_again(engine: Engine) -> None:
    request = [{"kind": "server-killed", "target": {"kind": "server", "ratio": 0.25}}]
    here = network(engine)
    drawn = [resolve(engine, here, request, seed, ["f1"])[0].names for seed in (1, 1, 2, 3)]
    assert len(drawn[0]) == 4
    assert drawn[0] == drawn[1]
    assert len({tuple(item) for item in drawn}) > 1


@given(
    st.lists(
        st.tuples(st.floats(0, 20), st.none() | st.floats(0, 20), st.none() | st.floats(0.2, 3)), min_size=1, max_size=6
    )
)
def test_scheduled_faults_happen_in_order_and_all_are_recovered(
    plans: list[tuple[float, float | None, float | None]],
) -> None:
    faults = [
        Fault(
            f"f{i}", "down", [], at, at + length if length is not None else None, flap if length is not None else None
        )
        for i, (at, length, flap) in enumerate(plans)
    ]
    schedule = Schedule(faults)
    done = [
        item for now in itertools.takewhile(lambda now: now < 50, itertools.count(0, 0.1)) for item in schedule.due(now)
    ]
    assert [item.at_secs for item in done] == sorted(item.at_secs for item in done)
    for fault in faults:
        mine = [item for item in done if item.fault.id == fault.id]
        assert mine[0].at_secs == fault.at_secs
        if fault.until_secs is not None:
            assert mine[-1].action == "recover" or fault.until_secs == fault.at_secs
            assert mine[-1].at_secs == fault.until_secs


def test_spanning_trees_reach_every_server_once_each(engine: Engine) -> None:
    """BCube §3.5 has k+1 edge-disjoint trees."""
    result = question(engine, workload="one-to-all", emulation={"delivery": "spanning-trees"})
    assert len(result.flows) == 2 * 15
    for flow in result.flows:
        assert flow.relays is None if flow.source == 0 else result.flows[flow.relays].destination == flow.source
    received = [flow.destination for flow in result.flows]
    assert sorted(received) == sorted([*range(1, 16)] * 2)
    assert len({(flow.source, flow.destination) for flow in result.flows}) == len(result.flows)
    assert result.prediction.ideal_bits_per_sec == 30 * 1e8


def test_a_complete_graph_forwards_every_half(engine: Engine) -> None:
    """Uses the scheme of BCube §3.4."""
    workload = {"kind": "one-to-several", "source": "00", "destinations": ["01", "10"]}
    request = {"plan": SMALL, "workload": workload, "engine": "emulation", "emulation": {"delivery": "complete-graph"}}
    document = ExperimentCreate.model_validate(request).model_dump(mode="json")
    result = read(engine, {**document, "plan": {"spec": SMALL}})
    assert [(flow.source, flow.destination, flow.relays) for flow in result.flows] == [
        (0, 1, None), (0, 4, None), (1, 4, 0), (4, 1, 1),
    ]  # fmt: skip


@pytest.mark.parametrize(("workload", "delivery"), [("all-to-all", "pipeline"), ("one-to-several", "spanning-trees")])
def test_workloads_that_cannot_be_relayed_are_refused(engine: Engine, workload: str, delivery: str) -> None:
    with pytest.raises(ProblemError):
        question(engine, workload=workload, emulation={"delivery": delivery})


def test_an_image_is_beside_the_servers_that_it_names_and_told_where_it_is(engine: Engine) -> None:
    images = [{"image": "web:1", "servers": ["11", "00"], "command": ["serve"], "environment": {"A": "b"}}]
    result = question(engine, emulation={"images": images})
    by_name = {result.network.servers[server]: item for server, item in result.beside.items()}
    assert sorted(by_name) == ["00", "11"]
    address = result.network.addresses[result.network.id_of["11"]]
    assert dict(by_name["11"].environment) == {"A": "b", "CUBEYARD_SERVER": "11", "CUBEYARD_ADDRESS": address}
    assert by_name["11"].command == ("serve",)
    every = question(engine, emulation={"images": [{"image": "web:1"}]})
    assert every.beside.keys() == every.network.servers.keys()
    assert every.estimate.memory_bytes == 2 * question(engine).estimate.memory_bytes


@pytest.mark.parametrize(
    ("images", "field", "said"),
    [
        ([{"image": "web", "servers": ["00", "99"]}], "body.emulation.images.0.servers.1", "no server 99"),
        (
            [{"image": "web", "servers": ["00"]}, {"image": "db"}],
            "body.emulation.images.1.servers",
            "Server 00 would have two images: web and db",
        ),
        ([{"image": "web", "servers": ["00", "00"]}], "body.emulation.images.0.servers.1", "two images"),
    ],
)
def test_servers_of_images_are_checked_by_field(engine: Engine, images: list[Json], field: str, said: str) -> None:
    with pytest.raises(ProblemError) as refused:
        question(engine, emulation={"images": images})
    (error,) = refused.value.errors
    assert (error.field, said in error.message) == (field, True), error
    assert error.limit
    assert error.hint


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("127.0.0.1:5001/web", "127.0.0.1:5001"),
        ("10.0.0.1/web", "10.0.0.1"),
        ("localhost/web", "localhost"),
        ("registry:5000/web", "registry:5000"),
        ("HOST/web", "host"),
        ("registry.example.com/web", "registry.example.com"),
        ("Ghcr.io:5000/web", "ghcr.io:5000"),
    ],
)
def test_images_come_from_the_registries_of_the_settings_alone(engine: Engine, image: str, registry: str) -> None:
    with pytest.raises(ProblemError) as refused:
        question(
            engine, emulation={"images": [{"image": "web", "servers": ["00"]}, {"image": image, "servers": ["01"]}]}
        )
    (error,) = refused.value.errors
    assert error.field == "body.emulation.images.1.image"
    assert f"the registry {registry} " in error.message
    assert error.limit == "images from docker.io, ghcr.io, quay.io"
    allowed = Engine(Settings(image_registries=[registry]))
    assert question(allowed, emulation={"images": [{"image": image}]}).beside
    with pytest.raises(ProblemError, match=r"the registry docker\.io is not allowed"):
        question(allowed, emulation={"images": [{"image": "web"}]})


@pytest.mark.parametrize("image", ["web", "library/web:1", "docker.io/a/web", "Ghcr.io/a/web", "quay.io/a/b/web"])
def test_public_registries_are_allowed_by_default(engine: Engine, image: str) -> None:
    assert question(engine, emulation={"images": [{"image": image}]}).beside


def test_images_that_the_engine_has_are_for_this_machines_users_unless_set() -> None:
    assert "local" in Settings().registries
    assert "local" not in Settings(host="0.0.0.0").registries
    # A worker serves all servers that use the same database.
    shared = "postgresql://worker@db.example/cubeyard"
    assert "local" not in Settings(database_url=shared).registries
    assert "local" in Settings(database_url=shared, image_registries=["local"]).registries
    assert "local" in Settings(host="0.0.0.0", image_registries=["local"]).registries
    assert Settings(image_registries=["docker.io"]).registries == {"docker.io"}


def test_an_installation_may_run_no_images_of_users() -> None:
    engine = Engine(Settings(user_images=False))
    assert question(engine).beside == {}
    with pytest.raises(ProblemError, match="runs no images of users"):
        question(engine, emulation={"images": [{"image": "web"}]})


@pytest.mark.parametrize(
    "reference",
    [
        "nginx", "nginx:1.29", "library/nginx", "localhost:5000/a/b-c__d:T.1", "ghcr.io/some-one/x@sha256:" + "0a" * 32,
        "registry.example.com/a:b@sha256:" + "ff" * 32, "Registry.Example.com:443/a", "a" * 255,
    ],
)  # fmt: skip
def test_references_that_registries_take_are_taken(reference: str) -> None:
    assert Emulation.model_validate({"images": [{"image": reference}]}).images[0].image == reference


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ({"image": ""}, "at least 1 item"),
        ({"image": "Nginx"}, "This is not a reference to an image"),
        ({"image": "nginx:"}, "not a reference"),
        ({"image": "nginx:a b"}, "not a reference"),
        ({"image": "nginx\n"}, "not a reference"),
        ({"image": "-x"}, "not a reference"),
        ({"image": "http://example.com/a"}, "not a reference"),
        ({"image": "nginx@sha256:abc"}, "not a reference"),
        ({"image": "a" * 256}, "not a reference"),
        ({"image": "a/" * 300 + "a"}, "at most 512"),
        ({"image": "a", "command": []}, "at least 1 item"),
        ({"image": "a", "command": ["a\0"]}, "zero character"),
        ({"image": "a", "command": ["a"] * 65}, "at most 64"),
        ({"image": "a", "environment": {"A B": "c"}}, "match pattern"),
        ({"image": "a", "environment": {"CUBEYARD_SERVER": "c"}}, "is set by the run"),
        ({"image": "a", "servers": []}, "at least 1 item"),
        ({"image": "a", "privileged": True}, "Extra inputs"),
    ],
)
def test_invalid_fields_of_an_image_are_refused(image: Json, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Emulation.model_validate({"images": [image]})


def test_servers_in_namespaces_have_no_container_for_an_image() -> None:
    with pytest.raises(ValidationError, match="take mode containers, or leave images out"):
        Emulation.model_validate({"mode": "namespaces", "images": [{"image": "a"}]})
    assert "images" not in Emulation().model_dump()
