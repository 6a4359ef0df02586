"""`cubeyard asbuilt`: exit status 0 if all cables match, 1 if any differs, 2 for unreadable
input."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cubeyard.asbuilt.names import PlanNames
from cubeyard.asbuilt.schemas import AsBuilt
from cubeyard.cli.command import app
from cubeyard.engine import Engine
from cubeyard.plans.building import build
from cubeyard.plans.view import PlanView
from tests.asbuilt.lists import csv_of, encoded, reports, rows_of, shortened
from tests.conftest import SMALL

SPEC = json.dumps(SMALL)


def run(*arguments: object, stdin: bytes = b"") -> Any:
    return CliRunner().invoke(app, ["asbuilt", *map(str, arguments), "--spec", SPEC], input=stdin)


@pytest.fixture(scope="module")
def names(engine: Engine) -> PlanNames:
    return PlanNames(PlanView.of(build(engine, SMALL)))


def test_all_in_order_exits_with_0(tmp_path: Path, names: PlanNames) -> None:
    (tmp_path / "floor.csv").write_bytes(csv_of(rows_of(names.planned())))
    done = run(tmp_path / "floor.csv")
    assert done.exit_code == 0, done.output
    assert "32 cables planned, 32 found, 32 with their length" in done.stdout
    assert "All that the list covers is as planned." in done.stdout


def test_a_difference_exits_with_1_in_each_form(tmp_path: Path, names: PlanNames) -> None:
    rows = rows_of(names.planned())
    rows[0][3], rows[1][3] = rows[1][3], rows[0][3]
    data = csv_of(rows[:-1])
    (tmp_path / "floor.csv").write_bytes(data)
    reported = run(tmp_path / "floor.csv")
    assert reported.exit_code == 1
    message = " ".join(reported.stdout.split())
    assert "4 steps, 6 plug operations, 1 new cable" in message
    assert "new cables" not in message
    document = AsBuilt.model_validate_json(run(tmp_path / "floor.csv", "--json").stdout)
    assert (document.counts.swapped, document.counts.missing) == (2, 1)
    listed = run("-", "--csv", stdin=data)
    assert listed.exit_code == 1
    table = list(csv.DictReader(io.StringIO(listed.stdout)))
    assert [row["text"] for row in table] == [step.text for step in document.work.steps]
    assert [row["action"] for row in table] == ["Unplug one end", "Move one end", "Plug in", "Put in"]


def test_several_files_of_lldpctl_are_named_after_their_devices(tmp_path: Path, names: PlanNames) -> None:
    files: list[Path] = []
    for device, output in reports(names.planned()).items():
        files.append(tmp_path / f"{device}.json")
        files[-1].write_bytes(encoded(shortened(output)))
    done = run(*files, "--json")
    assert done.exit_code == 0, done.output
    document = AsBuilt.model_validate_json(done.stdout)
    assert (document.counts.in_order, document.list.reporters) == (32, 24)
    item = AsBuilt.model_validate_json(run("-", "--host", "h00", "--json", stdin=files[0].read_bytes()).stdout)
    assert item.counts.not_covered == 30


@pytest.mark.parametrize(
    ("name", "data", "options", "message"),
    [
        ("a.csv", b"a,b\r\n", (), "No row has the columns"),
        (
            "a.csv",
            b"a_device,a_port,b_device,b_port\r\nh00,,s0-0,P0\r\n",
            (),
            "Line 2, column a_port: The cell is empty.",
        ),
        ("a.json", b"{", (), "Line 1, column 2: The file is not JSON"),
        ("a.json", b'{"lldp": {}}', ("--json", "--csv"), "--json or --csv, not both"),
        ("none.csv", None, (), "cannot be read"),
    ],
)
def test_what_cannot_be_read_exits_with_2(
    tmp_path: Path, name: str, data: bytes | None, options: tuple[str, ...], message: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    done = run(tmp_path / name, *options)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


def test_files_that_do_not_go_together_exit_with_2(tmp_path: Path, names: PlanNames) -> None:
    (tmp_path / "floor.csv").write_bytes(csv_of(rows_of(names.planned())))
    (tmp_path / "h00.json").write_bytes(b'{"lldp": {}}')
    both = (tmp_path / "h00.json", tmp_path / "floor.csv")
    assert "floor.csv is not the output of lldpctl" in " ".join(run(*both).output.split())
    assert run(*both).exit_code == 2
    assert run(*both, "--host", "h00").exit_code == 2
