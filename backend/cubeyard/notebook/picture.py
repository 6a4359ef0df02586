"""Pictures that a notebook displays inline or writes to files, and small pieces of HTML."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from cubeyard.notebook.errors import mistake

MOST_WIDE = "max-width:100%;height:auto"
DOTS_PER_INCH = 192
_FORMATS: dict[str, Literal["svg", "png", "pdf"]] = {".svg": "svg", ".png": "png", ".pdf": "pdf"}
_PAGE = b"#set page(width: auto, height: auto, margin: 0pt)\n#image(bytes(sys.inputs.svg))"


class Picture:
    """An SVG drawing: displayed if it is the value of a cell; `save` writes it to a file."""

    def __init__(self, svg: str, words: str) -> None:
        self.svg = svg
        """The document, standalone."""
        self.words = words
        """A text alternative for screen readers."""

    def save(self, path: str | Path) -> Path:
        """Writes a file of the kind that its suffix names: `.svg`, `.png` or `.pdf`. Raises
        `CubeyardError` for any other suffix and if the file cannot be written."""
        target = Path(path)
        kind = _FORMATS.get(target.suffix.casefold())
        if kind is None:
            message = (
                f"A picture is not written with the suffix {target.suffix}" if target.suffix else "A suffix is missing"
            )
            fix = f"Name it {target.with_suffix('.png').name}." if target.name else None
            raise mistake("path", str(path), message, limit=f"one of {', '.join(_FORMATS)}", hint=fix)
        data = self.svg.encode() if kind == "svg" else self._typeset(kind)
        try:
            target.write_bytes(data)
        except OSError as error:
            raise mistake("path", str(path), f"{path} cannot be written: {error.strerror or error}") from None
        return target

    def _typeset(self, kind: Literal["png", "pdf"]) -> bytes:
        import typst

        with resources.as_file(resources.files("cubeyard.exports.pdf").joinpath("fonts")) as fonts:
            folders: list[Any] = [str(fonts)]
            return typst.compile(
                _PAGE, format=kind, ppi=DOTS_PER_INCH, sys_inputs={"svg": self.svg}, font_paths=folders,
                ignore_system_fonts=True,
            )  # fmt: skip

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
