"""Binds the parts of a pack: `python bind.py FOLDER` joins `FOLDER/part-*.pdf` into
`FOLDER/pack.pdf`.

Runs as a separate program, by path, like the typesetter. `FOLDER/binding.json` has the title, the
number of parts, and the outline: title, page (from 1) and depth of each bookmark. A link to
`cubeyard:page-12` becomes a link to page 12 of the pack.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, OutlineItem, Pdf, String

_LINK = "cubeyard:page-"


def outline_of(marks: list[tuple[str, int, int]]) -> list[OutlineItem]:
    """The bookmarks as a tree; a deeper bookmark is a child of the one before it."""
    roots: list[OutlineItem] = []
    open_items: list[OutlineItem] = []
    for title, page, depth in marks:
        item = OutlineItem(title, page - 1, "Fit")
        item.is_closed = depth > 0
        del open_items[depth:]
        (open_items[-1].children if open_items else roots).append(item)
        open_items.append(item)
    return roots


def lead(pdf: Pdf) -> None:
    """Resolves links between pages, which the typesetter of one part cannot resolve."""
    for page in pdf.pages:
        for note in page.get("/Annots", []):
            action = note.get("/A")
            target = str(action.get("/URI", "")) if action is not None else ""
            if target.startswith(_LINK):
                number = int(target.removeprefix(_LINK))
                del note["/A"]
                note["/Dest"] = Array([pdf.pages[number - 1].obj, Name.Fit])


def main(folder: Path) -> None:
    binding: dict[str, Any] = json.loads((folder / "binding.json").read_bytes())
    with pikepdf.new() as pdf:
        parts = [pikepdf.open(folder / f"part-{number}.pdf") for number in range(binding["parts"])]
        for part in parts:
            pdf.pages.extend(part.pages)
        lead(pdf)
        with pdf.open_outline() as outline:
            outline.root.extend(outline_of(binding["outline"]))
        pdf.docinfo["/Title"] = String(binding["title"])
        pdf.docinfo["/Author"] = String("Cubeyard")
        pdf.Root.Lang = String("en")
        pdf.Root.PageMode = Name.UseOutlines
        pdf.Root.ViewerPreferences = Dictionary(DisplayDocTitle=True, PrintScaling=Name.None_)
        pdf.save(
            folder / "pack.pdf",
            deterministic_id=True,
            object_stream_mode=pikepdf.ObjectStreamMode.generate,
        )
        for part in parts:
            part.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
