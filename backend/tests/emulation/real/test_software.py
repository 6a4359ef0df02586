"""Servers that forward in user space, or by the tables of a chip: the same network and counters,
with one capability. `[serverswitch §5.1]`"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.deployment.engine import Docker

from .conftest import Command
from .inside import busy_servers, capabilities, wait_for

Left = Callable[[], dict[str, set[str]]]
SMALL = '{"family":"bcube","n":4,"k":1}'
TINY = '{"family":"bcube","n":2,"k":1}'
NET_RAW = 1 << 13
"""Bit of CAP_NET_RAW. `[linux/capability.h]`"""


@pytest.mark.long
@pytest.mark.parametrize("dataplane", ["software", "serverswitch-software", "serverswitch"])
def test_sixteen_servers_forward_by_other_dataplanes(emulate: Command, nothing_left: Left, dataplane: str) -> None:
    result = emulate.run(
        "--spec", SMALL, "--dataplane", dataplane, "--mode", "namespaces", "--workload", "permutation",
        "--link-rate", "5M", "--seconds", "4", "--settle", "1", "--calibrate", "0",
    )  # fmt: skip
    assert result["aggregate_goodput_bits_per_sec"] > 0.7 * result["ideal_bits_per_sec"]
    assert sum(server["relayed_bits_per_sec"] for server in result["per_server"]) > 5e6, "through relays, not past them"
    assert result["drops"] == {}


def test_a_container_that_forwards_holds_one_capability(emulate: Command, docker: Docker, nothing_left: Left) -> None:
    process = emulate.start(
        "--spec", TINY, "--dataplane", "software", "--workload", "permutation", "--link-rate", "5M", "--seconds", "2",
        "--settle", "0", "--calibrate", "0",
    )  # fmt: skip
    servers = wait_for(lambda: busy_servers(docker, 4))
    assert {capabilities(namespace) for _, namespace in servers} == {NET_RAW}
    emulate.finish(process)
