"""SVG pictures that a notebook shows in place, and small pieces of HTML."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape
from pathlib import Path

MOST_WIDE = "max-width:100%;height:auto"


class Picture:
    """An SVG drawing: shown where it is the value of a cell, written by `save`."""

    def __init__(self, svg: str, words: str) -> None:
        self.svg = svg
        """The document, standalone."""
        self.words = words
        """What is on it, for somebody who does not see it."""

    def save(self, path: str | Path) -> Path:
        """Write the SVG file."""
        target = Path(path)
        target.write_text(self.svg, encoding="utf-8")
        return target

    def html(self) -> str:
        """As an image of its own: its style sheet does not reach the page around it."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="{escape(self.words)}" style="{MOST_WIDE}" src="data:image/svg+xml;base64,{data}">'

    def __repr__(self) -> str:
        return f"<Picture: {self.words}>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.html()


def facts(title: str, rows: Iterable[tuple[str, str, str]]) -> str:
    """A heading and rows of a name, a value and a remark, as HTML."""
    body = "".join(
        f'<tr><th style="text-align:left;font-weight:normal">{escape(name)}</th>'
        f'<td style="text-align:right;padding:0 1em">{escape(value)}</td><td style="text-align:left">{escape(remark)}</td></tr>'
        for name, value, remark in rows
    )
    return f"<div><strong>{escape(title)}</strong><table>{body}</table></div>"
