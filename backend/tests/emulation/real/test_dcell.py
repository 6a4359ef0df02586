"""DCell with real packets: all pairs over kernel and user-space forwarding, and the paper's
failures. `[dcell §7.3]`"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cubeyard.emulation.fabric.client import FabricClient
from cubeyard.engine import Engine

from .test_example import fabric

Json = dict[str, Any]
Left = Callable[[], dict[str, set[str]]]

DCELL = {"family": "dcell", "n": 4, "k": 1}
RUN = "abcdef0123456780"
RATE_BITS_PER_SEC = 1e7


def at(cell: int, server: int) -> int:
    return cell * 4 + server


def description(engine: Engine, forwarding: str) -> Json:
    network = engine.emulation_network(DCELL)
    return {
        "run": RUN,
        "spec": DCELL,
        "protocol": "dcell",
        "forwarding": forwarding,
        "rate_bits_per_sec": RATE_BITS_PER_SEC,
        "mtu": 1500,
        "servers": [{"id": server["id"], "name": server["name"]} for server in network["servers"]],
        "switches": [{"id": switch["id"], "name": switch["name"]} for switch in network["switches"]],
        "links": [{name: link[name] for name in ("id", "a", "b", "level")} for link in network["links"]],
    }


def cable(network: Json, first: int, other: int) -> int:
    """The link between two servers."""
    return next(link["id"] for link in network["links"] if {link["a"][0], link["b"][0]} == {first, other})


@contextmanager
def running(engine: Engine, forwarding: str, flows: list[Json]) -> Iterator[tuple[FabricClient, Json]]:
    network = description(engine, forwarding)
    with fabric() as client:
        client.call("prepare", run=RUN, network=network)
        client.call("wire", run=RUN, plain=True)
        client.call("workload", run=RUN, flows=flows)
        client.subscribe(RUN)
        client.call("start", run=RUN)
        yield client, network
        client.call("destroy", run=RUN)


@pytest.mark.long
@pytest.mark.parametrize("forwarding", ["kernel", "software"])
def test_every_server_reaches_every_other_by_tcp(engine: Engine, forwarding: str, nothing_left: Left) -> None:
    pairs = [(source, to) for source in range(20) for to in range(20) if source != to]
    flows = [{"id": i, "source": source, "destination": to, "proto": "tcp"} for i, (source, to) in enumerate(pairs)]
    carried = [0] * len(flows)
    drops: set[str] = set()
    with running(engine, forwarding, flows) as (client, _):
        for frame in client.frames(5.0):
            assert frame is not None, "the fabric is silent"
            carried = [total + now for total, now in zip(carried, frame["flows"]["bytes"], strict=True)]
            drops |= set(frame["drops"])
            if min(carried) > 0 or frame["at_secs"] > 20:
                break
        first = client.call("inspect", run=RUN, server=0)
    silent = [pair for pair, total in zip(pairs, carried, strict=True) if total == 0]
    assert silent == []
    assert drops <= {"other-host"}, "at most what a bridge floods before it has learnt where its ports lead"
    sections = {section["name"]: section for section in first["sections"]}
    assert len(sections["table"]["rows"]) == 19
    assert len(sections["link-state"]["rows"]) == 20, "link state within the DCell_1 reaches everybody"


def paths(events: list[Json], source: int) -> list[list[int]]:
    """The paths of a server's flows, in order; the paths of replies begin at the other end."""
    reported = [event["path"] for event in events if event["kind"] in ("path-selected", "path-switched")]
    ways = [path["servers"] if isinstance(path, dict) else path for path in reported]
    return [way for way in ways if way[0] == source]


@pytest.mark.parametrize("forwarding", ["kernel", pytest.param("software", marks=pytest.mark.long)])
def test_tcp_goes_around_a_pulled_cable_and_back_and_around_a_silent_server(
    engine: Engine, forwarding: str, nothing_left: Left
) -> None:
    flows = [{"id": 0, "source": at(0, 0), "destination": at(4, 3), "proto": "tcp"}]
    with running(engine, forwarding, flows) as (client, network):
        link = cable(network, at(0, 3), at(4, 0))
        pulled = {"id": "cable", "kind": "cable-pulled", "target": {"link": link}}
        silent = {"id": "server", "kind": "server-silent", "target": {"server": at(0, 3)}}
        steps = [(4.0, "inject", pulled), (8.0, "recover", "cable"), (12.0, "inject", silent)]
        ticks, events = watch(client, steps, until_secs=24.0)
    reported = paths(events, at(0, 0))
    original = [at(0, 0), at(0, 3), at(4, 0), at(4, 3)]
    around = [
        [at(0, 0), at(1, 0), at(1, 3), at(4, 1), at(4, 3)],
        [at(0, 0), at(0, 2), at(3, 0), at(3, 3), at(4, 3)],
    ]
    assert {way[-1] for way in reported} == {at(4, 3)}
    # Servers learn of a change one after the other, so a packet may take a third path for a moment.
    settled = [way for way in reported if way == original or way in around]
    assert settled[0] == settled[2] == original, reported
    assert settled[1] in around, reported
    assert reported[-1] in around, reported

    def mean(start: float, end: float) -> float:
        return sum(now for secs, now in ticks if start <= secs < end) * 8 / (end - start)

    before = mean(2.0, 4.0)
    assert before > 0.8 * RATE_BITS_PER_SEC
    assert mean(4.0, 5.0) > 0.5 * before, "rerouted locally"
    assert mean(6.0, 8.0) > 0.75 * before
    assert mean(10.0, 12.0) > 0.75 * before
    assert mean(13.0, 16.0) < 0.1 * before, "a silent server is only detected by its silence"
    assert mean(22.0, 24.0) > 0.7 * before, "TCP retransmits after a doubled timeout"
    died = [event for event in events if event["kind"] == "neighbour-dead" and event["cause"] == "silence"]
    assert {event["neighbour"] for event in died if event["server"] != at(0, 3)} == {at(0, 3)}


def watch(client: FabricClient, steps: list[tuple[float, str, Any]], until_secs: float) -> tuple[list[Any], list[Json]]:
    """Carries out steps at their times; returns the bytes of the first flow by time, and all
    events."""
    ticks, events = [], []
    for frame in client.frames(5.0):
        assert frame is not None, "the fabric is silent"
        ticks.append((frame["at_secs"], frame["flows"]["bytes"][0]))
        events += frame["events"]
        if steps and frame["at_secs"] >= steps[0][0]:
            _, call, fault = steps.pop(0)
            client.call(call, run=RUN, fault=fault)
        if frame["at_secs"] >= until_secs:
            break
    return ticks, events
