"""`cubeyard export` with options: they reach the file, and a wrong one is refused by its name, with
exit code 2."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from pypdf import PdfReader
from typer.testing import CliRunner

from cubeyard.cli.command import app

SMALL = '{"family":"dcell","n":4,"k":1}'


def test_options_reach_the_file(tmp_path: Path) -> None:
    target = tmp_path / "pack.pdf"
    words = ["export", "--spec", SMALL, "--format", "pdf", "--paper", "letter", "--first-label", "5", "-o", str(target)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    pages = PdfReader(io.BytesIO(target.read_bytes())).pages
    assert round(float(pages[0].mediabox.width)) == 612
    assert "begins at label 5" in pages[-1].extract_text()


@pytest.mark.parametrize(
    ("format", "option", "value"),
    [
        ("csv", "--paper", "letter"),
        ("pdf", "--paper", "a5"),
        ("pdf", "--first-label", "190"),
        ("pdf", "--codes", "link"),
    ],
)
def test_a_wrong_option_is_refused_by_its_name(tmp_path: Path, format: str, option: str, value: str) -> None:
    target = tmp_path / "file"
    done = CliRunner().invoke(app, ["export", "--spec", SMALL, "--format", format, option, value, "-o", str(target)])
    assert done.exit_code == 2
    assert option in done.output
    assert not target.exists()
