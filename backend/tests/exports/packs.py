"""Reads install packs: each page's text, and the outline of a viewer."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pypdfium2 as pdfium
from pypdf import PdfReader

from cubeyard.exports.formats import no_progress
from cubeyard.exports.pdf.pack import pack_document, part_of, template
from cubeyard.exports.pdf.typesetting import typeset
from cubeyard.exports.tables import PlanTables
from cubeyard.plans.view import PlanView


class Pack:
    """A pack's pages as text, by the title of each. Text is PDFium's, which is quick; all else is
    pypdf's."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def reader(self) -> PdfReader:
        return PdfReader(io.BytesIO(self.data))

    @cached_property
    def pages(self) -> list[str]:
        with pdfium.PdfDocument(self.data) as document:
            # A hyphen at the end of a line is U+FFFE.
            texts = [page.get_textpage().get_text_range() for page in document]
        return [text.replace("\r\n", "\n").replace("\ufffe", "-") for text in texts]

    def titled(self, start: str) -> list[str]:
        return [text for text in self.pages if text.lstrip().startswith(start)]

    @cached_property
    def label_pages(self) -> list[int]:
        return [i for i, text in enumerate(self.pages) if text.startswith("Labels ")]

    @cached_property
    def outline(self) -> list[tuple[int, str, int]]:
        """(depth, title, page from 1) of every bookmark."""

        def flat(items: Any, depth: int) -> Iterator[tuple[int, str, int]]:
            for item in items:
                if isinstance(item, list):
                    yield from flat(item, depth + 1)
                else:
                    page = self.reader.get_destination_page_number(item)
                    assert page is not None
                    yield depth, str(item.title), page + 1

        return list(flat(self.reader.outline, 0))


def cover_of(plan: PlanView) -> tuple[str, int]:
    """The words of a pack's cover, and how many pages the pack has: all are decided, the cover
    alone is typeset."""
    document, _ = pack_document(PlanTables(plan), {}, no_progress)
    pages = document.pop("pages")
    sources = part_of(document, pages[:1]) | {"main.typ": template()}
    pack = Pack(b"".join(typeset(sources)))
    assert len(pack.pages) == 1
    return re.sub(r"\s+", " ", pack.pages[0]), len(pages)
