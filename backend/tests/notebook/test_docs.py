"""The tutorial is correct: every example in it is run, and the reference is complete."""

from __future__ import annotations

import doctest
import re
import runpy
from pathlib import Path

import pytest

from cubeyard import notebook

ROOT = Path(__file__).resolve().parents[3]
TUTORIAL = ROOT / "docs/notebooks.md"


def test_the_tutorials_examples_print_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # A fence would count as output.
    text = re.sub(r"^```.*$", "", TUTORIAL.read_text(), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, TUTORIAL.name, str(TUTORIAL), 0)
    assert len(examples.examples) > 40
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=said.append)
    assert result.failed == 0, "".join(said)


def test_the_documentation_is_written_with_every_public_name_and_command(tmp_path: Path) -> None:
    runpy.run_path(str(ROOT / "bin/make-docs.py"))["write"](tmp_path)
    reference = (tmp_path / "cubeyard/notebook.html").read_text()
    for name in notebook.__all__:
        assert f'id="{name}"' in reference
    assert "cubeyard predict" in (tmp_path / "commands.html").read_text()
    assert "Researcher" in (tmp_path / "index.html").read_text()
