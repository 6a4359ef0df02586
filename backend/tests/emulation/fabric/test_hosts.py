"""A run over several hosts, without packets: the distribution of servers, merged frames, compared
clocks, and host names in errors."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from docker.tls import TLSConfig
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import cubeyard.emulation.deploy.docker_engine
import cubeyard.emulation.deploy.reaper
import cubeyard.emulation.fabric.client
import cubeyard.emulation.fabric.fabrics
from cubeyard.emulation.deploy.probe import probe
from cubeyard.emulation.deploy.reaper import reap
from cubeyard.emulation.fabric.client import FabricError, FabricGoneError
from cubeyard.emulation.fabric.fabrics import Fabrics, on_every
from cubeyard.emulation.fabric.hosts import VNIS_A_RUN, Host, Hosts, Spread, divided, first_vni
from cubeyard.emulation.fabric.merging import merged
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.live.inspection import inspect
from cubeyard.emulation.session.session import Session
from cubeyard.emulation.setup.estimate import refuse_oversize
from cubeyard.engine import Engine, binding_build
from cubeyard.experiments.emulation import Emulation
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import EmulationHost, Settings
from tests.emulation.scripted import scripted
from tests.emulation.session.test_session import RUN, Kept, question

Json = dict[str, Any]


@given(st.integers(0, 2000), st.lists(st.floats(0.01, 100), min_size=1, max_size=8))
def test_every_server_is_on_one_host_in_proportion_and_in_order(servers: int, shares: list[float]) -> None:
    parts = divided(servers, shares)
    assert len(parts) == len(shares)
    assert [item for part in parts for item in part] == list(range(servers))
    for part, share in zip(parts, shares, strict=True):
        assert abs(len(part) - servers * share / sum(shares)) <= 1
    assert parts == divided(servers, shares)


@pytest.mark.parametrize(
    ("servers", "shares", "lengths"),
    [(16, [1], [16]), (16, [1, 1], [8, 8]), (16, [1, 1, 2], [4, 4, 8]), (1, [1, 1], [0, 1]), (64, [3, 1], [48, 16])],
)
def test_parts_are_as_long_as_their_shares(servers: int, shares: list[float], lengths: list[int]) -> None:
    assert [len(part) for part in divided(servers, shares)] == lengths


@given(st.text("0123456789abcdefghijklmnopqrstuvwxyz", min_size=14, max_size=14))
def test_a_run_has_a_block_of_vxlan_numbers_that_exist(run_id: str) -> None:
    first = first_vni(run_id)
    assert first % VNIS_A_RUN == 0
    assert 0 < first <= 2**24 - VNIS_A_RUN


def frame(tick: int, *, links: list[int], flows: list[int], **other: Any) -> Json:
    return {
        "tick": tick,
        "at_secs": tick / 10,
        "links": {
            "tx": links,
            "rx": links,
            "packets": [*links, *links],
            "drops": [*links, *links],
            "queue": [*links, *links],
        },
        "servers": {"relayed": links, "own": links, "cpu": [link / 10 for link in links]},
        "flows": {"bytes": flows, "retransmits": flows},
        "drops": {},
        "host": {"cpu": 0.25},
        "events": [],
        **other,
    }


COUNTS = st.lists(st.integers(0, 10**9), min_size=3, max_size=3)


@given(st.lists(st.lists(COUNTS, min_size=1, max_size=4), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_merged_counts_are_all_counts_and_levels_the_latest(by_host: list[list[list[int]]], draws: Random) -> None:
    cpus = [draws.random() for _ in by_host]
    frames = [
        [
            {
                **frame(i, links=counts, flows=counts, host={"cpu": cpu if i == len(host) else 1.0}),
                "missed": counts[0] % 3,
            }
            for i, counts in enumerate(host, 1)
        ]
        for host, cpu in zip(by_host, cpus, strict=True)
    ]
    tick = merged(frames, [0] * len(frames))
    assert tick["tick"] == max(len(host) for host in by_host)
    assert tick["host"] == {"cpu": max(cpus)}, "the current value of the busiest host"
    every = [counts for host in by_host for counts in host]
    latest = [host[-1] for host in by_host]
    summed, levels = ([sum(column) for column in zip(*rows, strict=True)] for rows in (every, latest))
    assert tick["links"]["tx"] == tick["flows"]["bytes"] == tick["servers"]["own"] == summed
    assert tick["links"]["packets"] == tick["links"]["drops"]
    assert tick["links"]["queue"] == [*levels, *levels]
    assert tick["at_secs"] == max(len(host) for host in by_host) / 10
    assert tick["missed"] == max(sum(counts[0] % 3 for counts in host) for host in by_host)
    assert set(tick) == set(frames[0][0])


def test_subflows_of_mptcp_add_up_and_an_unknown_column_is_refused() -> None:
    only = frame(3, links=[1], flows=[2])
    ticks = [{**only, "subflows": [[0, 0, 500], [0, 1, 7]]}, {**only, "subflows": [[0, 1, 3], [4, 0, 1]]}]
    assert merged([[*ticks, only]], [0])["subflows"] == [[0, 0, 500], [0, 1, 10], [4, 0, 1]]
    assert merged([[ticks[0]], [ticks[1]]], [0, 0])["subflows"] == [[0, 0, 500], [0, 1, 10], [4, 0, 1]]
    parts = [{**only, part: {**only.get(part, {}), "novel": 1}} for part in ("flows", "host", "latencies")]
    for unknown in ({**only, "novel": []}, *parts):
        with pytest.raises(LookupError, match="novel"):
            merged([[only, unknown]], [0])


def test_a_single_fabrics_frames_are_left_as_they_are() -> None:
    only = frame(3, links=[1], flows=[2])
    assert merged([[only]], [0]) is only
    slow = {**only, "host": {"cpu": 0.5, "wait_secs": 0.25, "waits": 10, "backlog_drops": 3}}
    delays = {"cpu": 0.5, "wait_secs": 0.5, "waits": 20, "backlog_drops": 6}
    assert merged([[slow, slow], [only]], [0, 0])["host"] == delays, "all ticks and hosts"
    two = merged([[only, only]], [0])
    assert (two["links"]["tx"], two["links"]["queue"]) == ([2], only["links"]["queue"])
    far = {
        **only,
        "events": [{"kind": "carrier", "at_nanos": 7}, {"kind": "carrier"}, {"kind": "carrier", "at_nanos": 0}],
    }
    assert [event.get("at_nanos") for event in merged([[far]], [5])["events"]] == [2, None, 0], (
        "unless their clock is another"
    )


def test_events_are_on_our_clock_and_told_once() -> None:
    first = [{"kind": "carrier", "at_nanos": 5_000}, {"kind": "fault-injected", "at_nanos": 4_000}]
    second = [{"kind": "carrier", "at_nanos": 1_005_100}, {"kind": "fault-injected", "at_nanos": 1_004_000}]
    second.append({"kind": "fault-recovered", "at_nanos": 1_004_500})
    frames = [[frame(1, links=[], flows=[], events=events)] for events in (first, second)]
    reported = merged(frames, [0, 1_000_000])["events"]
    assert [(event["kind"], event["at_nanos"]) for event in reported] == [
        ("carrier", 5_000), ("fault-injected", 4_000), ("carrier", 5_100),
    ]  # fmt: skip
    drops = [[frame(1, links=[], flows=[], drops={"no-path": 2})], [frame(1, links=[], flows=[], drops={"no-path": 3})]]
    assert merged(drops, [0, 0])["drops"] == Counter({"no-path": 5})


def settings(tmp_path: Path, *names: str) -> Settings:
    hosts = tuple(
        EmulationHost.model_validate({"name": name, "fabric": tmp_path / f"{name}.sock", "underlay": f"10.77.0.{i}"})
        for i, name in enumerate(names, 1)
    )
    return Settings(hosts=hosts, home=tmp_path)


def run(tmp_path: Path, engine: Engine, sink: Kept) -> Json:
    return Session(settings(tmp_path, "a", "b"), Place(tmp_path / "place"), RUN, question(engine), sink).run()


def test_each_host_is_told_its_part_and_ticks_are_the_sum(engine: Engine, tmp_path: Path) -> None:
    sink = Kept()
    with scripted(tmp_path / "a.sock") as first, scripted(tmp_path / "b.sock") as second:
        for fabric in (first, second):
            fabric.rate = lambda _now, _faults: 0.5
            fabric.even = True
        report = run(tmp_path, engine, sink)
    hosts = [fabric.network["hosts"] for fabric in (first, second)]
    assert [host["here"] for host in hosts] == [0, 1]
    assert hosts[0]["underlays"] == hosts[1]["underlays"] == ["10.77.0.1", "10.77.0.2"]
    assert hosts[0]["first_vni"] == hosts[1]["first_vni"] == first_vni(RUN)
    assert [server["host"] for server in first.network["servers"]] == [0] * 8 + [1] * 8
    assert first.network["servers"] == second.network["servers"]
    (network,) = sink.of("network")
    assert network["hosts"] == {"name": ["a", "b"], "of_server": [0] * 8 + [1] * 8}
    each = first.frame(1)["flows"]["bytes"][0]
    for tick in sink.of("tick"):
        (carried,) = set(tick["flows"]["bytes"])
        assert carried >= 2 * each, "a tick is complete when both have reported"
        assert carried % each == 0
    assert report["ended"] == "done"
    for fabric in (first, second):
        assert [name for name, _ in fabric.calls if name in ("wire", "start", "destroy")] == [
            "destroy", "wire", "start", "destroy",
        ]  # fmt: skip


def test_a_host_that_goes_away_ends_the_run_by_its_name(engine: Engine, tmp_path: Path) -> None:
    with scripted(tmp_path / "a.sock") as first, scripted(tmp_path / "b.sock") as second:
        second.dies_at_secs = 0.5
        with pytest.raises(FabricGoneError, match="Host b: cubeyard-fabric went away"):
            run(tmp_path, engine, Kept())
        assert [fabric.calls[-1][0] for fabric in (first, second)] == ["destroy", "destroy"]


@pytest.mark.parametrize("deaf_from", ["prepare", "wire", "start", "subscribe"])
def test_a_host_that_answers_nothing_ends_the_run_soon_by_its_name(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deaf_from: str
) -> None:
    """Like a forwarded socket whose machine is gone: it accepts connections and answers nothing."""
    monkeypatch.setattr(cubeyard.emulation.fabric.client, "ANSWER_SECS", 0.3)
    monkeypatch.setattr(cubeyard.emulation.fabric.fabrics, "ANSWER_SECS", 0.3)
    gone = threading.Event()
    with scripted(tmp_path / "a.sock") as first, scripted(tmp_path / "b.sock") as second:

        def answer(method: str, params: Json, real: Callable[[str, Json], Json] = second.answer) -> Json:
            if method == deaf_from or gone.is_set():
                second.silent_from = 0
                gone.set()
                time.sleep(3)
            return real(method, params)

        monkeypatch.setattr(second, "answer", answer)
        began = time.monotonic()
        with pytest.raises(FabricGoneError, match=r"^Host b: cubeyard-fabric"):
            run(tmp_path, engine, Kept())
        assert time.monotonic() - began < 3
    assert first.calls[-1][0] == "destroy", "the other hosts' servers are removed"


def test_a_host_is_named_once_however_deep_its_failure() -> None:
    def fail() -> None:
        raise ProblemError(500, "no-way", "It is gone.")

    hosts = [Host("east", Path("/nowhere")), Host("west", Path("/nowhere"))]
    with pytest.raises(ProblemError) as reported:
        on_every(hosts, lambda at: on_every([hosts[at]], lambda _: fail()))
    assert reported.value.detail == "Host east: It is gone."


def test_a_host_that_falls_silent_is_named(tmp_path: Path) -> None:
    hosts = Hosts.of(settings(tmp_path, "a", "b"), Place(tmp_path)).every
    beats: list[float] = []
    with scripted(tmp_path / "a.sock") as first, scripted(tmp_path / "b.sock") as second:
        for fabric in (first, second):
            fabric.network = {"links": [], "servers": []}
        second.silent_from = 5
        fabrics = Fabrics(hosts)
        with fabrics.stream(RUN) as stream, pytest.raises(FabricGoneError, match=r"Host b: .* sent nothing for 0.6 s"):
            for _ in stream.frames(0.6, lambda: beats.append(time.monotonic())):
                pass
        fabrics.close()
    assert max(later - before for before, later in pairwise(beats)) < 0.6, "it can be stopped meanwhile"


def test_a_reader_that_is_late_gets_one_tick_of_all_that_waited(tmp_path: Path) -> None:
    with scripted(tmp_path / "a.sock") as fabric:
        fabric.network = {"links": [], "servers": []}
        fabric.flows = [{}]
        fabric.even = True
        fabric.lost = {15, 16}
        fabrics = Fabrics([Host("", tmp_path / "a.sock")])
        with fabrics.stream(RUN) as stream:
            ticks = stream.frames(5.0, lambda: None)
            first = next(ticks)
            while fabric.told < 20:
                time.sleep(0.01)
            behind = next(ticks)
        fabrics.close()
    assert first["tick"] == 1
    assert behind["tick"] >= 19
    assert behind["missed"] == 2
    assert behind["flows"]["bytes"][0] == (behind["tick"] - 3) * first["flows"]["bytes"][0]


def test_another_hosts_clock_is_measured(tmp_path: Path) -> None:
    hosts = [Host("", tmp_path / "a.sock"), Host("b", tmp_path / "b.sock")]
    with scripted(tmp_path / "a.sock"), scripted(tmp_path / "b.sock") as ahead:
        ahead.ahead_nanos = 3_600_000_000_000
        fabrics = Fabrics(hosts)
        near, far = fabrics.offsets_nanos()
        fabrics.close()
    assert near == 0, "our own clock is the same"
    assert far == pytest.approx(ahead.ahead_nanos, abs=20_000_000)


def test_only_our_own_runs_are_reaped_on_hosts_that_others_use(tmp_path: Path) -> None:
    place = Place(tmp_path / "place")
    place.make()
    ours = settings(tmp_path, "a")
    owner = Hosts.of(ours, place).owner
    with scripted(tmp_path / "a.sock") as fabric:
        fabric.runs = [{"run": "ours0000", "owner": owner}, {"run": "theirs00", "owner": "another-machine"}]
        assert reap(ours, place) == ["ours0000"]
        assert [params["run"] for name, params in fabric.calls if name == "destroy"] == ["ours0000"]


def test_reaping_does_not_wait_for_a_host_that_answers_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cubeyard.emulation.deploy.reaper, "ANSWER_SECS", 0.3)
    place = Place(tmp_path / "place")
    place.make()
    two = settings(tmp_path, "a", "b")
    with scripted(tmp_path / "a.sock") as first, scripted(tmp_path / "b.sock") as second:
        first.runs = [{"run": "0" * 14, "owner": Hosts.of(two, place).owner}]
        monkeypatch.setattr(second, "answer", lambda _method, _params: time.sleep(3) or {})
        began = time.monotonic()
        assert reap(two, place) == [], "the silent host may have a part of the run"
        assert time.monotonic() - began < 2
    assert ("destroy", "0" * 14) in [(name, params.get("run")) for name, params in first.calls]


def test_a_connection_to_an_engine_notices_that_its_machine_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    way = {"base_url": "https://127.0.0.1:1", "tls": TLSConfig(verify=True)}
    monkeypatch.setattr(cubeyard.emulation.deploy.docker_engine, "context", lambda _: way)
    with closing(cubeyard.emulation.deploy.docker_engine.connect(60, "far")) as api:
        pools = api.get_adapter(api.base_url).poolmanager.connection_pool_kw
        assert (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 8000) in pools["socket_options"]


def test_hosts_without_a_server_are_left_out(engine: Engine, tmp_path: Path) -> None:
    network = question(engine).network
    many = [Host(f"h{i}", tmp_path, share=share) for i, share in enumerate((1.0, 0.001, 1.0))]
    spread = Spread.of(network, many)
    assert [host.name for host in spread.hosts] == ["h0", "h2"]
    alone = Spread.of(network, many[:1])
    assert "hosts" not in alone.for_fabric(network.for_fabric(RUN, 7, "kernel", {}), "me", 0)
    assert alone.document(network) == {"hosts": {"name": ["h0"], "of_server": [0] * len(network.servers)}}
    assert Spread.of(network, [Host("", tmp_path)]).document(network) == {}


def test_a_network_over_two_hosts_says_where_everything_is(engine: Engine, tmp_path: Path) -> None:
    network = question(engine, slice={"servers": ["11", "00", "01", "10"]}).network
    hosts = [Host("a", tmp_path, underlay="10.0.0.1"), Host("b", tmp_path, underlay="10.0.0.2", share=3.0)]
    spread = Spread.of(network, hosts)
    assert spread.several
    assert [spread.servers(network, host) for host in (0, 1)] == [{0: "00"}, {1: "01", 4: "10", 5: "11"}]
    assert spread.document(network) == {"hosts": {"name": ["a", "b"], "of_server": [0, 1, 1, 1]}}
    reported = network.for_fabric(RUN, 7, "kernel", {})
    assert spread.for_fabric(reported, "me", 1) == {
        **reported,
        "owner": "me",
        "servers": [{**server, "host": host} for server, host in zip(reported["servers"], (0, 1, 1, 1), strict=True)],
        "hosts": {"here": 1, "underlays": ["10.0.0.1", "10.0.0.2"], "first_vni": first_vni(RUN)},
    }
    alone = Spread.of(network, hosts[:1])
    assert alone.for_fabric(reported, "me", 0) == {**reported, "owner": "me"}
    assert (hosts[0].said("so"), Host("", tmp_path).said("so")) == ("Host a: so", "so")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nonsense", "CUBEYARD_HOSTS is 'nonsense'; it must be a JSON list of hosts"),
        ("/nowhere/hosts.json", "or the path of a file that holds one"),
        ('[{"name": "A b", "fabric": "/a.sock", "underlay": "10.0.0.1"}]', "hosts.0.name"),
        (
            '[{"name": "a", "fabric": "a.sock", "underlay": "10.0.0.1"}]',
            "must be tls://HOST:PORT, or an absolute path of at most 107 bytes",
        ),
        ('[{"name": "a", "fabric": "/a.sock", "underlay": "here"}]', "hosts.0.underlay"),
        (
            '[{"name": "a", "fabric": "tls://b:99999", "keys": "/k", "underlay": "10.0.0.1"}]',
            "no port from 1 to 65535; leave it out for 7117",
        ),
        ('[{"name": "a", "fabric": "tls://b", "underlay": "10.0.0.1"}]', "`keys` belongs to a `fabric` of tls://"),
        ('[{"name": "a", "fabric": "/a.sock", "keys": "/k", "underlay": "10.0.0.1"}]', "or a socket's path alone"),
        (
            '[{"name": "a", "fabric": "/a.sock", "underlay": "10.0.0.1"}, {"name": "b", "fabric": "/a.sock", "underlay": "10.0.0.2"}]',
            "hosts.1.fabric is /a.sock, as another host's; give each host one of its own",
        ),
    ],
)
def test_hosts_that_cannot_be_are_refused_by_the_field(monkeypatch: pytest.MonkeyPatch, text: str, said: str) -> None:
    monkeypatch.setenv("CUBEYARD_HOSTS", text)
    with pytest.raises(ValidationError) as refused:
        Settings()
    assert said in str(refused.value)


def test_hosts_are_read_from_a_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hosts.json").write_text(
        '[{"name": "a", "fabric": "/a.sock", "underlay": "10.0.0.1", "docker": "far"}]'
    )
    monkeypatch.setenv("CUBEYARD_HOSTS", str(tmp_path / "hosts.json"))
    (host,) = Hosts.of(Settings(), Place(tmp_path)).every
    assert (host.name, host.docker, host.underlay, host.share) == ("a", "far", "10.0.0.1", 1.0)


def test_an_unknown_docker_context_is_named(engine: Engine) -> None:
    from cubeyard.emulation.deploy.docker_engine import DockerGoneError, engine_version

    with pytest.raises(DockerGoneError, match="there is no Docker context nowhere-7; `docker context ls` lists them"):
        engine_version(1, "nowhere-7")


def test_each_host_is_looked_at(tmp_path: Path) -> None:
    with scripted(tmp_path / "a.sock") as fabric:
        fabric.probed = {
            "underlay_mtu": 9100,
            "reasons": {},
            "namespaces": True,
            "bridges": True,
            "htb": True,
        }
        machine = probe(settings(tmp_path, "a", "b"))
        assert [params["hosts"]["here"] for name, params in fabric.calls if name == "probe"] == [0]
    near, far = machine.hosts
    assert (near.name, near.ready, near.underlay_mtu, near.cores) == ("a", True, 9100, 2)
    assert (far.name, far.ready, far.cores) == ("b", False, 0)
    assert "does not answer" in far.reason
    assert not machine.ready
    assert machine.max_servers == 0, "a run needs both"
    (lacking,) = (capability for capability in machine.capabilities if capability.name == "fabric")
    assert lacking.reason.startswith(f"a: Runs, version {binding_build()}.; b: cubeyard-fabric does not answer")


def test_a_fabric_of_another_build_is_refused_by_its_host(engine: Engine, tmp_path: Path) -> None:
    message = f"cubeyard-fabric is build 0.1.0+0123, this program {binding_build()}: update cubeyard-fabric on host b."
    with scripted(tmp_path / "a.sock") as first, scripted(tmp_path / "b.sock") as second:
        second.build = "0.1.0+0123"
        for fabric in (first, second):
            fabric.probed = {"namespaces": True, "bridges": True, "htb": True}
        with pytest.raises(ProblemError) as refused:
            run(tmp_path, engine, Kept())
        assert (refused.value.status, refused.value.detail) == (409, f"Host b: {message}")
        assert not any(name == "prepare" for fabric in (first, second) for name, _ in fabric.calls)
        near, far = probe(settings(tmp_path, "a", "b")).hosts
    assert (near.ready, far.ready, far.reason) == (True, False, message)


def test_two_hosts_take_twice_the_servers(engine: Engine) -> None:
    network = question(engine).network
    many = replace(network, servers={i: f"{i}" for i in range(300)})
    with pytest.raises(ProblemError, match="300 servers; at most 256 run as containers"):
        refuse_oversize(many, Emulation())
    refuse_oversize(many, Emulation(), hosts=2)


def test_a_server_is_inspected_on_its_own_host(engine: Engine, tmp_path: Path) -> None:
    hosts = Hosts.of(settings(tmp_path, "a", "b"), Place(tmp_path))
    with scripted(tmp_path / "a.sock") as first, scripted(tmp_path / "b.sock") as second:
        second.fails = {"inspect"}
        with pytest.raises(ProblemError, match=r"Server 20 does not answer: Host b: inspect is not possible now"):
            inspect(hosts, question(engine).network, RUN, "20")
    assert first.calls == []
    assert second.calls == [("inspect", {"run": RUN, "server": 8})]


def test_a_fault_that_one_host_refuses_is_recovered_on_the_others(tmp_path: Path) -> None:
    with scripted(tmp_path / "a.sock") as first, scripted(tmp_path / "b.sock") as second:
        second.fails = {"inject", "recover"}
        fabrics = Fabrics(Hosts.of(settings(tmp_path, "a", "b"), Place(tmp_path)).every)
        with pytest.raises(FabricError, match="Host b: inject is not possible now"):
            fabrics.inject(RUN, {"id": "f1", "kind": "link-delay"})
        fabrics.close()
        assert first.faults == {}
        assert [name for name, _ in first.calls] == ["inject", "recover"]
