"""Users' programs in the chips of a live run: from its start, and committed while packets flow.
`[serverswitch §3.3.2, §5.1]`"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from cubeyard.engine import Engine
from cubeyard.settings import Settings
from tests.processes import PROGRAM, environment

from .test_live import API, TINY, Left, Live, home, rows

__all__ = ["home"]

BLACK_HOLE = """
SetUDLK(1, (B14));
SetLookupTable(TCAM, 7, 1, val, NULL, {act=DISCARD});
""".replace("val", '"45"')
"""A program that discards every packet of BCube."""


@pytest.mark.parametrize("dataplane", [pytest.param("serverswitch", marks=pytest.mark.long), "serverswitch-software"])
def test_a_program_decides_about_packets_from_its_commit_on(home: Path, nothing_left: Left, dataplane: str) -> None:
    paper = Engine(Settings()).chip_bcube(TINY)
    with Live(home) as server:
        run = server.start(dataplane=dataplane, chip_program=paper)
        server.flowing(run)

        def delivered() -> bool:
            """Whether flows have sent anything since the last call."""
            before = sent[0]
            sent[0] = server.inspect(run, "00")[1]["counts"]["own-bytes"]
            return sent[0] > before + 20_000

        sent = [0]
        server.wait("packets by the paper's program", delivered)

        status, done = server.call("POST", f"{API}/runs/{run}/chip-program", {"program": BLACK_HOLE})
        assert status == 200, done
        assert done["servers"] == 4
        assert server.call("GET", f"{API}/runs/{run}/chip-program")[1] == {"program": BLACK_HOLE}
        server.wait("no packet to come through", lambda: not delivered())
        if dataplane == "serverswitch":
            hits = rows(server.inspect(run, "00")[1], "chip-tcam")
            assert [(hit["index"], hit["action"]) for hit in hits] == [(7, "DISCARD")]

        file = home / "paper.chip"
        file.write_text(paper)
        words = ("chip", "commit", run, str(file))
        message = subprocess.run([*PROGRAM, *words], env=environment(home), capture_output=True, text=True, check=False)
        assert message.returncode == 0, message.stderr
        assert message.stdout.startswith("4 servers run it")
        server.wait("packets by the paper's program again", delivered)

        server.call("POST", f"{API}/runs/{run}/cancel")
        server.ended(run)
