"""A server that cannot start says why in a sentence, and with its exit status."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from cubeyard.cli.common import settings_of
from tests.processes import command


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("DATABASE_URL", "mysql://me:secret@host/x", "DATABASE_URL: The URL must begin with postgresql://"),
        ("DATABASE_URL", "postgresql://me:secret@host:port/x", "DATABASE_URL: The URL has no valid host and port"),
        ("CUBEYARD_PORT", "99999999", 'CUBEYARD_PORT: "99999999" is more than 65535.'),
        ("CUBEYARD_TERMINALS", "perhaps", 'CUBEYARD_TERMINALS: "perhaps" is not true or false.'),
        ("CUBEYARD_SECRETS_DIR", "/nowhere", "error: The folder CUBEYARD_SECRETS_DIR cannot be read: No such file"),
    ],
)
def test_a_wrong_setting_is_named_without_its_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str, value: str, words: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(typer.Exit) as ended:
        settings_of()
    printed = capsys.readouterr().err
    assert ended.value.exit_code == 2
    assert words in printed
    assert "secret" not in printed
    assert "pydantic" not in printed


def test_the_port_is_that_of_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUBEYARD_PORT", raising=False)
    readme = (Path(__file__).resolve().parents[3] / "README.md").read_text()
    assert set(re.findall(r"127\.0\.0\.1:(\d+)", readme)) == {str(settings_of().port)}


@pytest.mark.parametrize("kind", ["home is a file", pytest.param("no database", marks=pytest.mark.long)])
def test_a_start_that_fails_is_one_sentence(tmp_path: Path, kind: str) -> None:
    home = tmp_path / "home"
    home.touch()
    more = {"DATABASE_URL": "postgresql://nobody@127.0.0.1:1/x"} if kind == "no database" else {}
    done = command(home, "run", "--port", "0", text=True, CUBEYARD_LOG_LEVEL="warning", **more)
    assert done.returncode == 1
    assert done.stderr.startswith("error: The database cannot be used.")
    assert done.stderr.count("\n") == 1, done.stderr
    assert ("Connection refused" if more else "Not a directory. Set CUBEYARD_HOME") in done.stderr
