"""The command line's table and the page's have the same columns and words."""

from __future__ import annotations

import re
from pathlib import Path

from cubeyard.asbuilt.order import work_order
from cubeyard.asbuilt.schemas import AsBuiltStep
from cubeyard.asbuilt.steps import ACTIONS
from cubeyard.asbuilt.table import COLUMNS, work_order_csv
from tests.asbuilt.cabling import found, planned

PAGE = Path(__file__).resolve().parents[3] / "frontend/src/features/as-built/order.ts"


def test_the_page_writes_the_same_columns_and_actions() -> None:
    text = PAGE.read_text()
    columns = re.search(r"COLUMNS = \[(.*?)\]", text, re.DOTALL)
    actions = re.search(r"ACTIONS: [^{]*\{(.*?)\}", text, re.DOTALL)
    assert columns is not None
    assert actions is not None
    assert re.findall(r'"(\w+)"', columns[1]) == list(COLUMNS)
    assert dict(re.findall(r'(\w+): "([^"]+)"', actions[1])) == ACTIONS


def test_texts_of_a_list_are_no_formulas_in_a_spreadsheet() -> None:
    (step,) = work_order(planned(), found((0, 2, None))).steps
    row = AsBuiltStep(
        number=1, action="remove", cable=None, name="", rack="=R", out=[], into=[], stays=None, length_mm=None, after=None,
        reuses=None, text=step.text(),
    )  # fmt: skip
    assert b"".join(work_order_csv([row])).splitlines()[1].startswith(b"1,'=R,Take out,")
