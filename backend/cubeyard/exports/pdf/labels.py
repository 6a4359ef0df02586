"""Label sheets: every label at its position on a die-cut sheet, with a QR code of its cable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from cubeyard.exports.options import ExportOptions
from cubeyard.exports.pdf.forms import Section, numbered
from cubeyard.exports.pdf.metrics import clipped, width_mm
from cubeyard.exports.pdf.stocks import LabelStock, stock_of
from cubeyard.exports.tables import PlanTables
from cubeyard.exports.workbook.racks import CablesByRack

Json = dict[str, Any]
TYPE_POINTS = 7.0
_INSET = 0.8
"""Millimetres between the label's edge and its type."""
_QUIET, _LEAST_QUIET = 4, 2
"""Modules of white around a code, up to the label's outline and its type: the standard's value
[ISO/IEC 18004 §5.3.8], and the smallest that readers in our tests accept [ours]. The smaller value
is for labels whose type leaves no space for the larger one."""
_SMALLEST_MODULE, _LARGEST_MODULE = 0.25, 0.42
"""Millimetres: the smallest that a phone reads from paper at a hand's distance, and the largest
that is useful. [ours]"""
_FACTS = ("{name} L{level} {metres} m", "{name} {metres} m", "{name} {metres}m", "{name}")
"""Facts about the cable on a label, from most to least. All labels of a pack have the same facts,
so that none seems incomplete."""
# Capacity in bytes of a QR code and its number of modules, at the lowest level of correction.
# [ISO/IEC 18004, table 7]
_MODULES = ((17, 21), (32, 25), (53, 29), (78, 33), (106, 37))


@dataclass(frozen=True, slots=True)
class _Label:
    here: str
    there: str
    cable: int
    facts: str
    """The cable's id and further facts that fit on its labels."""


def modules_of(text: str) -> int | None:
    """Number of module rows of a text's QR code, or `None` if it is too long for a label."""
    return next((rows for room, rows in _MODULES if len(text.encode()) <= room), None)


@dataclass(frozen=True, slots=True)
class LabelForm:
    """The layout of labels on a stock: where the type ends and the position of the code."""

    stock: LabelStock
    code_side: float
    """Side of the code in millimetres; 0 for no code."""
    quiet: float
    """White on each side of the code, in millimetres."""
    codes: str
    """The content of the codes: the cable's id replaces a link that does not fit."""

    @property
    def type_width(self) -> float:
        room = self.stock.cell_width - _INSET
        return room - self.code_side - 2 * self.quiet if self.code_side else room - _INSET

    def code_at(self, place: int) -> tuple[float, float]:
        """Left and top edge of the code at a label's position, from the sheet's top left corner, in
        millimetres."""
        column, row = divmod(place, self.stock.rows)
        x = self.stock.left + column * self.stock.column_pitch + self.stock.cell_width - self.quiet - self.code_side
        y = self.stock.top + row * self.stock.cell_height + (self.stock.cell_height - self.code_side) / 2
        return x, y


def _widest(tables: PlanTables, form: str) -> float:
    """The width in millimetres of the widest cable facts in one of the `_FACTS` formats.
    O(cables)."""
    plan = tables.plan
    pairs = set(zip(plan.cables["level"].tolist(), plan.cables["stock_mm"].tolist(), strict=True))
    name = plan.cable_name(max(plan.cable_count - 1, 0))
    words = (form.format(name=name, level=level, metres=f"{stock / 1000:g}") for level, stock in pairs)
    return max((width_mm(word, TYPE_POINTS) for word in words), default=0.0)


def facts_that_fit(tables: PlanTables, used: LabelForm) -> str:
    """The longest of `_FACTS` for which every label has room. O(cables)."""
    return next((form for form in _FACTS if _widest(tables, form) <= used.type_width + 1e-9), _FACTS[-1])


def code_text(tables: PlanTables, options: ExportOptions, codes: str, cable: int) -> str:
    """The content of the QR code on a cable's labels; `codes` is `link` or `cable`."""
    return f"{options.link}{cable}" if codes == "link" else tables.plan.cable_name(cable)


def label_form(tables: PlanTables, options: ExportOptions) -> LabelForm:
    """Codes as large as the space next to the type allows: with the link, else with the cable's id,
    else none.

    The type is both ends, and the cable's id and length if a code still fits next to them.
    """
    stock, plan = stock_of(tables.plan), tables.plan
    whole = {"none": (), "cable": ("cable",), "link": ("link", "cable")}[options.codes] if plan.cable_count else ()
    tries = [(codes, _QUIET) for codes in whole] + [("cable", _LEAST_QUIET) for _ in whole[:1]]
    ends = {part for label in (*plan.near_labels, *plan.far_labels) for part in label.split("/")}
    longest = max((width_mm(end, TYPE_POINTS) for end in ends), default=0.0)
    for (codes, quiet), type_width in product(tries, (max(longest, _widest(tables, _FACTS[-2])), longest)):
        room = min(stock.cell_height, stock.cell_width - _INSET - type_width)
        rows = modules_of(code_text(tables, options, codes, plan.cable_count - 1))
        module = 0.0 if rows is None else min(room / (rows + 2 * quiet), _LARGEST_MODULE)
        if rows is not None and module >= _SMALLEST_MODULE:
            return LabelForm(stock, rows * module, quiet * module, codes)
    return LabelForm(stock, 0.0, 0.0, "none")


def label_sheets(
    tables: PlanTables, racks: Sequence[int], options: ExportOptions, used: LabelForm, step: Callable[[float], None]
) -> Section:
    """All labels to attach in a rack, in the order of its cable sheet, down the columns. Each rack
    starts a new sheet.

    The first sheet can be partly used: `first_label` is its first unused label.
    """
    section = Section("Label sheets")
    by_rack = CablesByRack(tables)
    stock = used.stock
    facts = facts_that_fit(tables, used)
    skipped = options.first_label - 1
    for count, rack in enumerate(racks):
        labels: list[_Label | None] = [*_labels(tables, by_rack.of(rack), facts)]
        if labels:
            labels = [None] * skipped + labels
            skipped = 0
        pages = [
            _label_page(tables, used, options, rack, labels[start : start + stock.labels])
            for start in range(0, len(labels), stock.labels)
        ]
        section.pages += numbered(pages)
        step(count / len(racks))
    return section


def _labels(tables: PlanTables, ends: list[tuple[int, bool]], form: str) -> Iterator[_Label]:
    """Each label of a rack. A cable within the rack has both labels here."""
    rows = tables.rows_at(np.asarray([index for index, _ in ends], dtype=np.int64))
    for cable, (_, far) in zip(rows, ends, strict=True):
        facts = form.format(name=cable.name, level=cable.level, metres=f"{cable.stock_metres:g}")
        stays = cable.bundle < 0
        here_near, here_far = cable.labelled
        for label, wanted in (
            (cable.near_label, here_near and (stays or not far)),
            (cable.far_label, here_far and (stays or far)),
        ):
            if wanted:
                here, _, there = label.partition("/")
                yield _Label(here, there, cable.index, facts)


_NOTHING = "\u00a0"


def _label_page(
    tables: PlanTables, used: LabelForm, options: ExportOptions, rack: int, labels: list[_Label | None]
) -> Json:
    stock = used.stock
    columns: list[Json] = []
    codes: list[list[Any]] = []
    for start in range(0, len(labels), stock.rows):
        cut = labels[start : start + stock.rows]
        # Three lines per label in three layers of one weight each: bold near end, plain far end,
        # muted facts.
        lines: tuple[list[str], list[str], list[str]] = ([], [], [])
        for place, label in enumerate(cut, start):
            words = [_NOTHING] * 3
            if label is not None:
                words = [_fitted(label.here, used), _fitted(label.there, used), _fitted(label.facts, used)]
                if used.code_side:
                    codes.append(
                        [*used.code_at(place), used.code_side, code_text(tables, options, used.codes, label.cable)]
                    )
            for layer, text in enumerate(words):
                lines[layer].append("\n".join(text if i == layer else _NOTHING for i in range(3)))
        layers = [{"text": "\n".join(layer), "bold": i == 0, "muted": i == 2} for i, layer in enumerate(lines)]
        free = sum(label is None for label in cut)
        x = stock.left + len(columns) * stock.column_pitch
        columns.append({"x": x, "from": free, "count": len(cut), "layers": layers})
    used_places = sum(label is None for label in labels)
    begins = f", begins at label {used_places + 1}" if used_places else ""
    return {
        "kind": "labels", "width": stock.width, "height": stock.height, "title": f"Labels {tables.rack_names[rack]}", "level": 2,
        "marks": [[1, f"Labels {tables.rack_names[rack]}"]],
        "subtitle": f"{stock.name}: {stock.size}, {stock.columns} x {stock.rows}{begins}, print at 100 %",
        "left": stock.left, "top": stock.top, "cell-width": stock.cell_width, "cell-height": stock.cell_height, "inset": _INSET,
        "columns": columns, "codes": codes,
    }  # fmt: skip


def _fitted(words: str, used: LabelForm) -> str:
    return clipped(words, used.type_width, TYPE_POINTS)
