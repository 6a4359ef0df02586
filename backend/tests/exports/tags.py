"""The tags of a PDF for screen readers, checked from both sides: the marks on the pages, and the
tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pikepdf
from pikepdf import Dictionary, Name, NumberTree, Pdf, parse_content_stream

PAINTING = frozenset(
    ["f", "F", "f*", "B", "B*", "b", "b*", "S", "s", "sh", "Do", "Tj", "TJ", "'", '"', "BI", "INLINE", "IMAGE"]
)


def is_accessible(pdf: Pdf) -> bool:
    """Whether the file claims to be PDF/UA-1."""
    with pdf.open_metadata(set_pikepdf_as_editor=False) as metadata:
        return metadata.get("{http://www.aiim.org/pdfua/ns/id/}part") == "1"


def check_tags(pdf: Pdf) -> None:
    """Every mark on a page is decoration or has a number in the tree, which lists it with that page
    exactly once; pages, links and pictures lead to their elements."""
    assert bool(pdf.Root.MarkInfo.Marked)
    root = pdf.Root.StructTreeRoot
    parents = dict(NumberTree(root.ParentTree).items())
    assert max(parents) < int(root.ParentTreeNextKey)
    (document,) = root.K
    assert Name.Document == document.S
    listed: Counter[tuple[tuple[int, int], int]] = Counter()
    kinds: Counter[str] = Counter()
    for element, kids in _elements(document):
        kinds[str(element.S)] += 1
        for kid in kids:
            if isinstance(kid, int):
                listed[element.Pg.objgen, kid] += 1
            elif kid.get("/Type") == Name.MCR:
                listed[kid.get("/Pg", element.get("/Pg")).objgen, int(kid.MCID)] += 1
        if Name.Figure == element.S:
            assert str(element.Alt).strip()
    assert kinds["/H1"] == len(pdf.pages), "each page has its title"
    seen: Counter[tuple[tuple[int, int], int]] = Counter()
    for page in pdf.pages:
        own = parents[int(page.StructParents)]
        for number in _marked(page):
            seen[page.obj.objgen, number] += 1
            assert Name.Document != own[number].S
        for note in page.get("/Annots", []):
            assert Name.Link == parents[int(note.StructParent)].S
            assert str(note.Contents).startswith("Page ")
    assert set(seen) == set(listed)
    assert max(listed.values()) == 1


def _elements(element: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Every element below, with its kids; each has the element above as its parent."""
    kids = element.get("/K", [])
    kids = list(kids) if isinstance(kids, pikepdf.Array) else [kids]
    yield element, kids
    for kid in kids:
        if isinstance(kid, Dictionary) and "/S" in kid:
            assert kid.P.objgen == element.objgen
            yield from _elements(kid)


def _marked(page: pikepdf.Page) -> Iterator[int]:
    """The numbers of marked content, in order."""
    open_marks: list[bool] = []
    for instruction in parse_content_stream(page):
        operator = str(instruction.operator)
        operands: Any = instruction.operands
        if operator in ("BMC", "BDC"):
            number = operands[1].get("/MCID") if operator == "BDC" and isinstance(operands[1], Dictionary) else None
            open_marks.append(number is not None or operands[0] == Name.Artifact)
            if number is not None:
                yield int(number)
        elif operator == "EMC":
            open_marks.pop()
        elif operator in PAINTING:
            assert any(open_marks), f"{operator} is neither tagged nor decoration"
    assert open_marks == []
