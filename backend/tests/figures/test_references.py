"""The results that come with the program: there is one for every computed figure, and it is what
the engine computes."""

from __future__ import annotations

from math import inf, isfinite
from pathlib import Path

import orjson
import pytest
from _pytest.mark.structures import ParameterSet

from cubeyard.emulation.figures.catalog import FIGURES
from cubeyard.engine import Engine, Json
from cubeyard.figures.references import FOLDER, Reference, reference_of, result_hash, write_reference
from cubeyard.settings import Settings

QUICK_SECS = 1.0
"""Figures that take longer are computed again in the long run only."""


def reference(figure_id: str) -> Reference:
    result = reference_of(figure_id)
    assert result is not None, f"bin/figure-references {figure_id}"
    return result


@pytest.fixture(scope="module")
def module_engine() -> Engine:
    return Engine(Settings())


def computed() -> list[ParameterSet]:
    matches = [reference(path.stem) for path in sorted(FOLDER.glob("*.jsonl"))]
    return [
        pytest.param(item, id=item.document["id"], marks=[pytest.mark.long] if item.secs >= QUICK_SECS else [])
        for item in matches
        if item.machine is None
    ]


def test_every_computed_figure_has_one_of_this_engine(module_engine: Engine) -> None:
    for figure in module_engine.figures:
        result = reference(figure["id"])
        assert result.document["id"] == figure["id"]
        assert result.document["title"] == figure["title"]
        assert result.document["provenance"]["engine_version"] == module_engine.version
        assert result.secs > 0


def test_every_measured_figure_has_one_of_a_named_machine() -> None:
    for figure in FIGURES:
        result = reference(figure.id)
        assert (result.document["id"], result.document["title"]) == (figure.id, figure.title)
        assert result.machine is not None
        assert result.document["provenance"]["fidelity"]["verdict"] != "host-limited", figure.id
        assert result.agrees(result.document) is None, "what is measured again is never the same to the last digit"


@pytest.mark.parametrize("found", computed())
def test_the_engine_computes_the_reference_to_the_last_digit(module_engine: Engine, found: Reference) -> None:
    figure_id = found.document["id"]
    document = orjson.loads(module_engine.figure_json(figure_id, None))
    assert document["rows"] == found.document["rows"], f"bin/figure-references {figure_id}"
    assert found.agrees(document) is True


def verdict_of(row: Json) -> str:
    """As the figures' pages explain verdicts: the print itself, else the band; a bound is held or
    not."""
    low, high = (-inf if row["low"] is None else row["low"]), (inf if row["high"] is None else row["high"])
    slack = 1e-9 * max(abs(row["paper"]), 1.0)
    inside = low - slack <= row["ours"] <= high + slack
    if inf in (-low, high):
        return "bound holds" if inside else "differs"
    return "within band" if inside else "differs"


def test_the_rows_of_every_computed_figure_stand_by_their_verdicts(module_engine: Engine) -> None:
    """By the catalogue, so that no figure is left out: those too that take too long to be computed
    here."""
    for figure in module_engine.figures:
        document = reference(figure["id"]).document
        assert document["provenance"]["source"].startswith("["), figure["id"]
        assert document["choices"] or all(row["verdict"] == "matches" for row in document["rows"]), figure["id"]
        assert len({row["name"] for row in document["rows"]}) == len(document["rows"]) > 0, figure["id"]
        for row in document["rows"]:
            where = f"{figure['id']}: {row}"
            assert all(map(isfinite, (row["ours"], row["paper"]))), where
            assert row["band"], where
            if row["verdict"] == "matches":
                assert verdict_of(row) == "within band", where
            else:
                assert verdict_of(row) == row["verdict"], where
                assert row["reason"], where
        for line in document["series"]:
            assert len(line["x"]) == len(line["y"]) > 0, f"{figure['id']}: {line['name']}"
            assert all(map(isfinite, line["x"] + line["y"])), f"{figure['id']}: {line['name']}"


def test_other_numbers_do_not_agree_and_other_seeds_say_nothing() -> None:
    result = reference("bcube-table2")
    changed = orjson.loads(orjson.dumps(result.document))
    changed["rows"][0]["ours"] += 1e-9
    assert result.agrees(changed) is False
    changed["provenance"]["seeds"] = [1, 2]
    assert result.agrees(changed) is None
    assert result_hash({**result.document, "title": "Another"}) == result.hash


def test_a_reference_is_written_as_it_is_kept(tmp_path: Path) -> None:
    """A row or a line of a figure is a line of the file: a changed number changes one line."""
    for path in sorted(FOLDER.glob("*.jsonl")):
        kept = reference(path.stem)
        again = write_reference(tmp_path, kept.document, kept.secs)
        assert again.read_bytes() == path.read_bytes()
        figure = kept.document
        assert len(path.read_bytes().splitlines()) == 1 + len(figure["rows"]) + len(figure.get("series", []))
