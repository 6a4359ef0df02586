"""The tutorial is correct: every example in it is run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TUTORIAL = ROOT / "docs/tutorials/notebooks.md"


def test_the_tutorials_examples_print_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # A fence would count as output.
    text = re.sub(r"^```.*$", "", TUTORIAL.read_text(), flags=re.MULTILINE)
    examples = doctest.DocTestParser().get_doctest(text, {}, TUTORIAL.name, str(TUTORIAL), 0)
    assert len(examples.examples) > 40
    message: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=message.append)
    assert result.failed == 0, "".join(message)
