"""The worked example of a protocol with real packets: TCP over a DCell's switches and cables,
forwarded by the nodes."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cubeyard.emulation.fabric.client import FabricClient, FabricGoneError
from cubeyard.emulation.fabric.process import FABRIC, NODE, program
from cubeyard.engine import Engine
from cubeyard.settings import Settings

Json = dict[str, Any]
Left = Callable[[], dict[str, set[str]]]

DCELL = {"family": "dcell", "n": 4, "k": 1}
RUN = "abcdef0123456789"
RATE_BITS_PER_SEC = 1e7
MEASURED_SECS = 3.0


@contextmanager
def fabric() -> Iterator[FabricClient]:
    """A fabric with a separate folder, and a connection to it. When it ends, it removes everything
    it has made."""
    binary, node = program(Settings(), FABRIC), program(Settings(), NODE)
    assert binary is not None
    with tempfile.TemporaryDirectory(prefix="cubeyard-example-") as home:
        socket = Path(home) / "socket"
        words = [binary, "serve", "--socket", socket, "--state", Path(home) / "state", "--node", node]
        with subprocess.Popen([str(word) for word in words]) as process:
            try:
                with connected(socket) as client:
                    yield client
            finally:
                process.terminate()


def connected(socket: Path) -> FabricClient:
    """Connects once the fabric listens."""
    for _ in range(200):
        try:
            return FabricClient(socket)
        except FabricGoneError:
            time.sleep(0.05)
    raise AssertionError("the fabric does not listen")


def description(engine: Engine) -> Json:
    """A DCell whose servers run the example protocol instead of their family's."""
    network = engine.emulation_network(DCELL)
    return {
        "run": RUN,
        "spec": DCELL,
        "protocol": "echo",
        "forwarding": "software",
        "rate_bits_per_sec": RATE_BITS_PER_SEC,
        "mtu": 1500,
        "servers": [{"id": server["id"], "name": server["name"]} for server in network["servers"]],
        "switches": [{"id": switch["id"], "name": switch["name"]} for switch in network["switches"]],
        "links": [{name: link[name] for name in ("id", "a", "b", "level")} for link in network["links"]],
    }


def test_a_protocol_of_one_folder_carries_tcp_between_all_servers_of_a_dcell(
    engine: Engine, nothing_left: Left
) -> None:
    network = description(engine)
    servers = [server["id"] for server in network["servers"]]
    assert len(servers) == 20
    # Each server sends to the one whose id is half the range away: through relays, over cables
    # between servers.
    flows = [{"id": i, "source": i, "destination": (i + 10) % 20, "proto": "tcp"} for i in servers]
    with fabric() as client:
        client.call("prepare", run=RUN, network=network)
        client.call("wire", run=RUN, plain=True)
        client.call("workload", run=RUN, flows=flows)
        client.subscribe(RUN)
        client.call("start", run=RUN)
        carried = [0] * len(flows)
        relayed, at_secs = 0, 0.0
        for frame in client.frames(2.0):
            assert frame is not None, "the fabric is silent"
            carried = [total + now for total, now in zip(carried, frame["flows"]["bytes"], strict=True)]
            relayed += sum(frame["servers"]["relayed"])
            at_secs = frame["at_secs"]
            if at_secs >= MEASURED_SECS:
                break
        first = client.call("inspect", run=RUN, server=0)
        client.call("destroy", run=RUN)
    rates = [total * 8 / at_secs for total in carried]
    assert min(rates) > 0.02 * RATE_BITS_PER_SEC, "every flow gets through"
    assert relayed > 0, "by relays"
    (section,) = first["sections"]
    assert section["name"] == "next-hops"
    assert len(section["rows"]) == 19
    assert set(first["counts"]) == {"own-bytes", "relayed-bytes"}, "nothing was dropped"
