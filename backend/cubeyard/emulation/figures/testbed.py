"""BCube's testbed on this machine: sixteen servers, ten times slower links, a hundredth of the
data. `[bcube §7.5]`

Time runs ten times as fast as in the testbed, so BSR searches better paths every second instead of
every ten. Results are scaled to the testbed: rates times ten, seconds times ten.
"""

from __future__ import annotations

from typing import Any

from cubeyard.emulation.figures.lab import Trial

Json = dict[str, Any]

BCUBE: Json = {"family": "bcube", "n": 4, "k": 1}
TREE: Json = {"family": "tree", "edge_ports": 4, "root_ports": 4, "servers": 16}
MTU = 9000
"""MTU of all experiments of §7.5."""
LINK_BITS_PER_SEC = 100e6
PAPER_LINK_BITS_PER_SEC = 1e9
SCALE = PAPER_LINK_BITS_PER_SEC / LINK_BITS_PER_SEC
DATA_SCALE = 100
"""The data is scaled down more than the rate, so that time runs faster."""
TIME_SCALE = DATA_SCALE / SCALE
GB = 2**30
TIMERS: Json = {"adapt_secs": 10.0 / TIME_SCALE}
SLACK = 3.0
"""A transfer is given up after this multiple of its expected duration."""
LINKS_CHOICE = (
    "links of 100 Mb/s for the testbed's 1 Gb/s and a hundredth of its data, so that time runs ten times as fast; rates and "
    "seconds are told times ten. BSR looks for better paths every second for the same reason"
)
TREE_CHOICE = "the tree is bridges alone on the same shaped links: its servers forward nothing and have no BCube header"


def transfer(
    name: str,
    spec: Json,
    workload: Json,
    gigabytes: float,
    expect_secs: float,
    brevity: float,
    **emulation: Any,
) -> Trial:
    """A trial in which every flow sends this many of the testbed's gigabytes, until all data has
    arrived. `expect_secs` is in the testbed's time."""
    expected = expect_secs / TIME_SCALE * brevity
    settings: Json = {
        "flow_bytes": round(gigabytes * GB / DATA_SCALE * brevity),
        "seconds": max(SLACK * expected, 5.0),
        "settle_secs": 0.0,
        "calibrate_secs": 0.5,
        "mtu": MTU,
        **({"timers": TIMERS} if spec["family"] == "bcube" else {}),
        **emulation,
    }
    return Trial(name, spec, workload, LINK_BITS_PER_SEC, settings, expect_secs=expected)


def all_to_all(name: str, spec: Json, brevity: float, gigabytes: float = 10.0) -> Trial:
    """A trial in which each server sends this much data, in equal parts to each of the fifteen
    others."""
    expect_secs = (114.0 if spec["family"] == "bcube" else 332.0) * gigabytes / 10.0
    return transfer(name, spec, {"kind": "all-to-all"}, gigabytes / 15, expect_secs, brevity)


def paper_gbps(bits_per_sec: float) -> float:
    """A rate in Gb/s, scaled to the testbed's links."""
    return bits_per_sec * SCALE / 1e9


def paper_secs(secs: float, brevity: float) -> float:
    """A duration in seconds, scaled to the testbed's rates and data."""
    return secs * TIME_SCALE / brevity
