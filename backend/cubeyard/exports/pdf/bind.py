"""Binds the parts of a pack: `python bind.py FOLDER` joins `FOLDER/part-*.pdf` into
`FOLDER/pack.pdf`.

Runs as a separate program, by path, like the typesetter. `FOLDER/binding.json` has the title, the
number of parts, and the outline: title, page (from 1) and depth of each bookmark. A link to
`cubeyard:page-12` becomes a link to page 12 of the pack. The parts' trees of tags become one, so
that the pack is PDF/UA-1 if all of them are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pikepdf
from pikepdf import Array, Dictionary, Name, NumberTree, OutlineItem, Pdf, String

_LINK = "cubeyard:page-"
_UA = "http://www.aiim.org/pdfua/ns/id/"


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
                note.Contents = String(f"Page {number}")


def renumber(part: Pdf, first: int) -> int:
    """Moves the numbers by which pages and links find their tags, so that they begin at `first`.
    Returns the next free number."""
    for item in part.objects:
        if isinstance(item, Dictionary | pikepdf.Stream):
            for key in ("/StructParents", "/StructParent"):
                if key in item:
                    item[key] = int(item[key]) + first
    return first + int(part.Root.StructTreeRoot.ParentTreeNextKey)


def tag(pdf: Pdf, parts: list[tuple[Pdf, int]]) -> None:
    """Joins the parts' trees of tags, each with its first number. Their pages are already in the
    pack."""
    root = pdf.make_indirect(Dictionary(Type=Name.StructTreeRoot))
    document = pdf.make_indirect(Dictionary(Type=Name.StructElem, S=Name.Document, P=root))
    kids, numbers = Array(), Array()
    for part, first in parts:
        tree = pdf.copy_foreign(part.Root.StructTreeRoot)
        for whole in tree.K:
            for kid in whole.K:
                kid.P = document
                kids.append(kid)
        for number, elements in NumberTree(tree.ParentTree).items():
            numbers.append(number + first)
            numbers.append(elements)
        root.RoleMap = tree.RoleMap
        root.ParentTreeNextKey = int(tree.ParentTreeNextKey) + first
    document.K = kids
    root.K = Array([document])
    root.ParentTree = pdf.make_indirect(Dictionary(Nums=numbers))
    pdf.Root.StructTreeRoot = root
    pdf.Root.MarkInfo = Dictionary(Marked=True)


def describe(pdf: Pdf, title: str, *, accessible: bool) -> None:
    pikepdf.models.PdfMetadata.register_xml_namespace(_UA, "pdfuaid")
    with pdf.open_metadata(set_pikepdf_as_editor=False, update_docinfo=False) as metadata:
        metadata["dc:title"] = title
        metadata["dc:creator"] = ["Cubeyard"]
        if accessible:
            metadata[f"{{{_UA}}}part"] = "1"


def main(folder: Path) -> None:
    binding: dict[str, Any] = json.loads((folder / "binding.json").read_bytes())
    with pikepdf.new() as pdf:
        parts = [pikepdf.open(folder / f"part-{number}.pdf") for number in range(binding["parts"])]
        firsts = [0]
        for part in parts:
            firsts.append(renumber(part, firsts[-1]))
            pdf.pages.extend(part.pages)
        lead(pdf)
        tag(pdf, list(zip(parts, firsts, strict=False)))
        accessible = all(_UA.encode() in part.Root.Metadata.read_bytes() for part in parts)
        describe(pdf, binding["title"], accessible=accessible)
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
            min_version="1.7",
            object_stream_mode=pikepdf.ObjectStreamMode.generate,
        )
        for part in parts:
            part.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
