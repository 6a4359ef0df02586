"""Standard output that is full or closed, terminals without a width, and escape codes."""

from __future__ import annotations

import io
import json
import logging
import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
import structlog
import typer

from cubeyard.cli import common, emulate, output, service
from cubeyard.cli.capture import ended_by
from cubeyard.kit import logs
from tests.cli.test_emulate import reported
from tests.processes import PROGRAM, command, environment

TOP = Path(__file__).resolve().parents[3]
ASKED = ("paths", "--spec", '{"family":"bcube","n":2,"k":1}', "00", "11")


def shell(line: str, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """`sh -c LINE`, in which `"$@"` is the program with its question."""
    words = ["sh", "-c", line, "sh", *PROGRAM, *ASKED]
    return subprocess.run(words, env=environment(home, **more), capture_output=True, text=True, cwd=home, check=False)


@pytest.mark.parametrize(
    ("line", "why"), [('"$@" > /dev/full', "No space left on device"), ('"$@" >&-', "it is closed")]
)
def test_an_output_that_cannot_be_written_is_one_sentence(tmp_path: Path, line: str, why: str) -> None:
    done = shell(line, tmp_path)
    assert done.stderr == f"error: Standard output cannot be written: {why}.\n"
    assert done.returncode == 1


def test_a_terminal_without_a_width_gets_text_all_the_same(tmp_path: Path) -> None:
    done = shell('COLUMNS=0 LINES=0 "$@"', tmp_path)
    assert (done.returncode, done.stdout) == (0, command(tmp_path, *ASKED, text=True).stdout)
    assert "00" in done.stdout


@contextmanager
def full_output(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Standard output has no room; the working folder has."""
    monkeypatch.chdir(folder)
    with Path("/dev/full").open("wb", buffering=0) as full:
        text = io.TextIOWrapper(io.BufferedWriter(output.RawOutput(full.fileno())))
        monkeypatch.setattr(sys, "stdout", text)
        yield
        text.flush()  # as at exit: nothing fails again


def test_a_measured_report_is_kept_where_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with full_output(tmp_path, monkeypatch), pytest.raises(typer.Exit), output.kept("report.json", lambda: b"{}"):
        print("a report")
    assert (tmp_path / "report.json").read_bytes() == b"{}"
    assert f"No space left on device. The report is in {tmp_path}/report.json." in capsys.readouterr().err


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("command", ["emulate", "service run"])
def test_a_command_keeps_its_measured_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, as_json: bool
) -> None:
    document = reported(run="r1", events=[])
    trial = {"lost": {}, "delivered": 1, "answers": 1}
    monkeypatch.setattr(emulate, "run_session", lambda *_, **_more: document)
    monkeypatch.setattr(service, "_trial", lambda *_: (trial, 0.1))
    monkeypatch.setattr(service, "print_trial", lambda *_: None)
    monkeypatch.setattr(service, "on_packets", lambda *_: document)
    work, what, kept = {
        "emulate": (emulate.emulate, '{"family":"bcube","n":2,"k":1}', document),
        "service run": (service.service_run, "cache.py", {"trial": trial, "run": document}),
    }[command]
    with full_output(tmp_path, monkeypatch), pytest.raises(typer.Exit) as ended:
        work(what, as_json=as_json)
    assert ended.value.exit_code == 1
    assert json.loads((tmp_path / "cubeyard-run-r1.json").read_bytes()) == kept


def test_a_character_that_the_encoding_lacks_is_printed_as_its_number() -> None:
    words = [sys.executable, "-c", "from cubeyard.cli import output; output.prepare(); print('–'); output.finish()"]
    done = subprocess.run(words, env={**os.environ, "PYTHONIOENCODING": "latin-1"}, capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"\\u2013\n", b"")


def test_a_report_is_kept_if_the_file_of_an_option_has_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(typer.Exit), output.kept("report.json", lambda: b"{}"):
        output.save(Path("/dev/full"), "--junit", b"<testsuite/>")
    assert (tmp_path / "report.json").exists()
    assert "--junit cannot be written: No space left on device: /dev/full." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("is_terminal", "no_color", "colours"), [(True, "", True), (True, "1", False), (False, "", False)]
)
def test_logs_have_colours_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, no_color: str, colours: bool
) -> None:
    before = logging.getLogger().handlers[:]
    text = io.StringIO()
    monkeypatch.setattr(text, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stderr", text)
    monkeypatch.setenv("NO_COLOR", no_color)
    try:
        logs.configure("warning", "console")
        structlog.get_logger("test").warning("something", of="a run")
    finally:
        logging.getLogger().handlers[:] = before
    assert ("\x1b" in text.getvalue()) is colours


def printed(words: Sequence[str | Path], terminal: bool, **more: str) -> str:
    """The text of a program on both outputs, on a terminal or in a file."""
    main, other = pty.openpty() if terminal else os.pipe()
    variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "GITHUB_ACTIONS")}
    with subprocess.Popen(words, env={**variables, "TERM": "xterm", **more}, stdout=other, stderr=other) as process:
        os.close(other)
        text = b""
        with suppress(OSError):  # the end of a terminal
            while part := os.read(main, 65_536):
                text += part
        os.close(main)
    assert process.returncode in (0, 2)
    return text.decode()


CALL = "import sys; sys.path.insert(0, sys.argv[1]); import runner; runner.say('hello')"
PROGRAMS = {
    "help": [*PROGRAM, "paths", "--help"],
    "usage error": [*PROGRAM, "paths", "--nothing"],
    "bin/env.sh": ["bash", "-c", '. "$1" && say hello', "bash", TOP / "bin/env.sh"],
    "bin/stages": [sys.executable, "-c", CALL, TOP / "bin/stages"],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_escape_codes_go_to_a_terminal_alone_and_there_only_if_wanted(name: str) -> None:
    words = PROGRAMS[name]
    assert "\x1b" in printed(words, True)
    for terminal, more in ((True, "NO_COLOR"), (False, "GITHUB_ACTIONS")):
        text = printed(words, terminal, **{more: "1"})
        assert text.strip()
        assert "\x1b" not in text, more


def test_progress_without_a_terminal_is_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(common, "LINE_SECS", 0.0)
    with common.progress("Searching") as reported:
        reported(1_500, 3_000)
    assert capsys.readouterr().err == "Searching: 1,500 of 3,000 (50%)\n"


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("bytes", "Ended at the limit of 4,194,304 bytes: --max-bytes sets another one."),
        ("secs", "Ended at the limit of 10 s: --seconds sets another one."),
        ("interface-down", "The link went down, its server was turned off, or the run ended."),
    ],
)
def test_a_capture_says_what_ended_it(end: str, words: str) -> None:
    assert ended_by(SimpleNamespace(end=end, max_bytes=4 * 2**20, max_secs=10.0)) == words
