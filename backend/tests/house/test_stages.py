"""Stages of tests (`bin/stages.sh`): what a script of stages exits with, and what it leaves."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).resolve().parents[3] / "bin"
ENDED = "setsid true & STAGE_SESSION=$!; wait $!"
WORKS_ON = "setsid sleep 60 & STAGE_SESSION=$!; echo $!"


def run(tmp_path: Path, script: str) -> subprocess.CompletedProcess[str]:
    start = f"set -euo pipefail; source {BIN}/env.sh; source {BIN}/stages.sh; {script}"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    return subprocess.run(
        ["bash", "-c", start], env=environment, capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.parametrize("beside", ["", ENDED, WORKS_ON], ids=["nothing beside", "beside, ended", "beside, works on"])
@pytest.mark.parametrize(
    ("stages", "status"),
    [
        ("stage Good true; stages_end", 0),
        ("stage Bad false; stage Good true; stages_end", 1),
        ("STAGES_GO_ON=true; stage Bad false; stage Good true; stages_end", 1),
        ("STAGES_GO_ON=true; side Good true; side Bad false; side_by_side; stages_end", 1),
    ],
)
def test_only_a_failed_stage_fails_the_script(tmp_path: Path, beside: str, stages: str, status: int) -> None:
    ended = run(tmp_path, f"{beside}\n{stages}")
    assert ended.returncode == status, ended.stderr
    assert list(tmp_path.iterdir()) == [], "its folder goes"


def test_what_works_beside_the_stages_ends_with_them(tmp_path: Path) -> None:
    leader = int(run(tmp_path, f"{WORKS_ON}\nexec >/dev/null; stage Good true").stdout)
    assert not Path(f"/proc/{leader}").exists() or "zombie" in Path(f"/proc/{leader}/status").read_text()
