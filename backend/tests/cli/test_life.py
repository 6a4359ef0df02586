"""`cubeyard life`: the interface for scripts, without a database."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.processes import NO_DATABASE, command

SPEC = '{"family":"bcube","n":4,"k":1}'


def cubeyard(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return command(home, "life", *arguments, text=True, **NO_DATABASE)


def test_a_life_gives_its_document_and_its_table(tmp_path: Path) -> None:
    request = ("--spec", SPEC, "--seeds", "10", "--visits", "6", "--spares", "server=2", "--rate", "disk=0.2")
    done = cubeyard(tmp_path, *request, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert [policy["policy"] for policy in document["policies"]] == [
        {},
        {"visit_months": 6.0},
        {"visit_months": 6.0, "spares": {"server": 2}},
    ]
    assert next(rate for rate in document["rates"] if rate["part"] == "disk")["basis"] == "set"
    table = cubeyard(tmp_path, *request).stdout
    assert "Sealed" in table
    assert "Servers after 5 years" in table
    assert "Modelled" in table


def test_what_cannot_be_simulated_is_refused(tmp_path: Path) -> None:
    for arguments, words in [
        (("--rate", "disk"), "is not a name and a number"),
        (("--spares", "server=2"), "give --visits"),
        (("--years", "99"), "at most 30"),
    ]:
        refused = cubeyard(tmp_path, "--spec", SPEC, *arguments)
        assert refused.returncode == 2, refused.stdout
        assert words in refused.stderr
