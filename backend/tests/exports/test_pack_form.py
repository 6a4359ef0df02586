"""The form of the install pack, as a PDF viewer has it: bookmarks, papers, scales, sizes of type, labels and their codes."""

from __future__ import annotations

import ctypes
import io
import itertools
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
import pytest
import zxingcpp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pypdf import PdfReader

from cubeyard.engine import Engine
from cubeyard.exports import ExportOptionError, ExportOptions, render
from cubeyard.exports.drawing.scale import RULER_SCALES, bar_metres
from cubeyard.exports.pdf.forms import form
from cubeyard.exports.pdf.labels import modules_of
from cubeyard.exports.pdf.metrics import SMALLEST_POINTS, width_mm
from cubeyard.exports.pdf.page import PAPERS, Paper
from cubeyard.exports.pdf.stocks import STOCKS
from cubeyard.exports.pdf.strips import Field, Group
from cubeyard.plans.view import PlanView
from tests.exports import plans

BACKEND = Path(__file__).parents[2]
POINTS_PER_MM = 72 / 25.4
LINK = "https://cubeyard.example.org/c/0a1b2c3d4e5f6g/3/"


def made(engine: Engine, name: str, paper: str, **options: Any) -> tuple[PlanView, bytes]:
    spec, book = plans.SPECS[name]
    whole = dict(spec) if "topology" in spec else {"topology": spec}
    view = plans.compute(engine, {**whole, "site": {"paper": paper}}, book)
    return view, b"".join(render("pdf", view, None, ExportOptions(**options)))


@pytest.fixture(scope="module")
def pack(engine: Engine) -> Callable[[str, str], tuple[PlanView, bytes]]:
    kept: dict[tuple[str, str], tuple[PlanView, bytes]] = {}

    def get(name: str, paper: str) -> tuple[PlanView, bytes]:
        if (name, paper) not in kept:
            kept[name, paper] = made(engine, name, paper)
        return kept[name, paper]

    return get


def outline_of(data: bytes) -> list[tuple[int, str, int]]:
    """(depth, title, page from 1) of every bookmark."""
    reader = PdfReader(io.BytesIO(data))

    def flat(items: Any, depth: int) -> Iterator[tuple[int, str, int]]:
        for item in items:
            if isinstance(item, list):
                yield from flat(item, depth + 1)
            else:
                page = reader.get_destination_page_number(item)
                assert page is not None
                yield depth, str(item.title), page + 1

    return list(flat(reader.outline, 0))


@pytest.mark.parametrize("name", ["subways", "fat-tree", "dcell", "torus"])
def test_bookmarks_have_names_of_their_own_and_lead_to_their_pages(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    view, data = plan(name), rendered("pdf", name)
    outline = outline_of(data)
    titles = [title for _, title, _ in outline]
    assert len(set(titles)) == len(titles)
    assert {view.name, "Floor plan", "Bill of materials", "Label sheets"} <= set(titles)
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(data)).pages]
    in_tray = {
        tray for tray, cables in zip(view.scene["trays"]["name"], view.scene["trays"]["cables"], strict=True) if cables
    }
    for start, names in (("Rack", view.rack_names), ("Labels", view.rack_names), ("Tray", in_tray)):
        assert {f"{start} {one}" for one in names} <= set(titles)
    for _, title, page in outline:
        if title.startswith(("Rack ", "Labels ", "Tray ", "Elevations ", "Switches ")) and " sheets" not in title:
            words = title.split(", sheet")[0]
            assert words in pages[page - 1]
        if sheet := re.search(r", sheet (\d+) of (\d+)$", title):
            assert f"sheet {sheet[1]} of {sheet[2]}" in pages[page - 1]
    assert [page for _, _, page in outline] == sorted(page for _, _, page in outline)


def test_the_covers_contents_lead_to_their_sections(plan: Callable[[str], PlanView], rendered: Any) -> None:
    reader = PdfReader(io.BytesIO(rendered("pdf", "subways")))
    sections = [page for depth, title, page in outline_of(rendered("pdf", "subways")) if depth == 0][1:]
    notes: Any = reader.pages[0]["/Annots"]
    targets = [note.get_object()["/Dest"][0].get_object() for note in notes]
    assert [reader.get_page_number(target) + 1 for target in targets] == sections


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_every_page_is_on_the_plans_paper(paper: str, pack: Callable[[str, str], tuple[PlanView, bytes]]) -> None:
    one = PAPERS[paper]
    allowed = {(one.width, one.height), (one.height, one.width), (one.large_width, one.large_height)}
    for name in ("subways", "partless"):
        sizes = {
            (
                round(float(page.mediabox.width) / POINTS_PER_MM, 1),
                round(float(page.mediabox.height) / POINTS_PER_MM, 1),
            )
            for page in PdfReader(io.BytesIO(pack(name, paper)[1])).pages
        }
        assert sizes <= allowed
        assert len(sizes) >= 2, "sheets, and drawings on paper of twice the size"


def characters(data: bytes) -> Iterator[tuple[int, str, float, tuple[float, float, float, float], tuple[float, float]]]:
    """(page, character, size in points as printed, its box, the page's size) of all type, as PDFium lays it out."""
    with pdfium.PdfDocument(data) as document:
        for number, page in enumerate(document, 1):
            text = page.get_textpage()
            matrix = pdfium_c.FS_MATRIX()
            for index in range(text.count_chars()):
                letter = chr(pdfium_c.FPDFText_GetUnicode(text, index))
                if not letter.isprintable() or letter.isspace() or pdfium_c.FPDFText_IsGenerated(text, index) == 1:
                    continue
                assert pdfium_c.FPDFText_GetMatrix(text, index, ctypes.byref(matrix))
                scale = abs(matrix.a * matrix.d - matrix.b * matrix.c) ** 0.5
                size = pdfium_c.FPDFText_GetFontSize(text, index) * scale
                yield number, letter, size, text.get_charbox(index), page.get_size()


@pytest.mark.parametrize(
    ("name", "paper"), [*itertools.product(["subways", "dcell", "fat-tree"], ["a4", "letter"]), ("partless", "a4")]
)
def test_no_type_is_smaller_than_seven_points_nor_outside_its_page(
    name: str, paper: str, pack: Callable[[str, str], tuple[PlanView, bytes]]
) -> None:
    sizes: set[float] = set()
    for page, letter, size, (left, bottom, right, top), (width, height) in characters(pack(name, paper)[1]):
        assert size >= 6.99, f"{letter} on page {page}"
        assert 0 <= left <= right <= width, f"{letter} on page {page}"
        assert 0 <= bottom <= top <= height, f"{letter} on page {page}"
        sizes.add(round(size, 2))
    assert max(sizes) > 20, "the cover's title: sizes are read as printed"
    assert len(sizes) > 4


def test_long_names_are_printed_whole(engine: Engine) -> None:
    spec = {"topology": {"family": "dcell", "n": 4, "k": 1}, "site": {"host_prefix": "a-datacenter-in-helsinki"}}
    view = plans.compute(engine, spec, "current-2026")
    data = b"".join(render("pdf", view))
    assert min(size for _, _, size, _, _ in characters(data)) >= 6.99
    sheets = [page.extract_text() for page in PdfReader(io.BytesIO(data)).pages]
    words = "".join(text for text in sheets if text.startswith("Rack "))
    assert all(host in words for host in view.host_names)


@given(
    widths=st.lists(st.integers(1, 120), min_size=1, max_size=12),
    strips=st.integers(1, 3),
    paper=st.sampled_from(list(PAPERS.values())),
)
def test_a_form_has_fewer_strips_or_turns_the_sheet_before_it_cuts_words(
    widths: list[int], strips: int, paper: Paper
) -> None:
    fields = [Field("", 1) for _ in widths]
    groups = [Group("g", "", [tuple("0" * width for width in widths)])]
    used = form(paper, fields, groups, pitch=3.9, size=7.2, gutter=1.5, strips=strips)
    layout = used.layout
    assert layout.size >= SMALLEST_POINTS - 1e-6
    across = layout.strips * layout.strip_width + (layout.strips - 1) * layout.strip_gap
    assert across <= (paper.across_width if used.across else paper.inner_width) + 1e-6
    printed = used.ready(groups)[0].lines[0]
    for words, field in zip(printed, layout.fields, strict=True):
        assert width_mm(words, layout.size) <= field.width_mm + 1e-6 or words == "\u2026"
    if used.cut:
        assert used.across
    else:
        assert printed == groups[0].lines[0]
    if used.across:
        assert sum(width_mm("0" * width, SMALLEST_POINTS) for width in widths) > paper.inner_width - 1.8 - 1.5 * len(
            widths
        )


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs())
def test_any_plan_prints_in_seven_points_at_a_rulers_scale(engine: Engine, spec: dict[str, Any]) -> None:
    for paper in ("a4", "letter"):
        view = plans.compute(engine, {"topology": spec, "site": {"paper": paper}}, "current-2026")
        data = b"".join(render("pdf", view))
        assert min(size for _, _, size, _, _ in characters(data)) >= 6.99
        scales = {
            int(words)
            for page in PdfReader(io.BytesIO(data)).pages
            for words in re.findall(r"1 : (\d+) on", page.extract_text())
        }
        assert scales
        assert scales <= set(RULER_SCALES)
        titles = [title for _, title, _ in outline_of(data)]
        assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("paper", ["a4", "letter"])
@pytest.mark.parametrize("name", ["subways", "dcell"])
def test_a_ruler_on_the_drawing_measures_the_building(
    name: str, paper: str, pack: Callable[[str, str], tuple[PlanView, bytes]]
) -> None:
    """The scale that is printed is the scale that is drawn: walls and racks are found on the raster of a printer."""
    view, data = pack(name, paper)
    enclosure = view.scene["enclosure"]
    with pdfium.PdfDocument(data) as document:
        page = document[1]
        denominator = int(re.findall(r"1 : ([\d,]+) on", page.get_textpage().get_text_bounded())[0].replace(",", ""))
        dots_per_mm = 8
        picture = page.render(scale=dots_per_mm / POINTS_PER_MM).to_pil().convert("L")
        picture = picture.crop((0, 200, picture.width, 1750))
    wide = enclosure["length_metres"] * 1000 / denominator
    dark = picture.point(lambda value: 255 if value < 90 else 0)
    runs = [longest_run(dark.crop((0, y, dark.width, y + 1)).tobytes()) for y in range(dark.height)]
    wall = sorted(run for run in runs if run > 0.9 * wide * dots_per_mm)
    assert wall, "the container's walls are drawn"
    assert wall[-1] / dots_per_mm == pytest.approx(wide, abs=0.9)
    assert bar_metres(denominator) * 1000 / denominator <= 80


def longest_run(row: bytes) -> int:
    return max((len(run) for run in row.split(b"\0")), default=0)


def codes_on(page: Any) -> dict[str, list[tuple[float, float]]]:
    """The text of each QR code on a page, with the middles of those that say it in millimetres from the top left."""
    dots_per_mm = 24
    picture = page.render(scale=dots_per_mm / POINTS_PER_MM).to_pil().convert("L")
    found: dict[str, list[tuple[float, float]]] = {}
    for code in zxingcpp.read_barcodes(picture, formats=zxingcpp.BarcodeFormat.QRCode):
        corners = [code.position.top_left, code.position.bottom_right]
        middle = sum(c.x for c in corners) / 2 / dots_per_mm, sum(c.y for c in corners) / 2 / dots_per_mm
        found.setdefault(code.text, []).append(middle)
    return found


def label_pages(data: bytes) -> list[int]:
    return [i for i, page in enumerate(PdfReader(io.BytesIO(data)).pages) if page.extract_text().startswith("Labels ")]


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_a_reader_reads_every_labels_code_on_its_label(
    paper: str, pack: Callable[[str, str], tuple[PlanView, bytes]]
) -> None:
    view, data = pack("dcell", paper)
    stock = STOCKS[paper]
    counts: dict[str, int] = {}
    with pdfium.PdfDocument(data) as document:
        for number in label_pages(data):
            for text, middles in codes_on(document[number]).items():
                counts[text] = counts.get(text, 0) + len(middles)
                for x, y in middles:
                    column, across = divmod(x - stock.left, stock.column_pitch)
                    assert 0 <= column < stock.columns
                    assert stock.cell_width / 2 < across < stock.cell_width, "right of the type"
                    assert (y - stock.top) % stock.cell_height == pytest.approx(stock.cell_height / 2, abs=0.2)
    assert counts == {view.cable_name(i): 2 for i in range(view.cable_count)}


def test_codes_may_link_to_crew_mode_or_be_left_out(engine: Engine) -> None:
    view, data = made(engine, "dcell", "letter", codes="link", link=LINK)
    with pdfium.PdfDocument(data) as document:
        found = codes_on(document[label_pages(data)[0]])
        cover = " ".join(document[0].get_textpage().get_text_bounded().split())
    assert set(found) == {f"{LINK}{i}" for i in range(view.cable_count)}
    assert "opens the cable in crew mode" in cover
    _, bare = made(engine, "dcell", "letter", codes="none")
    with pdfium.PdfDocument(bare) as document:
        assert codes_on(document[label_pages(bare)[0]]) == {}


def test_a_link_that_a_label_has_no_room_for_gives_way_and_the_cover_says_so(engine: Engine) -> None:
    view, data = made(engine, "dcell", "a4", codes="link", link=LINK)
    with pdfium.PdfDocument(data) as document:
        assert set(codes_on(document[label_pages(data)[0]])) == {view.cable_name(i) for i in range(view.cable_count)}
        cover = " ".join(document[0].get_textpage().get_text_bounded().split())
    assert "no room for a link to crew mode" in cover


@pytest.mark.parametrize(
    "text", ["C00000", "C123456", "https://a.example/c/0a1b2c3d4e5f6g/12/", LINK + "8191", LINK + "x" * 50]
)
def test_a_codes_size_is_known_before_it_is_made(text: str) -> None:
    code: Any = zxingcpp.create_barcode(text, zxingcpp.BarcodeFormat.QRCode, ec_level="L")
    image: Any = code.to_image(scale=1, add_quiet_zones=False)
    assert modules_of(text) == len(memoryview(image).tolist())


@pytest.mark.parametrize("first", [1, 2, 28, 81, 189])
def test_labels_begin_where_the_sheet_has_room(engine: Engine, first: int) -> None:
    view, data = made(engine, "dcell", "a4", first_label=first)
    stock = STOCKS["a4"]
    pages = label_pages(data)
    place = first - 1
    assert len(pages) == math.ceil((place + 2 * view.cable_count) / stock.labels)
    with pdfium.PdfDocument(data) as document:
        middles = [middle for at in codes_on(document[pages[0]]).values() for middle in at]
        places = sorted(
            round((x - stock.left) // stock.column_pitch) * stock.rows + int((y - stock.top) // stock.cell_height)
            for x, y in middles
        )
        words = document[pages[0]].get_textpage().get_text_bounded()
    assert places[0] == place
    assert places == list(range(place, place + len(places)))
    assert (f"begins at label {first}," in words) == (first > 1)


@pytest.mark.parametrize(("paper", "labels"), [("a4", 189), ("letter", 80)])
def test_a_label_that_the_sheet_does_not_have_is_refused(engine: Engine, paper: str, labels: int) -> None:
    with pytest.raises(ExportOptionError, match="first_label") as raised:
        made(engine, "dcell", paper, first_label=labels + 1)
    assert raised.value.limit == f"1 to {labels}"


_MEASURE = """
import os, re, threading, time
from pathlib import Path
from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.settings import Settings
from tests.exports import plans
view = plans.compute(Engine(Settings()), *plans.SPECS["priced"])
told, peaks, done = [], {}, threading.Event()

def highest(pid):
    found = re.search(r"VmHWM:\\s+(\\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) // 1024 if found else 0

def watch():
    while not done.wait(0.02):
        for task in Path("/proc/self/task").iterdir():
            try:
                for child in (task / "children").read_text().split():
                    if b"python" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\\0")[0] and b".py" in Path(f"/proc/{child}/cmdline").read_bytes():
                        peaks[child] = max(peaks.get(child, 0), highest(child))
            except OSError:
                pass

watching = threading.Thread(target=watch)
watching.start()
before = os.times()
size = sum(map(len, render("pdf", view, lambda fraction, doing: told.append((fraction, doing)))))
after = os.times()
done.set()
watching.join()
pages = {doing for fraction, doing in told if doing.startswith("typesetting")}
grows = [fraction for fraction, _ in told] == sorted(fraction for fraction, _ in told)
print(size, sum(after[:4]) - sum(before[:4]), highest("self") + max(peaks.values()), len(pages), grows, len(peaks), highest("self"))
"""


def test_the_papers_pack_fits_a_worker() -> None:
    """Under 30 s and 300 MB for 2,048 servers: processor time of all programs, because the machine is shared; memory of the
    worker and its largest program together. Progress names the pages that are being typeset and only grows."""
    environment = os.environ | {"PYTHONPATH": str(BACKEND)}
    out = subprocess.run(
        [sys.executable, "-c", _MEASURE], env=environment, cwd=BACKEND, capture_output=True, text=True, check=True
    ).stdout.split()
    size_bytes, secs, megabytes, steps, grows = int(out[0]), float(out[1]), int(out[2]), int(out[3]), out[4]
    print(*out)
    assert size_bytes > 1_000_000
    assert 1 < secs < 30
    assert 50 < megabytes < 300
    assert steps >= 10
    assert grows == "True"
