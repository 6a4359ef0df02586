"""The workbook's cell formats, made once: a format per cell would make the file large and slow."""

from __future__ import annotations

from typing import Any

from xlsxwriter import Workbook
from xlsxwriter.format import Format

from cubeyard.exports.palette import LIGHT, level_colour
from cubeyard.kit.money import number_format

FONT = "Calibri"


class Styles:
    """Named formats of one workbook."""

    def __init__(self, book: Workbook, currency: str) -> None:
        money = number_format(currency)
        self._book = book
        self.title = self._add(bold=True, font_size=16)
        self.heading = self._add(bold=True, font_size=12, bottom=1, bottom_color=LIGHT.line)
        self.header = self._add(
            bold=True, bg_color="#E8ECF2", bottom=1, bottom_color=LIGHT.line, text_wrap=True, valign="vcenter"
        )
        self.label = self._add(font_color=LIGHT.muted)
        self.note = self._add(font_color=LIGHT.muted, italic=True)
        self.text = self._add()
        self.wrapped = self._add(text_wrap=True, valign="top")
        self.integer = self._add(num_format="#,##0")
        self.integer_top = self._add(num_format="#,##0", valign="top")
        self.metres = self._add(num_format="0.00")
        self.stock = self._add(num_format="0.0#")
        self.money = self._add(num_format=money)
        # Cells that a purchaser fills in.
        self.filled = self._add(bg_color="#FFF8DC", border=1, border_color=LIGHT.line)
        # The format has no currency, because a separate column states it.
        self.filled_price = self._add(bg_color="#FFF8DC", border=1, border_color=LIGHT.line, num_format="#,##0.00")
        self.kilograms = self._add(num_format="#,##0.0")
        self.watts = self._add(num_format="#,##0")
        self.percent = self._add(num_format="0 %")
        self.total = self._add(bold=True, top=1, top_color=LIGHT.line)
        self.total_integer = self._add(bold=True, num_format="#,##0", top=1, top_color=LIGHT.line)
        self.total_money = self._add(bold=True, num_format=money, top=1, top_color=LIGHT.line)
        self.total_metres = self._add(bold=True, num_format="#,##0.0", top=1, top_color=LIGHT.line)
        self.total_kilograms = self._add(bold=True, num_format="#,##0.0", top=1, top_color=LIGHT.line)
        self.severity = {
            "error": self._add(bold=True, font_color=LIGHT.failed, valign="top", text_wrap=True),
            "warning": self._add(bold=True, font_color="#8A5A00", valign="top", text_wrap=True),
            "info": self._add(font_color=LIGHT.muted, valign="top", text_wrap=True),
        }
        # The level's colour is a bar at the cell's left, not the text or its background, so that
        # text is readable in print.
        self.level = {
            level: self._add(left=5, left_color=level_colour(level), num_format="0", align="left")
            for level in range(-1, 16)
        }
        self.unit = self._add(font_color=LIGHT.muted, align="right")
        self.server = self._add(left=5, left_color=LIGHT.server, border_color=LIGHT.line)

    def _add(self, **properties: Any) -> Format:
        return self._book.add_format({"font_name": FONT, "font_size": 10, **properties})

    def device(self, level: int) -> Format:
        """The format of a device in an elevation, with the bar of its level."""
        return self.level.get(level, self.text)
