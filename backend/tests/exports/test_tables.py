"""The CSV tables against the plan, against each other, and against spreadsheets that run what they
read."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.exports.tables import PlanTables, slot_letter
from cubeyard.exports.text import cell, file_stem, plain, slug, xml
from cubeyard.plans.view import PlanView
from tests.conftest import examples, some
from tests.exports import plans

LABEL = re.compile(r"(?P<rack>R\d+)-(?P<unit>\d{2,})(?P<slot>[A-Z]*):(?P<port>\S+)")


def read(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def check_schedule(plan: PlanView, rows: list[dict[str, str]]) -> None:
    """Every cable once, with the plan's ends and readable, mirrored labels."""
    assert [row["cable"] for row in rows] == [f"C{i:05d}" for i in range(plan.cable_count)]
    devices = plan.scene["devices"]
    ends: Counter[tuple[str, str]] = Counter()
    labels: Counter[str] = Counter()
    for i, row in enumerate(rows):
        # A port's own name may have a slash: the ends are read by their ports.
        near, far = (
            [*row[f"label_{end}"].partition(f"{row[f'{side}_port']}/")] for end, side in (("near", "a"), ("far", "b"))
        )
        ends_of_label = (near[0] + row["a_port"], near[2])
        assert ends_of_label == (far[2], far[0] + row["b_port"])
        labels[row["label_near"]] += 1
        for side, label in zip("ab", ends_of_label, strict=True):
            index = int(plan.cables[f"{side}_device"][i])
            assert row[f"{side}_host_name"] == devices["host"][index]
            assert row[f"{side}_paper_name"].split(" ", 1)[1] == devices["name"][index]
            matched = LABEL.fullmatch(label)
            assert matched, label
            assert matched["rack"] == row[f"{side}_rack"] == plan.rack_names[devices["rack"][index]]
            assert int(matched["unit"]) == int(row[f"{side}_unit"]) == devices["unit"][index]
            assert matched["slot"] == row[f"{side}_slot"]
            assert matched["port"] == row[f"{side}_port"].lstrip("'")
            ends[row[f"{side}_host_name"], row[f"{side}_port"]] += 1
        assert float(row["length_metres"]) == plan.cables["length_mm"][i] / 1000
        assert (row["bundle"] == "") == (row["a_rack"] == row["b_rack"])
    assert set(ends.values()) <= {1}, "a port has two cables"
    assert set(labels.values()) <= {1}, "a label is on two cables"


def check_bill(rows: list[dict[str, str]], bill: list[dict[str, str]]) -> None:
    """The bill's cables are the schedule's, part by part, length by length, colour by colour."""
    scheduled = Counter((row["part_sku"], float(row["stock_metres"]), row["colour"]) for row in rows)
    billed: Counter[tuple[str, float, str]] = Counter()
    for line in bill:
        if line["category"] == "cable" and line["length_metres"]:
            billed[line["sku"], float(line["length_metres"]), line["colour"]] += int(line["quantity"])
    assert billed == scheduled


@pytest.mark.parametrize("name", some([*plans.SMALL, "paper", "priced"], 5))
def test_the_schedule_is_the_plan(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    check_schedule(plan(name), read(rendered("csv", name)))


@pytest.mark.parametrize("name", some(["dcell", "torus", "subways", "trunks", "fat-tree", "paper", "priced"], 4))
def test_the_bill_buys_what_the_schedule_lays(name: str, rendered: Callable[[str, str], bytes]) -> None:
    check_bill(read(rendered("csv", name)), read(rendered("bom-csv", name)))


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs())
def test_any_plan_prints_a_consistent_schedule_and_bill(engine: Engine, spec: dict[str, object]) -> None:
    plan = plans.compute(engine, spec, "current-2026")
    rows = read(b"".join(render("csv", plan)))
    check_schedule(plan, rows)
    check_bill(rows, read(b"".join(render("bom-csv", plan))))
    labels = read(b"".join(render("labels", plan)))
    assert len(labels) == 2 * plan.cable_count
    assert len({row["label"] for row in labels}) == len(labels)


def test_the_paper_container_is_the_papers(rendered: Callable[[str, str], bytes]) -> None:
    rows = read(rendered("csv", "paper"))
    assert len(rows) == 8192
    assert Counter(row["level"] for row in rows) == {"0": 2048, "1": 2048, "2": 2048, "3": 2048}
    assert {row["a_rack"] for row in rows} == {f"R{i:02d}" for i in range(32)}
    assert rows[0]["label_near"] == "R00-01A:eth0/R00-36A:P0"


def test_a_label_printer_gets_two_rows_a_cable(
    plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    rows = read(rendered("labels", "subways"))
    view = plan("subways")
    assert len(rows) == 2 * view.cable_count
    near, far = rows[0::2], rows[1::2]
    assert [row["label"] for row in near] == view.near_labels
    assert [row["label"] for row in far] == view.far_labels
    for row in rows:
        assert row["label"].startswith(f"{row['rack']}-{row['unit']}:{row['port']}/")


def test_a_bill_without_prices_leaves_them_empty(rendered: Callable[[str, str], bytes]) -> None:
    bill = read(rendered("bom-csv", "paper"))
    cables = [line for line in bill if line["category"] == "cable"]
    assert cables
    assert all(line["unit_price"] == line["total"] == "" for line in cables)
    switches = next(line for line in bill if line["category"] == "switch")
    assert (switches["quantity"], float(switches["unit_price"])) == ("1280", 40.0)


@pytest.mark.parametrize("format", ["csv", "bom-csv", "labels", "containerlab-rates"])
def test_no_csv_field_starts_a_formula(format: str, hostile: PlanView) -> None:
    rows = read(b"".join(render(format, hostile)))
    assert rows
    for row in rows:
        for value in row.values():
            assert not value.startswith(("=", "+", "-", "@", "\t", "\r", "\n")), value
    if format == "bom-csv":
        assert any(row["name"].startswith("'=HYPERLINK") for row in rows)


def test_torus_port_names_are_text_in_a_spreadsheet(rendered: Callable[[str, str], bytes]) -> None:
    """`x+` is no formula; nothing in the file is one."""
    rows = read(rendered("csv", "torus"))
    assert {row["a_port"] for row in rows} >= {"x+", "y+", "z+"}


@given(st.text())
def test_a_cell_never_starts_a_formula_and_loses_nothing(text: str) -> None:
    made = cell(text)
    assert not made.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert made.removeprefix("'") in (plain(text), plain(text).removeprefix("'"))


@given(st.text())
def test_names_for_files_slugs_and_xml_are_legal(text: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", file_stem(text))
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug(text))
    assert len(slug(text)) <= 100
    assert not set('<>"') & set(xml(text))


@given(st.integers(0, 2000))
def test_slot_letters_are_distinct_and_absent_for_a_lone_device(slot: int) -> None:
    assert slot_letter(slot, 1) == ""
    assert slot_letter(slot, 9999) != slot_letter(slot + 1, 9999)
    assert re.fullmatch("[A-Z]+", slot_letter(slot, 9999))


def test_rows_can_be_taken_in_any_order(plan: Callable[[str], PlanView]) -> None:
    tables = PlanTables(plan("fat-tree"))
    forwards = list(tables.rows())
    backwards = list(tables.rows_at(np.arange(len(forwards))[::-1]))
    assert backwards == forwards[::-1]
