"""A hostile program in a container with access to a server's chip only: its attempts are refused,
other servers continue, and the node survives with limited use of the machine.
`[serverswitch §3.3.2]`"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cubeyard.chip.serverswitch import ServerSwitch
from tests.deployment.engine import Docker

from .images import image_of
from .test_kernel_chip import pids_of, place_of
from .test_live import API, Left, Live, home

pytestmark = pytest.mark.long

__all__ = ["home"]

HERE = Path(__file__).parent
LIBRARY = HERE.parents[3] / "emulator" / "crates" / "serverswitch" / "c"
NAME = "cubeyard-test-hostile"
EPERM = 1
REFUSED, HUNG_UP = 129, -1
MOST_CPU = 0.5
"""Maximum CPU share of a core for the node during a flood. Programs get a tenth; reading their
messages and disconnecting them is extra."""


@pytest.fixture(scope="module")
def hostile(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Builds the hostile image and returns its name."""
    folder = tmp_path_factory.mktemp("hostile")
    program = folder / "hostile"
    sources = (HERE / "hostile_chip.c", LIBRARY / "serverswitch.c")
    subprocess.run(["cc", "-O1", f"-I{LIBRARY}", "-o", str(program), *map(str, sources)], check=True)
    yield image_of(docker, folder, str(program), name=NAME, command=[str(program)])
    docker.run("rmi", "--force", NAME)


def cpu_secs(pids: list[int]) -> float:
    ticks = 0
    for pid in pids:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(words[11]) + int(words[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def check_what_it_said(output: str) -> None:
    lines = output.splitlines()
    assert [line for line in lines if line.startswith("file")] == ["file chip.sock"]
    assert {"interfaces 0", "fabric -1", f"packet-socket {EPERM}"} <= set(lines)
    wanted = {
        "beyond-128": "within B0 to B127",
        "past-the-table": "0 to 2047",
        "anothers-port": "one of 0, 1, 4",
        "too-long": "14 to 1514 bytes",
        "too-short": "14 to 1514 bytes",
        "programs-entry": "a call",
    }
    for what, limit in wanted.items():
        (line,) = (line for line in lines if line.startswith(f"{what} "))
        assert line.startswith(f"{what} -1 "), line
        assert limit in line, line
    assert f"answer-as-request {REFUSED} {REFUSED} {REFUSED}" in lines
    assert f"no-kind {REFUSED} {REFUSED}" in lines
    assert {f"length-of-4-gb {HUNG_UP}", f"length-of-0 {HUNG_UP}"} <= set(lines)
    assert "packets 30 beyond 0" in lines, lines


@pytest.mark.parametrize("dataplane", ["serverswitch", "serverswitch-software"])
def test_a_hostile_program_in_a_container_harms_nobody_else(
    home: Path, docker: Docker, hostile: str, nothing_left: Left, dataplane: str
) -> None:
    with Live(home) as live:
        run = live.start(dataplane=dataplane, seconds=600, mtu=1500)
        live.flowing(run)
        nodes = pids_of(run)
        place = place_of(home, run, "00")
        mount = f"type=bind,src={place},dst=/run/cubeyard/chip.sock"
        words = ("run", "--detach", "--network", "none", "--cap-drop", "ALL", "--user", "65534:65534", "--read-only")
        container = docker.run(*words, "--mount", mount, hostile).stdout.strip()

        def said() -> str:
            return docker.run("logs", container).stdout

        def moved(server: str) -> int:
            return int(live.inspect(run, server)[1]["counts"]["own-bytes"])

        live.wait("the flood", lambda: re.search("^flooding$", said(), re.MULTILINE), secs=60)
        before, began, others = cpu_secs(nodes), time.monotonic(), moved("01")
        live.wait("its end", lambda: re.search("^flooded", said(), re.MULTILINE), secs=60)
        share = (cpu_secs(nodes) - before) / (time.monotonic() - began)
        assert moved("01") > others + 20_000, "the other servers continue"
        assert docker.run("wait", container).stdout.strip() == "0"
        print(re.findall("^flooded.*", said(), re.MULTILINE))
        check_what_it_said(said())
        docker.run("rm", "--force", container)
        assert share < MOST_CPU, f"{share:.2f} of a core"
        print(f"{dataplane}: the node takes {share:.2f} of a core while it is flooded")

        assert pids_of(run) == nodes, "nobody had to start it again"
        for server in ("01", "10", "11"):
            with ServerSwitch.connect(place_of(home, run, server)) as other:
                assert "TO_CPU" not in other.tables(), "another server's tables are as they were"
        with ServerSwitch.connect(place) as chip:
            assert "TCAM, 2000" in chip.tables()
            chip.ClearLookupTable("TCAM", 2000)
        sent = moved("00")
        live.wait("packets by the server's own program again", lambda: moved("00") > sent + 20_000)
        live.call("POST", f"{API}/runs/{run}/cancel")
        live.ended(run)
