"""SVG pictures that a notebook displays inline, and small pieces of HTML."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape
from pathlib import Path

MOST_WIDE = "max-width:100%;height:auto"


class Picture:
    """An SVG drawing: displayed if it is the value of a cell; `save` writes it to a file."""

    def __init__(self, svg: str, words: str) -> None:
        self.svg = svg
        """The document, standalone."""
        self.words = words
        """A text alternative for screen readers."""

    def save(self, path: str | Path) -> Path:
        target = Path(path)
        target.write_text(self.svg, encoding="utf-8")
        return target

    def html(self) -> str:
        """As a separate image, so that its style sheet does not affect the page."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="{escape(self.words)}" style="{MOST_WIDE}" src="data:image/svg+xml;base64,{data}">'

    def __repr__(self) -> str:
        return f"<Picture: {self.words}>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.html()


def facts(title: str, rows: Iterable[tuple[str, str, str]]) -> str:
    """HTML of a heading and rows of a name, a value and a remark."""
    body = "".join(
        f'<tr><th style="text-align:left;font-weight:normal">{escape(name)}</th>'
        f'<td style="text-align:right;padding:0 1em">{escape(value)}</td><td style="text-align:left">{escape(remark)}</td></tr>'
        for name, value, remark in rows
    )
    return f"<div><strong>{escape(title)}</strong><table>{body}</table></div>"
