"""Draws QR codes onto pages: `python stamp.py FOLDER` adds those of `FOLDER/codes.json` to
`FOLDER/pack.pdf`.

Runs as a separate program, by path, like the typesetter. `codes.json` has a list for each page of
the file: left edge, top edge and side of each code in millimetres from the page's top left corner,
and its text. A code is drawn as shapes, so that it prints at full resolution.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pikepdf
import zxingcpp

_POINTS_PER_MM = 72 / 25.4


def shapes_of(text: str) -> tuple[bytes, int]:
    """The dark modules of a text's code as rectangles, in modules from its top left corner, with y
    upwards; and the number of module rows."""
    code = zxingcpp.create_barcode(text, zxingcpp.BarcodeFormat.QRCode, ec_level="L")
    image: Any = code.to_image(scale=1, add_quiet_zones=False)  # a buffer of rows of bytes, 0 for dark
    rows: list[list[int]] = memoryview(image).tolist()  # pyright: ignore[reportAssignmentType]
    size = len(rows)
    parts: list[str] = []
    for row, cells in enumerate(rows):
        start: int | None = None
        for column, cell in enumerate([*cells, 255]):
            if cell == 0 and start is None:
                start = column
            elif cell and start is not None:
                parts.append(f"{start} {-row - 1} {column - start} 1 re")
                start = None
    return (" ".join(parts) + " f").encode(), size


def stamped(codes: list[list[Any]], page_height: float, made: dict[str, tuple[bytes, int]]) -> bytes:
    """The operators that draw the codes of a page."""
    # Its text is on the label, too: for screen readers the code is decoration.
    out = [b"/Artifact BMC q 0 g"]
    for x, y, side, text in codes:
        if text not in made:
            made[text] = shapes_of(text)
        shapes, size = made[text]
        module = side * _POINTS_PER_MM / size
        left, top = x * _POINTS_PER_MM, page_height - y * _POINTS_PER_MM
        out.append(b"q %.4f 0 0 %.4f %.3f %.3f cm %s Q" % (module, module, left, top, shapes))
    return b"\n".join([*out, b"Q EMC"])


def main(folder: Path) -> None:
    pages: list[list[list[Any]]] = json.loads((folder / "codes.json").read_bytes())
    made: dict[str, tuple[bytes, int]] = {}
    with pikepdf.open(folder / "pack.pdf", allow_overwriting_input=True) as pdf:
        for page, codes in zip(pdf.pages, pages, strict=True):
            if codes:
                page.contents_add(stamped(codes, float(page.mediabox[3]), made))
        pdf.save(folder / "pack.pdf", deterministic_id=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
