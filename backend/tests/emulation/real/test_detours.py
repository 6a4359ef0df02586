"""Detours around a hot rack with real packets: they begin, carry more than load-aware balancing
over the rack's own ToRs, visit the relays listed in their headers, and end when the load ends.
`[subways §6]`

The scheduler's rules, and the messages that it rejects, are tested with the fabric
(`emulator/crates/fabric/tests/balance.rs`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from cubeyard.engine import Engine

from .test_balance import Network, Run, measured
from .test_routers import RUN, Left, description

Json = dict[str, Any]

SPEC = {
    "family": "subways", "type": 1, "p": 2, "q": 4, "l": 6, "clusters": 1, "loops_per_cluster": 2, "aggs_per_cluster": 2,
    "uplink_gbps": 5,
}  # fmt: skip
"""The servers of a rack together have twice the rate of its ToRs' uplinks."""
HOT = 2
SERVERS_OF_RACK = 2
SOURCE = HOT * SERVERS_OF_RACK
RELAY = (HOT + 1) * SERVERS_OF_RACK
SECOND_RELAY = (HOT + 2) * SERVERS_OF_RACK
FAR = range(12, 24)
FLOWS = 48
FLOW_BYTES = 2_000_000
"""Size of a flow, so that all flows together last some seconds."""
MEASURED = (2.5, 4.0)
ENDED_SECS = (9.0, 20.0)
CAPTURE = """
import json, socket
raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x86DD))
raw.settimeout(5)
seen = set()
for _ in range(200):
    packet, (_, _, way, *_) = raw.recvfrom(2048)
    if packet[6] != 43 or way == socket.PACKET_OUTGOING:
        continue
    inner, units, kind, left, last = packet[40:45]
    segments = [packet[48 + 16 * i : 64 + 16 * i].hex() for i in range(last + 1)]
    behind = packet[40 + 8 * (units + 1) :]
    ends = [".".join(map(str, behind[at : at + 4])) for at in (12, 16)]
    seen.add(json.dumps([packet[24:40].hex(), kind, left, segments, inner, *ends]))
print("[" + ",".join(seen) + "]")
"""


class Loop(Network):
    """A loop whose racks can have detours."""

    def __init__(self, engine: Engine, balance: str) -> None:
        self.described = description(engine, SPEC, balance)
        self.described["settings"] = {"rebind_secs": 0.5}
        links = self.described["links"]
        servers = len(self.described["servers"])
        tors = self.tors = sorted({link["b"][0] for link in links if link["a"][0] < servers})
        self.tor_uplinks = {tor: [i for i, link in enumerate(links) if link["a"][0] == tor] for tor in tors}


def inside(node: int | str, *words: str) -> str:
    """Runs a command in a node's namespace, and returns its output. A server is given by its id, a
    switch by `sw` and its id."""
    command = ["ip", "netns", "exec", f"cy-{RUN[:8]}-{node}", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def routes(node: int | str) -> tuple[list[str], list[str]]:
    """Next hops that encapsulate packets, and the routes by which a node forwards encapsulated
    ones."""
    hops = [line for line in inside(node, "ip", "nexthop").splitlines() if "encap" in line]
    return hops, inside(node, "ip", "-6", "route").splitlines()


def ways(run: Run, tor: int, direction: str) -> list[list[Any]]:
    """A ToR's detours for the hot rack in one direction: ToRs and relaying racks."""
    rows = run.section(tor, "detours")
    return [[row["tors"], row["relays"]] for row in rows if (row["rack"], row["direction"]) == (HOT, direction)]


def events(run: Run, what: str, direction: str) -> list[Json]:
    """The reported events of the hot rack's detours in one direction. Its traffic can make other
    racks hot too; their events are left out."""
    all_cells = [event["cells"] for event in run.events if event.get("what") == what]
    matches = [{cell["name"]: cell["value"] for cell in cells} for cells in all_cells]
    return [cells for cells in matches if (cells["rack"], cells["direction"]) == (HOT, direction)]


def goodput(flows: list[int]) -> float:
    return 8 * sum(flows) / (MEASURED[1] - MEASURED[0])


def hot_flows(inward: bool = False) -> list[Json]:
    """Flows from every server of the hot rack to servers of the other loop, or in the other
    direction."""
    ends = [(SOURCE + i % SERVERS_OF_RACK, FAR[i % len(FAR)]) for i in range(FLOWS)]
    return [
        {"id": i, "source": source, "destination": to, "proto": "tcp", "bytes": FLOW_BYTES}
        for i, (source, to) in enumerate([(b, a) for a, b in ends] if inward else ends)
    ]


def segment(tor: int, relay: int, to: int) -> str:
    return f"fd637962{tor:08x}{relay:08x}{to:08x}"


def exit_segment(tor: int) -> str:
    return f"fd637962{tor:08x}{'f' * 16}"


def arrival_segment(tor: int, server: int) -> str:
    return f"fd637962{tor:08x}{server:08x}{'f' * 8}"


def test_a_hot_racks_traffic_goes_around_it_until_it_cools_down(engine: Engine, nothing_left: Left) -> None:
    by_load = measured(Loop(engine, "lb"), hot_flows(), lambda run: goodput(run.tor_loads(*MEASURED)[1]))
    network = Loop(engine, "detour")
    tors = network.tors

    def work(run: Run) -> None:
        first = routes(SOURCE), routes(RELAY)
        assert first[0][0] == [], "no detour before there is load"
        by_detour = goodput(run.tor_loads(*MEASURED)[1])
        assert by_detour > 1.3 * by_load, (by_detour, by_load)
        reported = ways(run, tors[0], "from the rack")
        assert [[tors[1], tors[0]], "1"] in reported, reported
        assert [[tors[2], tors[3]], "3"] in reported, reported
        assert max(len(path) for path, _ in reported) == 3, "two relays at most"
        (cells,) = events(run, "detours-begun", "from the rack")
        assert cells["ways"] == len(cells["tors"])
        assert [tors[1], tors[0]] in [way["servers"] for way in cells["tors"]]
        through = [row["relays"] for row in run.section(SOURCE, "groups") if row["relays"]]
        assert [RELAY, tors[3]] in through, through
        captured = json.loads(inside(RELAY, sys.executable, "-c", CAPTURE))
        assert captured, "packets on detours pass the relay"
        for to, kind, left, segments, inner, source, destination in captured:
            assert (kind, inner) == (4, 4), "a segment routing header around an IPv4 packet"
            second = [segment(tors[3], SECOND_RELAY, tors[4])]
            assert segments in ([exit_segment(tors[3])], [exit_segment(tors[4]), *second]), "the last comes first"
            # The relay has already written the next segment into this packet.
            assert (left, to) in (
                (len(segments), segment(tors[2], RELAY, tors[3])),
                (len(segments) - 1, segments[-1]),
            )
            assert source == f"10.0.0.{SOURCE + 1}"
            assert int(destination.rsplit(".", 1)[1]) - 1 in FAR
        now, latest = ENDED_SECS
        while run.section(tors[0], "detours") and now < latest:
            run.carried(now, now := now + 0.5)
        assert now < latest, "the load has ended, the detours have not"
        run.carried(now, now + 1)
        assert len(events(run, "detours-ended", "from the rack")) == 1
        assert (routes(SOURCE), routes(RELAY)) == first, "nothing is left of them"

    measured(network, hot_flows(), work)


@pytest.mark.long
def test_traffic_to_a_hot_rack_comes_down_elsewhere_until_it_cools_down(engine: Engine, nothing_left: Left) -> None:
    """The switches above encapsulate packets, relays forward them towards the rack, and the
    destination removes the outer header."""
    flows = hot_flows(inward=True)
    by_load = measured(Loop(engine, "lb"), flows, lambda run: goodput(run.tor_loads(*MEASURED)[1]))
    network = Loop(engine, "detour")
    tors = network.tors
    links = network.described["links"]
    above = links[network.tor_uplinks[tors[3]][0]]["b"][0]

    def work(run: Run) -> None:
        first = routes(f"sw{above}"), routes(RELAY)
        assert first[0][0] == [], "no detour before there is load"
        by_detour = goodput(run.tor_loads(*MEASURED)[1])
        assert by_detour > 1.3 * by_load, (by_detour, by_load)
        reported = ways(run, tors[0], "to the rack")
        assert [[tors[1], tors[0]], "1"] in reported, reported
        assert [[tors[2], tors[3]], "3"] in reported, reported
        assert max(len(path) for path, _ in reported) == 3, "two relays at most"
        assert len(events(run, "detours-begun", "to the rack")) == 1
        through = [row["relays"] for row in run.section(above, "groups") if row["relays"]]
        assert [RELAY, tors[2]] in through, through
        captured = json.loads(inside(RELAY, sys.executable, "-c", CAPTURE))
        assert captured, "packets on detours pass the relay"
        arrival = arrival_segment(tors[2], SOURCE)
        for to, kind, left, segments, inner, source, destination in captured:
            assert (kind, inner) == (4, 4), "a segment routing header around an IPv4 packet"
            # The list is in reverse order: this is the second of the two relays of the longer path.
            assert segments in ([arrival], [arrival, segment(tors[3], RELAY, tors[2])])
            assert (left, to) in ((1, segment(tors[3], RELAY, tors[2])), (0, arrival))
            assert int(source.rsplit(".", 1)[1]) - 1 in FAR
            assert destination == f"10.0.0.{SOURCE + 1}"
        now, latest = ENDED_SECS
        while run.section(tors[0], "detours") and now < latest:
            run.carried(now, now := now + 0.5)
        assert now < latest, "the load has ended, the detours have not"
        run.carried(now, now + 1)
        assert len(events(run, "detours-ended", "to the rack")) == 1
        assert (routes(f"sw{above}"), routes(RELAY)) == first, "nothing is left of them"

    measured(network, flows, work)
