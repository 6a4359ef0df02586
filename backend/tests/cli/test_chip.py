"""`cubeyard chip`: check, show, diff, bcube and trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cubeyard.cli.command import app

PROGRAMS = Path(__file__).parents[3] / "emulator/crates/chip/programs"
ROUTES = str(PROGRAMS / "ipv4-routes.chip")
FIG6 = str(PROGRAMS / "bcube-fig6.chip")
TO_ROUTES = "ffffffffffff0200000000aa0800450000140000400009115dd00a0000010a020007"


def cubeyard(*words: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, ["chip", *words], input=given)


def test_a_program_is_checked_and_shown_in_its_canonical_form(tmp_path: Path) -> None:
    checked = cubeyard("check", FIG6)
    assert checked.exit_code == 0, checked.output
    assert "bcm56338" in checked.stdout
    shown = cubeyard("show", FIG6)
    generated = cubeyard("bcube", "4,1", "00")
    assert shown.stdout == generated.stdout
    as_json = tmp_path / "fig6.json"
    as_json.write_text(cubeyard("show", FIG6, "--json").stdout)
    assert cubeyard("diff", FIG6, str(as_json)).exit_code == 0
    assert cubeyard("show", "-", given=shown.stdout).stdout == shown.stdout


def test_a_shared_program_is_checked_for_every_server_and_shown_for_one(tmp_path: Path) -> None:
    shared = tmp_path / "shared.chip"
    shared.write_text(cubeyard("bcube", "4,1").stdout)
    assert cubeyard("check", str(shared), "--bcube", "4,1", "--kernel").exit_code == 0
    shown = cubeyard("show", str(shared), "--bcube", "4,1", "--server", "13")
    assert shown.stdout == cubeyard("bcube", "4,1", "13").stdout
    alone = cubeyard("check", str(shared))
    assert (alone.exit_code, "nhas is not set" in alone.stderr) == (2, True)
    shared.write_text("SetVIfTable(0, dstmac[0x00], NULL, 0);")
    for_one = cubeyard("show", str(shared), "--bcube", "4,1", "--server", "01")
    assert for_one.stdout.startswith("SetVIfTable(0, ")
    wrong = cubeyard("check", str(shared), "--bcube", "4,1")
    assert (wrong.exit_code, f"{shared}:1:16: dstmac is asked for 0x00" in wrong.stderr) == (2, True)
    assert cubeyard("show", FIG6, "--server", "00").exit_code == 2
    assert cubeyard("check", FIG6, "--kernel").exit_code == 2


def test_a_difference_is_printed_and_exits_with_1() -> None:
    changed = Path(ROUTES).read_text() + "SetVIfTable(9, NULL, NULL, 3);\n"
    done = cubeyard("diff", ROUTES, "-", given=changed)
    assert (done.exit_code, done.stdout) == (1, "+ SetVIfTable(9, NULL, NULL, 3);\n")
    reported = json.loads(cubeyard("diff", ROUTES, "-", "--json", given=changed).stdout)
    assert reported == [{"what": "VIF[9]", "after": "SetVIfTable(9, NULL, NULL, 3);"}]


def test_a_packet_is_stepped_through(tmp_path: Path) -> None:
    done = cubeyard("trace", ROUTES, "--packet", TO_ROUTES, "--port", "1")
    assert done.exit_code == 0, done.output
    assert "LPM_IPV4[2] decides: {act=REDIRECT_VIF, vif=2, dscp=46}." in done.stdout
    assert "Sent out of port 2 (external)." in done.stdout
    (tmp_path / "packet").write_text(TO_ROUTES)
    trace = json.loads(cubeyard("trace", ROUTES, "--packet", f"@{tmp_path}/packet", "--json").stdout)
    assert trace["sent"][0]["port"] == 2
    lost = cubeyard("trace", ROUTES, "--packet", "00")
    assert (lost.exit_code, "Discarded" in lost.stdout) == (1, True)


def test_a_packet_is_followed_through_a_bcube() -> None:
    done = cubeyard("trace", "--bcube", "4,1", "--from", "00", "--to", "13", "--json")
    assert done.exit_code == 0, done.output
    walk = json.loads(done.stdout)
    assert walk["arrived"]
    assert [visit["name"] for visit in walk["visits"]] == walk["path"] == walk["paths"][0] == ["00", "10", "13"]
    other = cubeyard("trace", "--bcube", "4,1", "--from", "00", "--to", "13", "--path", "1")
    assert "Path 1 of 2: 00 03 13" in other.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "/nowhere"), "cannot be read"),
        (("trace", ROUTES), "Give a program and --packet"),
        (("trace", ROUTES, "--packet", "0g"), "Character 2"),
        (("trace", "--bcube", "4"), "--bcube takes --from and --to"),
        (("trace", "--bcube", "4x1", "--from", "0", "--to", "1"), "is not a BCube"),
        (("trace", "--bcube", "4,4", "--from", "0", "--to", "1"), "at most 3"),
        (("trace", "--bcube", "4,1", "--from", "00", "--to", "99"), "a server, 00 to 33"),
        (("trace", "--bcube", "4,1", "--from", "00", "--to", "00"), "another server"),
        (("trace", "--bcube", "4,1", "--from", "00", "--to", "11", "--path", "2"), "0 to 1"),
        (("bcube", "65,1", "00"), "at most 64"),
    ],
)
def test_what_cannot_be_is_refused_in_words(words: tuple[str, ...], said: str) -> None:
    done = cubeyard(*words)
    assert done.exit_code == 2
    assert said in done.output.replace("\n", " ")


def test_a_mistake_has_its_place_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "wrong.chip"
    file.write_text("SetUDLK(1, (B22));\nSetUDLK(3, (B23));\n")
    done = cubeyard("check", str(file))
    assert done.exit_code == 2
    assert f"{file}:2:9:" in done.output


def test_portland_goes_around_a_core_that_fails() -> None:
    reported = json.loads(cubeyard("portland", "--port", "2", "--json").stdout)
    (attempt,) = reported["attempts"]
    path = [visit["switch"] for visit in attempt["visits"] if visit["kind"] == "packet"]
    assert (len(path), attempt["arrived"], reported["pairs"]) == (5, True, 240)
    done = cubeyard("portland", "--port", "2", "--fail", path[2])
    assert done.exit_code == 0, done.output
    assert "PMAC 0000" in done.stdout
    assert (done.stdout.count("Arrived."), done.stdout.count("Lost.")) == (2, 1)
    assert "240 of 240 pairs" in done.stdout
    traced = cubeyard("portland", "--trace")
    assert "TCAM" in traced.stdout
    alone = cubeyard("portland", "--fail", f"{path[0]}/{path[1]}", "--fail", path[0])
    assert (alone.exit_code, "Lost." in alone.stdout) == (1, True)
    for words in (("--from", "9"), ("--fail", "nothing"), ("--fail", "000/311"), ("--to", "000")):
        wrong = cubeyard("portland", *words)
        assert (wrong.exit_code, "error:" in wrong.stderr) == (2, True), wrong.output
