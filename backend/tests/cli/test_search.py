"""`cubeyard search`: the interface for scripts, without a database."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.processes import NO_DATABASE, command


def cubeyard(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return command(home, "search", *arguments, text=True, **NO_DATABASE)


def test_a_search_gives_its_document_and_1_where_no_plan_is_left(tmp_path: Path) -> None:
    small = ("servers>=16", "--most-servers", "20", "--family", "bcube", "--family", "tree")
    done = cubeyard(tmp_path, *small, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert len(document["front"]) == 1
    cheapest = document["front"][0]["values"]["cost"]
    none = cubeyard(tmp_path, *small, f"cost<={cheapest - 1}")
    assert none.returncode == 1
    assert "No plan meets the constraints." in none.stdout
    assert "cost:" in none.stdout


def test_what_is_no_constraint_is_refused(tmp_path: Path) -> None:
    refused = cubeyard(tmp_path, "cheap please")
    assert refused.returncode == 2
    assert "is no constraint" in refused.stderr
