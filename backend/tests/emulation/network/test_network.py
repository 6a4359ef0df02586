"""The descriptions of a network and its flows for the fabric, and the checks before anything
starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cubeyard.emulation.network import network as networks
from cubeyard.emulation.network.network import check_dataplane, outside_namespace, with_gateways
from cubeyard.emulation.setup import estimate as estimates
from cubeyard.emulation.setup.estimate import KEPT_BYTES, SERVER_BYTES, estimate, memory_free_bytes, refuse_oversize
from cubeyard.emulation.setup.flows import MAX_FLOWS, Flow, flows_of, for_fabric
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import MTUS, PACKET_SECS, Emulation
from cubeyard.kit.errors import ProblemError
from cubeyard.plans.view import PlanView
from cubeyard.settings import EmulationHost, Settings
from tests.emulation.setup.test_question import LARGE, network, question
from tests.exports.plans import book

Json = dict[str, Any]
TINY = {"family": "bcube", "n": 2, "k": 1}


def test_the_fabric_gets_the_whole_network(engine: Engine) -> None:
    result = with_gateways(network(engine, TINY), ["11", "00"])
    assert result.for_fabric("run1", 7, "software", {"hello_secs": 2.0}) == {
        "run": "run1", "spec": TINY, "rate_bits_per_sec": 1e8, "mtu": 9000, "protocol": "bcube", "forwarding": "software",
        "seed": 7, "settings": {"hello_secs": 2.0}, "fair_queues": False, "balance": "ecmp", "gateways": [3, 0],
        "services": [],
        "program": None,
        "congestion": None,
        "subflows": None,
        "servers": [{"id": i, "name": name, "ip": f"10.0.0.{i + 1}"} for i, name in enumerate(["00", "01", "10", "11"])],
        "switches": [{"id": i, "name": name} for i, name in enumerate(["<0,0>", "<0,1>", "<1,0>", "<1,1>"], 4)],
        "links": [
            {"id": i, "a": list(a), "b": list(b), "level": level, "rate_bits_per_sec": 1e8}
            for i, (a, b, level) in enumerate([
                ((0, 0), (4, 0), 0), ((1, 0), (4, 1), 0), ((2, 0), (5, 0), 0), ((3, 0), (5, 1), 0),
                ((0, 1), (6, 0), 1), ((1, 1), (7, 0), 1), ((2, 1), (6, 1), 1), ((3, 1), (7, 1), 1),
            ])
        ],
    }  # fmt: skip
    assert (result.whole, result.outside, outside_namespace("0123456789")) == (True, [], "cy-01234567-out")


@pytest.mark.parametrize("part", [None, {"servers": ["00", "01"]}])
@pytest.mark.parametrize("prefix", [None, "lab"])
def test_devices_have_the_host_names_of_the_plan_s_tables(
    engine: Engine, part: Json | None, prefix: str | None
) -> None:
    spec = {"topology": TINY, **({} if prefix is None else {"site": {"host_prefix": prefix}})}
    planned = PlanView.of(engine.plan(spec, book(engine, "paper-2009")), None).host_names
    result = networks.build(engine, spec, 1e8, 9000, part)
    assert result.host_names == {server: planned[server] for server in (*result.servers, *result.switches)}
    assert result.host_names[0] == ("h00" if prefix is None else "lab-h00")
    assert result.spec == TINY


def test_a_tree_s_servers_forward_nothing_and_need_no_header(engine: Engine) -> None:
    tree = networks.build(engine, {"family": "tree", "edge_ports": 2, "servers": 4}, 1e8, 1500, None)
    reported = tree.for_fabric("run1", 7, "software", {})
    assert (reported["protocol"], reported["forwarding"]) == ("ip", None)
    assert tree.header_efficiency == pytest.approx((1500 - 20 - 32) / (1500 + 14))
    assert network(engine).header_efficiency == pytest.approx((9000 - 36 - 20 - 32) / (9000 + 14))
    with pytest.raises(ProblemError, match="Servers of a tree forward nothing"):
        with_gateways(tree, [next(iter(tree.servers.values()))])
    assert with_gateways(tree, []).gateways == []


@pytest.mark.parametrize(
    "spec",
    [
        {"family": "fat_tree", "ports": 4, "layers": 3},
        {"family": "subways", "type": 1, "p": 2, "q": 4, "l": 4, "clusters": 2},
    ],
)
def test_routers_are_on_one_host(engine: Engine, tmp_path: Path, spec: Json) -> None:
    assert networks.build(engine, spec, 1e8, 1500, None).protocol["switches"] == "routers"
    hosts = [{"name": f"h{i}", "fabric": tmp_path / f"{i}.sock", "underlay": f"10.77.0.{i}"} for i in (1, 2)]
    several = Engine(Settings(hosts=tuple(EmulationHost.model_validate(host) for host in hosts)))
    with pytest.raises(ProblemError) as refused:
        networks.build(several, spec, 1e8, 1500, None)
    (error,) = refused.value.errors
    assert (error.field, error.value, error.limit) == ("body.plan.family", spec["family"], "one host")
    tree = networks.build(several, {"family": "tree", "edge_ports": 2, "servers": 4}, 1e8, 1500, None)
    assert tree.protocol["switches"] == "bridges", "a bridge may have a part on each host"


def test_the_dataplane_of_switches_makes_them_chips(engine: Engine, tmp_path: Path) -> None:
    spec = {"family": "fat_tree", "ports": 4, "layers": 3}
    chips = networks.build(engine, spec, 1e8, 1500, None, "serverswitch")
    assert chips.protocol["switches"] == "chips"
    reported = chips.for_fabric("run1", 7, "serverswitch", {})
    assert (reported["protocol"], reported["forwarding"]) == (chips.protocol["name"], None)
    assert networks.build(engine, spec, 1e8, 1500, None, "kernel").protocol["switches"] == "routers"
    assert networks.build(engine, TINY, 1e8, 1500, None, "serverswitch").protocol["name"] == "bcube", (
        "there, of servers"
    )
    with pytest.raises(ProblemError, match="a chip has four ports") as refused:
        networks.build(engine, {**spec, "ports": 6}, 1e8, 1500, None, "serverswitch")
    (error,) = refused.value.errors
    assert (error.field, error.value) == ("body.emulation.dataplane", "serverswitch")
    assert "ports 4 and layers 3" in (error.hint or "")
    hosts = [{"name": f"h{i}", "fabric": tmp_path / f"{i}.sock", "underlay": f"10.77.0.{i}"} for i in (1, 2)]
    several = Engine(Settings(hosts=tuple(EmulationHost.model_validate(host) for host in hosts)))
    with pytest.raises(ProblemError, match="run on one host"):
        networks.build(several, spec, 1e8, 1500, None, "serverswitch")


def test_a_slice_of_a_fat_tree_keeps_the_switches_between_its_servers(engine: Engine) -> None:
    spec = {"family": "fat_tree", "ports": 4, "layers": 3}
    near = networks.build(engine, spec, 1e8, 1500, {"servers": ["000", "010"]})
    assert sorted(near.switch_levels.values()) == [0, 0, 1, 1], "two edge and two aggregation switches of one pod"
    far = networks.build(engine, spec, 1e8, 1500, {"servers": ["000", "300"]})
    assert sorted(far.switch_levels.values()) == [0, 0, 1, 1, 1, 1, 2, 2, 2, 2]


def test_a_slice_lists_the_servers_that_it_leaves_out(engine: Engine) -> None:
    part = network(engine, TINY, {"servers": ["00", "01", "10"]})
    assert (part.whole, part.outside) == (False, ["11"])
    assert list(part.switches.values()) == ["<0,0>", "<1,0>"], "a switch with one server left carries nothing"
    assert network(engine, TINY, {"servers": ["00", "01", "10", "11"]}).whole
    assert network(engine, TINY, {"within": "11", "k": 1}).whole


def flow_words(**more: Any) -> Json:
    return {"proto": "tcp", "bytes": None, "rate_bits_per_sec": None, "start_secs": 0.0, "pipeline": None, **more}


def test_the_fabric_gets_every_flow(engine: Engine) -> None:
    reported = for_fabric([Flow(0, 3, 1, 1e8), Flow(1, 1, 2, 1e8, relays=0)], Emulation())
    assert reported == [
        flow_words(id=0, source=3, destination=1),
        flow_words(id=1, source=1, destination=2, pipeline=0),
    ]
    paced = Emulation(protocol="udp", flow_bits_per_sec=5e6, flow_bytes=10)
    assert for_fabric([Flow(0, 3, 1, 1e8)], paced) == [
        flow_words(id=0, source=3, destination=1, proto="udp", bytes=10, rate_bits_per_sec=5e6)
    ]
    (short,) = for_fabric([Flow(0, 3, 1, 1e8)], paced.model_copy(update={"datagram_bytes": 22}))
    assert short["datagram_bytes"] == 22


def test_a_datagram_that_no_packet_has_room_for_is_refused_by_its_field(engine: Engine) -> None:
    def asked(bytes_: int) -> Json:
        return {"protocol": "udp", "flow_bits_per_sec": 1e6, "mtu": 1500, "datagram_bytes": bytes_}

    assert question(engine, TINY, "one-to-all", emulation=asked(1436)).settings.datagram_bytes == 1436
    with pytest.raises(ProblemError) as refused:
        question(engine, TINY, "one-to-all", emulation=asked(1437))
    assert refused.value.errors[0].field == "body.emulation.datagram_bytes"


def test_a_pipeline_passes_on_from_one_receiver_to_the_next(engine: Engine) -> None:
    result = question(engine, TINY, "one-to-all", emulation={"delivery": "pipeline"})
    ends = [0, *[flow.destination for flow in result.flows]]
    assert sorted(ends) == [0, 1, 2, 3]
    assert result.flows == [Flow(i, ends[i], ends[i + 1], 1e8, i - 1 if i else None) for i in range(3)]


def test_the_maximum_number_of_flows_is_accepted_and_one_more_is_refused(engine: Engine) -> None:
    request = question(engine, TINY, "one-to-one")
    for connections in (1, 2):
        settings = Emulation(connections=connections)
        for pairs in (MAX_FLOWS // connections, MAX_FLOWS // connections + 1):
            ends = {"source": ["00"] * pairs, "destination": ["11"] * pairs, "rates_bits_per_sec": [6.0] * pairs}
            many = replace(request.prediction, **ends)
            if pairs * connections == MAX_FLOWS:
                result = flows_of(engine, request.network, many, settings, {"kind": "x"})
                assert result == [Flow(i, 0, 3, 6.0 / connections) for i in range(MAX_FLOWS)]
                continue
            with pytest.raises(ProblemError) as refused:
                flows_of(engine, request.network, many, settings, {"kind": "x"})
            assert f"x on 4 servers is {pairs * connections:,} connections" in refused.value.detail
            assert refused.value.errors[0].limit == "at most 2,048"
    none = replace(request.prediction, source=[], destination=[], rates_bits_per_sec=[])
    with pytest.raises(ProblemError, match="has no flow"):
        flows_of(engine, request.network, none, Emulation(), {"kind": "x"})


def test_the_estimate_depends_on_the_sent_traffic_and_the_number_of_cores(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert memory_free_bytes() > 2**20
    monkeypatch.setattr(estimates.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(estimates, "memory_free_bytes", lambda: 2**33)
    some, flows = network(engine, TINY), [Flow(0, 0, 1, 8e8), Flow(1, 1, 0, 4e8)]
    result = estimate(some, Emulation(mode="namespaces"), flows)
    nanos = 4.3 + 10_800 / 9000
    assert result.document() == {
        "servers": 4, "links": 8, "flows": 2, "memory_bytes": 4 * 6 * 2**20, "memory_free_bytes": 2**33,
        "cpu": round(1.5e8 * nanos / 1e9 / 4, 3), "start_secs": 1.0,
    }  # fmt: skip
    in_containers = estimate(some, Emulation(), flows, hosts=2)
    assert (in_containers.memory_bytes, in_containers.start_secs) == (4 * 24 * 2**20, pytest.approx(1.72))
    assert in_containers.cpu == pytest.approx(result.cpu / 2), "two hosts have twice the cores"
    assert estimate(some, Emulation(dataplane="software"), flows).cpu == pytest.approx(6 * result.cpu)
    paced = estimate(replace(some, mtu=1500), Emulation(flow_bits_per_sec=6e8), flows)
    assert paced.cpu == pytest.approx(1.25e8 * (4.3 + 7.2) / 1e9 / 4)


@given(rate=st.floats(1e4, 1e12))
@example(rate=3.6e7)
@example(rate=2.4e7)
def test_ports_take_the_longest_packets_that_suit_the_rate(rate: float) -> None:
    mtu = Emulation().mtu_at(rate)
    assert mtu == 1500 or mtu * 8 / rate <= PACKET_SECS
    assert all(longer * 8 / rate > PACKET_SECS for longer in MTUS if longer > mtu)
    assert Emulation(mtu=1400).mtu_at(rate) == 1400, "the requested number"


def test_a_network_takes_the_memory_that_is_free_and_no_more(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    some = network(engine, LARGE, {"within": "0000", "k": 1})
    for mode, each in SERVER_BYTES.items():
        monkeypatch.setattr(estimates, "memory_free_bytes", lambda each=each: KEPT_BYTES + 64 * each)
        refuse_oversize(some, Emulation.model_validate({"mode": mode}))
        monkeypatch.setattr(estimates, "memory_free_bytes", lambda each=each: KEPT_BYTES + 64 * each - 1)
        with pytest.raises(ProblemError) as refused:
            refuse_oversize(some, Emulation.model_validate({"mode": mode}))
        refuse_oversize(some, Emulation.model_validate({"mode": mode}), hosts=1)
        gib = f"{64 * each / 2**30:.1f} GiB"
        message = f"The run would need {gib} of memory; {gib} are free."
        hint = "Take fewer servers: `cubeyard emulate --fit` and POST /api/v1/emulation/fit choose a part of the plan."
        (error,), (finding,) = refused.value.errors, refused.value.findings
        assert (refused.value.status, refused.value.code, refused.value.detail) == (
            422, "too-large-emulation", f"body.emulation.slice: {message} {hint}",
        )  # fmt: skip
        assert (error.field, error.value, error.limit) == ("body.emulation.slice", 64, "at most 63 servers")
        assert finding == {
            "severity": "error", "code": "too-large-emulation", "where": "emulation.slice", "message": message, "hint": hint,
            "fix": None,
        }  # fmt: skip
    monkeypatch.setattr(estimates, "memory_free_bytes", lambda: 0)
    with pytest.raises(ProblemError) as refused:
        refuse_oversize(network(engine, TINY), Emulation(mode="namespaces"))
    assert "0.0 GiB are free" in refused.value.detail


def test_a_forwarding_that_the_protocol_lacks_is_refused(engine: Engine) -> None:
    check_dataplane(network(engine, TINY), "serverswitch")
    with pytest.raises(ProblemError) as refused:
        check_dataplane(network(engine, {"family": "torus3d", "x": 3, "y": 3, "z": 3}), "serverswitch")
    (error,) = refused.value.errors
    assert (error.field, error.value, error.limit) == ("body.emulation.dataplane", "serverswitch", "kernel, software")


def test_a_forwarding_of_one_host_is_refused_on_several(engine: Engine) -> None:
    check_dataplane(network(engine, TINY), "serverswitch-software", hosts=2)
    with pytest.raises(ProblemError) as refused:
        check_dataplane(network(engine, TINY), "serverswitch", hosts=2)
    (error,) = refused.value.errors
    assert (error.value, error.limit) == ("serverswitch", "kernel, software, serverswitch-software")
