"""`cubeyard` on the command line: no database for planning, stable names, findings and exit
codes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from cubeyard.kit import schema
from tests.conftest import PAPER, SMALL, described
from tests.processes import NO_DATABASE, PROGRAM, command, environment


def test_plan_prints_what_scripts_rely_on_without_a_database(tmp_path: Path) -> None:
    done = command(tmp_path, "plan", "--spec", json.dumps(PAPER), "--catalog", "paper-2009", "--json", **NO_DATABASE)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert {key: summary["counts"][key] for key in ("servers", "switches", "links", "cables", "racks")} == {
        "servers": 2048,
        "switches": 1280,
        "links": 8192,
        "cables": 8192,
        "racks": 32,
    }
    assert summary["certificate"]["passed"] is True
    assert summary["certificate"]["checks"]
    assert {"switches", "nics", "servers", "cables", "total"} <= set(summary["cost_usd"])
    assert {"switches", "nics", "servers", "total"} <= set(summary["power_watts"])
    assert {"cable_metres", "longest_cable_metres", "findings", "plan_hash"} <= set(summary)
    assert summary["book"]["book"] == "paper-2009"
    assert not (tmp_path / "postgres").exists()


def test_specs_come_from_files_and_standard_input_too(tmp_path: Path) -> None:
    file = tmp_path / "spec.json"
    file.write_text(json.dumps({"topology": SMALL}))
    outputs = {
        command(tmp_path, "plan", "--json", "--spec", json.dumps(SMALL)).stdout,
        command(tmp_path, "plan", "--json", "--spec", str(file)).stdout,
        command(tmp_path, "plan", "--json", "--spec", "-", stdin=file.read_bytes()).stdout,
    }
    assert len(outputs) == 1
    assert json.loads(outputs.pop())["counts"]["servers"] == 16


def test_people_get_words(tmp_path: Path) -> None:
    done = command(tmp_path, "plan", "--spec", json.dumps(SMALL), COLUMNS="120")
    assert b"wiring certificate" in done.stdout
    assert b"\x1b[" not in done.stdout, "no colours into a pipe"


def test_limits_of_the_site_and_acceptances_are_printed(tmp_path: Path) -> None:
    done = command(tmp_path, "plan", "--spec", json.dumps(PAPER), "--catalog", "current-2026", COLUMNS="200")
    assert done.returncode == 0, done.stderr
    assert b"Container 1: 487.4 kW" in done.stdout
    assert b"limit 400.0 kW (catalog, assumed)" in done.stdout
    assert b'fix: {"site":{"containers":2}}' in done.stdout
    assert b'Accept 488.0 kW: {"site":{"power_limit_watts":488000.0}}' in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plan", "--spec", '{"family":"bcube","n":8,"k":99}'), "topology.k"),
        (("plan", "--spec", '{"family":"bcube","n":8,"k":3,"colour":"red"}'), "colour"),
        (("plan", "--spec", "{"), "not JSON"),
        (("plan", "--spec", "[1]"), "not an object"),
        (("plan", "--spec", "no/such/file"), "neither JSON nor a file"),
        (("plan", "--spec", '{"family":"dcell","n":6,"k":3}'), "3,263,442 servers"),
        (("plan", "--spec", '{"family":"bcube","n":4,"k":1}', "--catalog", "2031"), "paper-2009"),
        (("export", "--spec", '{"family":"bcube","n":4,"k":1}', "--format", "docx"), "xlsx"),
        (("topology", "--spec", '{"family":"moebius"}', "--edges"), "moebius"),
    ],
)
def test_what_is_impossible_exits_2_and_says_why(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = command(tmp_path, *arguments, COLUMNS="400")
    assert done.returncode == 2, done.stderr
    assert done.stdout == b""
    assert said in done.stderr.decode(), done.stderr.decode()
    assert b"Traceback" not in done.stderr


def test_topology_streams_one_line_a_link(tmp_path: Path) -> None:
    done = command(tmp_path, "topology", "--spec", json.dumps(SMALL), "--edges")
    lines = done.stdout.decode().splitlines()
    assert len(lines) == 32
    assert all(len(line.split(" ")) == 3 for line in lines)
    assert "00 <0,0> 0" in lines
    assert "31 <1,1> 1" in lines
    dcell = (
        command(tmp_path, "topology", "--spec", '{"family":"dcell","n":4,"k":1}', "--edges")
        .stdout.decode()
        .splitlines()
    )
    assert "[0,0] <0> 0" in dcell
    torus = (
        command(tmp_path, "topology", "--spec", '{"family":"torus3d","x":3,"y":3,"z":3}', "--edges")
        .stdout.decode()
        .splitlines()
    )
    assert len(torus) == 81
    assert "(0,0,0) (1,0,0) 0" in torus


def test_a_reader_that_leaves_early_is_no_error_worth_a_trace(tmp_path: Path) -> None:
    edges = [*PROGRAM, "topology", "--spec", '{"family":"torus3d","x":40,"y":40,"z":40}', "--edges"]
    process = subprocess.Popen(edges, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(tmp_path))
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().endswith(b" 0\n")
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait()


def test_export_writes_a_file_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "cables.csv"
    done = command(tmp_path, "export", "--spec", json.dumps(SMALL), "--format", "csv", "-o", str(target))
    assert done.returncode == 0, done.stderr
    assert len(target.read_text().splitlines()) >= 33
    to_stdout = command(tmp_path, "export", "--spec", json.dumps(SMALL), "--format", "csv")
    assert to_stdout.stdout == target.read_bytes()
    refused = command(
        tmp_path, "export", "--spec", '{"family":"bcube","n":1,"k":1}', "-f", "csv", "-o", str(tmp_path / "no.csv")
    )
    assert refused.returncode == 2
    assert {path.name for path in tmp_path.iterdir()} == {"cables.csv"}


def test_the_committed_api_description_is_the_program_s(tmp_path: Path) -> None:
    done = command(tmp_path, "openapi")
    assert json.loads(done.stdout) == described(), "run `cubeyard openapi -o frontend/src/api/openapi.json`"


def test_tokens_and_tables_from_the_command_line(tmp_path: Path, empty_url: str) -> None:
    here = {"DATABASE_URL": empty_url}
    for words in (("token", "list"), ("changes",), ("worker",), ("run", "--port", "0")):
        refused = command(tmp_path, *words, **here)
        assert refused.returncode == 2, words
        assert b"`cubeyard db upgrade`" in refused.stderr
        assert b"Traceback" not in refused.stderr
    assert command(tmp_path, "db", "upgrade", **here).returncode == 0
    made = command(tmp_path, "token", "create", "nightly", **here)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith(b"cby_")
    token_id = made.stderr.decode().split()[1]
    assert b"nightly" in command(tmp_path, "token", "list", **here).stdout
    assert command(tmp_path, "token", "revoke", token_id, **here).returncode == 0
    assert command(tmp_path, "token", "revoke", token_id, **here).returncode == 2
    assert schema.head().encode() in command(tmp_path, "db", "current", **here).stdout
    kept = command(tmp_path, "db", "downgrade", "base", **here)
    assert kept.returncode == 2
    assert b"--yes" in kept.stderr
    assert schema.head().encode() in command(tmp_path, "db", "current", **here).stdout
    assert command(tmp_path, "db", "downgrade", "base", "--yes", **here).stdout.strip() == b"empty"
    assert b"no revision 1999" in command(tmp_path, "db", "upgrade", "1999", **here).stderr


def test_a_database_that_is_not_there_is_said_in_words(tmp_path: Path) -> None:
    done = command(tmp_path, "db", "upgrade", **NO_DATABASE)
    assert done.returncode == 1
    assert b"database" in done.stderr
    assert b"Traceback" not in done.stderr
    wrong = command(tmp_path, "db", "upgrade", DATABASE_URL="mysql://x/y")
    assert wrong.returncode == 2
    assert b"postgresql" in wrong.stderr
