"""Typesets a folder: `python typeset.py FOLDER FONTS` turns `FOLDER/main.typ` into
`FOLDER/pack.pdf`.

Runs as a separate program, by path. The typesetter caches layouts, and a server that prints one
pack per hour should not keep that memory. The file is PDF/UA-1; if the standard does not allow its
content, such as a name with letters that the fonts lack, the file only has the tags.
"""

from __future__ import annotations

import sys
from pathlib import Path

import typst


def main(folder: Path, fonts: Path) -> None:
    compiler = typst.Compiler(
        str(folder / "main.typ"), root=str(folder), font_paths=[str(fonts)], ignore_system_fonts=True
    )
    output = str(folder / "pack.pdf")
    try:
        compiler.compile(output=output, format="pdf", timestamp=0, pdf_standards=["ua-1"])
    except typst.TypstError:
        compiler.compile(output=output, format="pdf", timestamp=0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
