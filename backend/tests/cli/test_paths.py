"""`cubeyard paths`: the interface for scripts, without a database."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.processes import NO_DATABASE, command

SPEC = json.dumps({"family": "bcube", "n": 4, "k": 1})


def cubeyard(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return command(home, "paths", *arguments, "--spec", SPEC, text=True, **NO_DATABASE)


def test_paths_are_printed_the_shortest_first(tmp_path: Path) -> None:
    done = cubeyard(tmp_path, "00", "01")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == "1  2 links  00 – <0,0> – 01"
    assert second.startswith("2  6 links  00 – <1,0> – ")


def test_the_exit_status_says_that_no_path_is_left(tmp_path: Path) -> None:
    done = cubeyard(tmp_path, "00", "01", "--without", "00/<0,0>", "--without", "00/<1,0>", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "source": "00",
        "destination": "01",
        "without": ["00/<0,0>", "00/<1,0>"],
        "reason": "no-path",
        "paths": [],
    }


def test_a_wrong_name_is_explained(tmp_path: Path) -> None:
    done = cubeyard(tmp_path, "00", "44")
    assert done.returncode == 2
    assert "There is no server 44 in this plan." in done.stderr
    assert "Traceback" not in done.stderr
