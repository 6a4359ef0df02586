"""Breakout cables in what a crew and purchasing read: rows are links, cables and labels are counted
by the plug."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Any

import pytest

from cubeyard.asbuilt.document import as_built
from cubeyard.engine import Engine
from cubeyard.exports import ExportOptions, render
from cubeyard.exports.csv_files import CABLE_COLUMNS
from cubeyard.exports.netbox.records import NetboxRecords
from cubeyard.exports.options import PRINTERS
from cubeyard.plans.view import PlanView
from cubeyard.reading.cables import read
from tests.exports import plans

PODS = {
    "topology": {
        "family": "leaf_spine",
        "leaves": 2,
        "spines": 2,
        "servers_per_leaf": 6,
        "server_gbps": 25,
        "uplink_gbps": 100,
        "super_spines": 4,
        "pods": 2,
    },
    "cabling": {"breakouts": [{"level": 0, "links": 4}, {"level": 2, "links": 4, "trunk": "lower"}]},
}
# 4 leaves with six servers: a cable of four and one of two; 4 spines with four links up each.
CABLES = 4 * 2 + 4 * 2 + 4
LINKS = 4 * 6 + 4 * 2 + 4 * 4


@pytest.fixture(scope="module")
def view(engine: Engine) -> PlanView:
    return plans.compute(engine, PODS, "current-2026")


def table(view: PlanView, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(render(name, view)).decode(), newline="")))


def test_counts_and_the_bill_go_by_the_cable(view: PlanView) -> None:
    counts = view.summary["counts"]
    assert (counts["links"], counts["cables"], view.cable_count) == (LINKS, CABLES, LINKS)
    bought = [line for line in view.bom["lines"] if line["category"] == "cable"]
    assert sum(line["quantity"] for line in bought) == CABLES
    broken = [line for line in bought if "breakout" in line["name"]]
    assert sum(line["quantity"] for line in broken) == 4 * 2 + 4
    assert all(line["basis"] == "assumed" and line["unit_price_usd"] > 0 for line in broken)
    (labels,) = (line for line in view.bom["lines"] if line["category"] == "label")
    assert labels["quantity"] * (labels["pieces_per_unit"] or 1) >= LINKS + CABLES


def test_the_schedule_says_which_leg_of_which_cable(view: PlanView) -> None:
    rows = table(view, "csv")
    assert list(rows[0]) == [*CABLE_COLUMNS, "breakout"]
    legs = Counter(row["breakout"].partition(" ")[0] for row in rows if row["breakout"])
    assert sorted(legs.values()) == sorted([4, 2] * 4 + [4] * 4)
    for row in rows:
        if row["breakout"]:
            lead, _, leg = row["breakout"].partition(" leg ")
            assert rows[int(lead[1:])]["breakout"] == f"{lead} leg 1"
            trunk = row["label_far"] if row["level"] == "0" else row["label_near"]
            assert trunk == rows[int(lead[1:])]["label_far" if row["level"] == "0" else "label_near"]
            assert int(leg) <= legs[lead]


def test_a_plan_without_breakouts_keeps_its_columns(engine: Engine) -> None:
    single = plans.compute(engine, PODS["topology"], "current-2026")
    assert list(table(single, "csv")[0]) == list(CABLE_COLUMNS)


@pytest.mark.parametrize("printer", PRINTERS)
def test_a_trunk_has_one_label_and_each_leg_one(view: PlanView, printer: Any) -> None:
    lines = b"".join(render("labels", view, options=ExportOptions(printer=printer))).decode().splitlines()
    assert len(lines) == 1 + LINKS + CABLES


def test_the_trunks_label_names_its_ports(view: PlanView) -> None:
    printed = Counter(row["label"] for row in table(view, "labels"))
    assert set(printed.values()) == {1}
    trunks = [label for label in printed if label.endswith("+3")]
    assert len(trunks) == 4 + 4
    assert all(":P" in label.split("/")[0] and "-P" in label.split("/")[0] for label in trunks)


def test_netbox_has_a_cable_a_leg_that_names_the_whole(view: PlanView) -> None:
    rows = list(NetboxRecords(view).cables())
    assert len(rows) == LINKS
    broken = [row for row in rows if " leg " in str(row["description"])]
    assert len(broken) == 4 * 6 + 4 * 4
    assert len({(row["side_a_device"], row["side_a_name"]) for row in rows}) == LINKS
    assert len({row["label"] for row in rows}) == LINKS


@pytest.mark.parametrize("format", ["xlsx", "pdf", "containerlab", "graphml", "dot"])
def test_every_other_file_is_written(view: PlanView, format: str) -> None:
    assert len(b"".join(render(format, view))) > 500


def test_a_list_from_the_floor_names_the_legs_cable(view: PlanView) -> None:
    rows = table(view, "csv")
    kept = [row for row in rows if row["cable"] != "C00001"]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(kept)
    reported = as_built(view, read(text.getvalue().encode()))
    (missing,) = reported.differences
    assert missing.name == "C00001 (C00000 leg 2)"
