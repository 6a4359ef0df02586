"""The packet engine and ns-3 in one run: `NS3_PYTHON=... make test TEST=ns3`, with a Python that
has the wheel `ns3`.

The wheel contains a C++ compiler, half a gigabyte in total: it is not a dependency of the tests,
which are skipped with a reason without it.
`python3 -m venv /tmp/ns3 && /tmp/ns3/bin/pip install ns3==3.44.post0` makes such a Python.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from cubeyard.engine import Engine, Json

PYTHON = os.environ.get("CUBEYARD_TEST_NS3_PYTHON", "")
MTU, FRAMING = 1500, 2
"""ns-3's point-to-point links add a header of two bytes."""

pytestmark = pytest.mark.skipif(
    not PYTHON, reason="no ns-3: name a Python that has the wheel ns3 in NS3_PYTHON, and run make test TEST=ns3"
)


class Case(NamedTuple):
    name: str
    flows: int
    routers: int
    one_receiver: bool
    mbps: float
    delay_us: float
    queue_packets: int
    bytes: int
    rto_min_secs: float

    @property
    def starts_secs(self) -> list[float]:
        """10 ms apart on a dumbbell, all at once in an incast."""
        return [0.0 if self.one_receiver else 0.01 * flow for flow in range(self.flows)]

    @property
    def handshake_secs(self) -> float:
        """ns-3 opens a connection first: two packets of 40 bytes and framing, idle."""
        links = self.routers + 1
        return 2 * links * (self.delay_us * 1e-6 + (40 + FRAMING) * 8e-6 / self.mbps)


CASES = (
    Case("dumbbell of one flow", 1, 3, False, 100, 500, 40, 20_000_000, 0.2),
    Case("dumbbell of four flows", 4, 3, False, 100, 500, 40, 10_000_000, 0.2),
    Case("incast of 31, 200 ms", 31, 1, True, 1000, 25, 43, 32_768, 0.2),
    Case("incast of 31, 1 ms", 31, 1, True, 1000, 25, 43, 32_768, 0.001),
)


@pytest.fixture(scope="module")
def of_ns3() -> dict[str, list[float]]:
    request = json.dumps([{**case._asdict(), "starts_secs": case.starts_secs} for case in CASES])
    script = Path(__file__).with_name("run_in_ns3.py")
    done = subprocess.run(
        [PYTHON, str(script)], input=request, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    reported = json.loads(done.stdout.splitlines()[-1])
    secs = zip(CASES, reported, strict=True)
    return {case.name: [end - case.handshake_secs for end in ends] for case, ends in secs}


def simulated(engine: Engine, case: Case) -> Json:
    """The same flows over the same number of links: from a server to a switch, over switches, to a
    server."""
    if case.one_receiver:
        spec = {"family": "bcube", "n": case.flows + 1, "k": 0}
        pairs = [(f"{sender}", "0") for sender in range(1, case.flows + 1)]
    else:
        spec = {"family": "tree", "edge_ports": 4, "root_ports": 4, "servers": 8}
        pairs = [(f"0.{flow}", f"1.{flow}") for flow in range(case.flows)]
    flows = [
        [source, destination, case.bytes, start]
        for (source, destination), start in zip(pairs, case.starts_secs, strict=True)
    ]
    experiment = {
        "engine": "packet",
        "workload": {"kind": "listed", "flows": flows},
        "link_gbps": case.mbps / 1e3,
        "seeds": [7],
        "packet": {
            "rto_min_secs": case.rto_min_secs,
            "queue_bytes": case.queue_packets * (MTU + FRAMING),
            "framing_bytes": FRAMING,
            "hop_delay_secs": case.delay_us * 1e-6,
            "start_jitter_secs": 0,
            "flow_times": True,
        },
    }
    return orjson.loads(engine.predict_json(spec, experiment))


SPREAD = 0.1
"""The tolerance between goodputs, and between those of long flows and max-min rates. Measured
shares of the line rate, ours and ns-3's: one flow 0.859 and 0.910, four flows 0.918 and 0.928."""


def share_of_line(case: Case, secs: list[float]) -> float:
    """Goodput to the end of the last flow, over the line's rate."""
    last = max(end + start for end, start in zip(secs, case.starts_secs, strict=True))
    return case.flows * case.bytes * 8e-6 / last / case.mbps


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_both_say_the_same(engine: Engine, of_ns3: dict[str, list[float]], case: Case) -> None:
    theirs, ours = of_ns3[case.name], simulated(engine, case)
    times = ours["flow_times"]["completion_secs"]
    shares = [share_of_line(case, secs) for secs in (times, theirs)]
    print(
        f"{case.name}: the last flow after {max(times):.4f} s, of ns-3 {max(theirs):.4f} s; share of the line {shares}"
    )
    if not case.one_receiver:
        assert shares[0] == pytest.approx(shares[1], rel=SPREAD)
    elif case.rto_min_secs > 0.1:
        assert max(shares) < 0.3
    else:
        assert min(shares) > 0.5
