"""JSON in files and options: the same rules as for bodies of requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.cli.common import read_json, read_spec, read_text
from cubeyard.engine import PlanRejectedError, canonical
from cubeyard.kit.json_text import MAX_INTEGER, loads
from cubeyard.notebook.errors import CubeyardError
from cubeyard.notebook.topology import read_document

SPEC = {"family": "bcube", "n": 4, "k": 1}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_spec_is_read_in_every_encoding_of_unicode(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "spec.json"
    file.write_bytes(json.dumps(SPEC).encode(encoding))
    assert read_spec(str(file)) == read_document(file) == SPEC
    assert read_text(str(file)) == json.dumps(SPEC)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"family":"bcube","n":4,"n":8,"k":1}', '"n" occurs twice in one object'),
        ('{"family":"bcube","site":{"a":1,"a":1}}', '"a" occurs twice'),
        ('{"family":"bcube","n":NaN}', "NaN is no number of JSON"),
        ('{"family":', "is not JSON"),
        ('{"family":"bcube","n":9007199254740992}', "9007199254740992 is beyond 9007199254740991"),
        ('{"family":"bcube","n":1e400}', "1e400 is beyond 1.8e308"),
        ('{"family":"bcube","site":[-1e3,-' + "9" * 5000 + "]}", "is beyond 9007199254740991"),
    ],
)
def test_a_key_twice_is_refused_wherever_json_is_read(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "spec.json"
    file.write_text(text)
    for read in (lambda: read_spec(text), lambda: read_spec(str(file)), lambda: read_json(text, "--workload")):
        with pytest.raises(typer.Exit):
            read()
        assert says in " ".join(capsys.readouterr().err.split())
    with pytest.raises(CubeyardError, match="is not JSON"):
        read_document(file)


@given(number=st.integers() | st.integers(2**53 - 3, 2**53 + 3) | st.integers(-(2**53) - 3, 3 - 2**53))
def test_a_whole_number_is_read_as_every_other_program_reads_it_or_refused(number: int) -> None:
    exact = abs(number) <= MAX_INTEGER
    if exact:
        assert loads(f'{{"n": {number}}}') == {"n": number}
        assert json.loads(canonical({"n": number})) == {"n": float(number)}
    else:
        with pytest.raises(json.JSONDecodeError, match="beyond"):
            loads(f'{{"n": {number}}}')
        with pytest.raises(PlanRejectedError) as refused:
            canonical({"n": number})
        assert str(MAX_INTEGER) in str(refused.value.findings)


def test_bytes_that_are_no_text_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "spec.json"
    file.write_bytes(b'{"family":"bc\xffube"}')
    with pytest.raises(typer.Exit):
        read_spec(str(file))
    assert "is not JSON" in " ".join(capsys.readouterr().err.split())
