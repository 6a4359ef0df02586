"""Mistakes at the command line and files that cannot be written: one sentence that names the
fix."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cubeyard.cli.command import app
from cubeyard.cli.reference import man
from cubeyard.cli.subcommands import SUBCOMMANDS
from cubeyard.kit.whole_file import whole_file
from tests.processes import PROGRAM, command, environment

SMALL = '{"family":"bcube","n":2,"k":1}'
PLAN = ("--spec", SMALL)


def run(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return command(home, *arguments, text=True, **more)


def test_a_misspelt_command_is_guessed(tmp_path: Path) -> None:
    done = run(tmp_path, "simulat")
    assert (done.returncode, "Did you mean 'simulate'" in done.stderr) == (2, True)


def test_shells_complete_commands(tmp_path: Path) -> None:
    assert "_CUBEYARD_COMPLETE" in run(tmp_path, "completion", "bash").stdout
    given = environment(tmp_path, _CUBEYARD_COMPLETE="complete_bash", COMP_WORDS="cubeyard simul", COMP_CWORD="1")
    code = "import sys; sys.argv[0] = 'cubeyard'; from cubeyard.cli import main; main()"
    done = subprocess.run([PROGRAM[0], "-c", code], env=given, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["simulate"]


def test_the_man_page_has_every_command_and_no_cut_summary(capfd: pytest.CaptureFixture[str]) -> None:
    man()
    page = capfd.readouterr().out
    plain = page.replace("\\fB", "").replace("\\fR", "")
    group: Any = get_command(app)
    for name, (_, summary) in SUBCOMMANDS.items():
        assert f'.SH "cubeyard {name}"'.replace("-", "\\-") in page
        below = getattr(group.get_command(None, name), "commands", {})
        for item, text in {name: summary, **{key: one.help.partition("\n\n")[0] for key, one in below.items()}}.items():
            line = f".TP\n.B {item}\n\\&{text}\n".replace("`", "").replace("-", "\\-").replace('"', "\\(dq")
            assert line in plain, item
    assert ".B \\-\\-spec" in page
    assert "a hypothesis about the baseline; 130 interrupted: with" in page  # no line break of the source
    assert re.search(r"\w\.\.\.$", page, re.MULTILINE) is None
    if groff := shutil.which("groff"):
        done = subprocess.run([groff, "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        assert "cubeyard" in done.stdout


def test_formats_are_listed_for_programs(tmp_path: Path) -> None:
    rows = json.loads(run(tmp_path, "formats", "--json").stdout)
    assert {"name": "xlsx", "extension": "xlsx"}.items() <= next(row for row in rows if row["name"] == "xlsx").items()


@pytest.mark.parametrize(
    ("arguments", "token", "message"),
    [
        (("--url", "http://127.0.0.1:9", "--token", "--dry-run"), "x", "--token has no value: --dry-run is an option"),
        (("--url", "netbox.example.org"), "x", "give the whole address, like https://"),
        (("--url", "http://127.0.0.1:9"), " ", "The token is empty. Set NETBOX_TOKEN"),
    ],
)
def test_a_netbox_without_address_or_token_is_refused(
    tmp_path: Path, arguments: tuple[str, ...], token: str, message: str
) -> None:
    done = run(tmp_path, "netbox", "sync", *PLAN, *arguments, NETBOX_TOKEN=token)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_netbox_that_refuses_connections_is_named_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    done = run(tmp_path, "netbox", "sync", *PLAN, "--url", f"http://127.0.0.1:{port}", "--token", "x")
    assert done.returncode == 1
    assert "cannot be reached: Connection refused" in done.stderr


@pytest.mark.parametrize(("target", "why"), [("no/x.csv", "No such file or directory"), (".", "Is a directory")])
def test_an_output_in_a_missing_folder_is_one_sentence(tmp_path: Path, target: str, why: str) -> None:
    done = run(tmp_path, "export", *PLAN, "-f", "csv", "-o", str(tmp_path / target))
    assert done.returncode == 1
    assert done.stderr.strip() == f"error: {why}: {tmp_path / target}"


def test_a_full_disk_is_one_sentence_and_a_device_stays_a_device(tmp_path: Path) -> None:
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"), whole_file(tmp_path / "full") as file:
        file.write(b"x" * 100_000)
    assert Path("/dev/full").is_char_device()
    os.mkfifo(pipe := tmp_path / "pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with whole_file(pipe) as file:
        file.write(b"whole")
    reader.join(10)
    assert (read, pipe.is_fifo()) == ([b"whole"], True)


def test_binary_output_is_refused_to_a_terminal(tmp_path: Path) -> None:
    main, other = pty.openpty()
    export = [*PROGRAM, "export", *PLAN, "-f", "xlsx"]
    done = subprocess.run(export, env=environment(tmp_path), stdout=other, stderr=subprocess.PIPE, check=False)
    for end in (main, other):
        os.close(end)
    assert done.returncode == 2
    assert b"Give --output FILE" in done.stderr
