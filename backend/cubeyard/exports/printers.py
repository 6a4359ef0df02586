"""Cable labels for label printers, and the list of cables for a cable tester.

One row per label, near end then far end of each cable. The texts are ASCII, which each vendor's
program reads independently of the character set that it assumes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cubeyard.exports.csv_files import encode, printer_labels
from cubeyard.exports.formats import Progress
from cubeyard.exports.links import LinkFacts
from cubeyard.exports.options import ExportOptions
from cubeyard.exports.tables import CHUNK_CABLES, CableRow, PlanTables
from cubeyard.exports.text import cell
from cubeyard.plans.view import PlanView


class Label(NamedTuple):
    """The texts on the label at one end of one cable."""

    here: str
    """The position of this end, such as `R07-12:P3`."""
    there: str
    cable: CableRow
    end: str
    device: int
    far_device: int


def _host(tables: PlanTables, label: Label) -> str:
    return tables.hosts[label.device]


def _far_host(tables: PlanTables, label: Label) -> str:
    return tables.hosts[label.far_device]


# Column titles and values of each program's data source.
_Columns = tuple[tuple[str, Callable[[PlanTables, Label], str]], ...]

# Three lines of a wrap-around label, a barcode and the number to print.
BRADY: _Columns = (
    ("Line 1", lambda _, label: label.here),
    ("Line 2", lambda _, label: label.there),
    ("Line 3", lambda _, label: f"{label.cable.name} {label.cable.stock_metres:g} m"),
    ("Barcode", lambda _, label: label.cable.name),
    ("Quantity", lambda *_: "1"),
    ("Host name", _host),
    ("Far host name", _far_host),
)
BROTHER: _Columns = (
    # A flag label repeats its text on both halves, so that it is readable from either side.
    ("Flag front", lambda _, label: f"{label.here}/{label.there}"),
    ("Flag back", lambda _, label: f"{label.here}/{label.there}"),
    ("Cable", lambda _, label: label.cable.name),
    ("Length", lambda _, label: f"{label.cable.stock_metres:g} m"),
    ("Colour", lambda _, label: label.cable.colour),
    ("Host name", _host),
    ("Far host name", _far_host),
)
# Two lines of text and a barcode.
DYMO: _Columns = (
    ("TEXT", lambda _, label: label.here),
    ("TEXT_1", lambda _, label: label.there),
    ("CABLE", lambda _, label: label.cable.name),
    ("HOST_NAME", _host),
    ("BARCODE", lambda _, label: label.cable.name),
    ("FAR_HOST_NAME", _far_host),
)
_PRINTERS = {"brady": BRADY, "brother": BROTHER, "dymo": DYMO}


def ascii_text(text: str) -> str:
    """Text in ASCII that is safe in a cell: accents are dropped and other characters become `?`."""
    if text.isascii():
        return cell(text)
    plain = unicodedata.normalize("NFKD", text)
    return cell("".join(c if c.isascii() else "?" for c in plain if not unicodedata.combining(c)))


def _labels(tables: PlanTables) -> Iterator[Label]:
    for cable in tables.rows():
        near, far = cable.labelled
        if near:
            here, _, there = cable.near_label.partition("/")
            yield Label(here, there, cable, "near", cable.a_device, cable.b_device)
        if far:
            here, _, there = cable.far_label.partition("/")
            yield Label(here, there, cable, "far", cable.b_device, cable.a_device)


def _printed(plan: PlanView, progress: Progress, columns: _Columns) -> Iterator[bytes]:
    tables = PlanTables(plan)
    total = max(plan.cable_count, 1)

    def rows() -> Iterator[list[str]]:
        for label in _labels(tables):
            if label.cable.index % CHUNK_CABLES == 0:
                progress(label.cable.index / total, "labels")
            yield [ascii_text(value(tables, label)) for _, value in columns]

    yield from encode([title for title, _ in columns], rows())
    progress(1.0, "labels")


def labels(plan: PlanView, progress: Progress, options: ExportOptions) -> Iterator[bytes]:
    """In the columns of the printer's program."""
    columns = _PRINTERS.get(options.printer)
    return printer_labels(plan, progress) if columns is None else _printed(plan, progress, columns)


TESTER_COLUMNS = (
    "Cable ID", "Label near", "Label far", "Cable type", "Test limit", "Planned length (m)", "Near host name", "Near port", "Far host name", "Far port",
)  # fmt: skip
# The field tests of each medium, by the standards' names. Twinax and active optical cables are
# tested by the manufacturer, with their plugs.
TEST_LIMITS = {
    "cat5e": "TIA Cat 5e Channel",
    "cat6": "TIA Cat 6 Channel",
    "cat6a": "TIA Cat 6A Channel",
    "mmf-om3": "TIA-568.3-D Multimode",
    "mmf-om4": "TIA-568.3-D Multimode",
    "mmf-om5": "TIA-568.3-D Multimode",
    "smf-os2": "TIA-568.3-D Singlemode",
}


def tester_list(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """One row per cable that a field tester certifies (twisted pair and fibre), in the plan's
    order.

    The first column is the list of cable ids that testers import; limit, length and ends are for
    the report.
    """
    tables = PlanTables(plan)
    facts = LinkFacts(tables)
    kinds = [facts.cable_type(part) for part in range(len(tables.parts))]

    def rows() -> Iterator[list[str]]:
        for cable in tables.rows():
            kind = kinds[cable.part] if cable.part < len(kinds) else ""
            if kind in TEST_LIMITS:
                yield [
                    ascii_text(text)
                    for text in (
                        cable.name, cable.near_label, cable.far_label, tables.part_name(cable.part), TEST_LIMITS[kind],
                        f"{cable.stock_metres:g}", tables.hosts[cable.a_device], cable.a_port, tables.hosts[cable.b_device],
                        cable.b_port,
                    )
                ]  # fmt: skip

    yield from encode(TESTER_COLUMNS, rows())
    progress(1.0, "cables")
