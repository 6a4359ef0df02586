"""Typesets a folder: `python typeset.py FOLDER FONTS` turns `FOLDER/main.typ` into
`FOLDER/pack.pdf`.

Runs as a separate program, by path. The typesetter caches layouts, and a server that prints one
pack per hour should not keep that memory.
"""

from __future__ import annotations

import sys
from pathlib import Path

import typst


def main(folder: Path, fonts: Path, *, tagged: bool) -> None:
    typst.compile(
        str(folder / "main.typ"),
        output=str(folder / "pack.pdf"),
        root=str(folder),
        font_paths=[str(fonts)],
        ignore_system_fonts=True,
        format="pdf",
        timestamp=0,
        pdf_tags=tagged,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), tagged="--untagged" not in sys.argv[3:])
