"""The form of the install pack, as a PDF viewer has it: bookmarks, papers, scales, sizes of type,
labels and their codes."""

from __future__ import annotations

import ctypes
import itertools
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
import pytest
import zxingcpp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubeyard.engine import Engine
from cubeyard.exports import ExportOptionError, ExportOptions, render
from cubeyard.exports.drawing.scale import RULER_SCALES, bar_metres
from cubeyard.exports.pdf.forms import form
from cubeyard.exports.pdf.labels import label_form, label_sheets, modules_of
from cubeyard.exports.pdf.metrics import SMALLEST_POINTS, width_mm
from cubeyard.exports.pdf.page import PAPERS, Paper
from cubeyard.exports.pdf.stocks import STOCKS
from cubeyard.exports.pdf.strips import Field, Group
from cubeyard.exports.tables import PlanTables
from cubeyard.plans.view import PlanView
from tests.conftest import examples, some
from tests.exports import plans
from tests.exports.packs import Pack

POINTS_PER_MM = 72 / 25.4
LINK = "https://cubeyard.example.org/c/0a1b2c3d4e5f6g/3/"


@pytest.mark.parametrize("name", some(["dcell", "subways", "fat-tree", "torus"]))
def test_bookmarks_have_names_of_their_own_and_lead_to_their_pages(
    name: str, plan: Callable[[str], PlanView], pack: Callable[..., Pack]
) -> None:
    view, outline, pages = plan(name), pack(name).outline, pack(name).pages
    titles = [title for _, title, _ in outline]
    assert len(set(titles)) == len(titles)
    assert {view.name, "Floor plan", "Bill of materials", "Label sheets"} <= set(titles)
    in_tray = {
        tray for tray, cables in zip(view.scene["trays"]["name"], view.scene["trays"]["cables"], strict=True) if cables
    }
    for start, names in (("Rack", view.rack_names), ("Labels", view.rack_names), ("Tray", in_tray)):
        assert {f"{start} {item}" for item in names} <= set(titles)
    for _, title, page in outline:
        if title.startswith(("Rack ", "Labels ", "Tray ", "Elevations ", "Switches ")) and " sheets" not in title:
            words = title.split(", sheet")[0]
            assert words in pages[page - 1]
        if sheet := re.search(r", sheet (\d+) of (\d+)$", title):
            assert f"sheet {sheet[1]} of {sheet[2]}" in pages[page - 1]
    assert [page for _, _, page in outline] == sorted(page for _, _, page in outline)


def test_the_covers_contents_lead_to_their_sections(pack: Callable[..., Pack]) -> None:
    reader = pack("subways").reader
    sections = [page for depth, title, page in pack("subways").outline if depth == 0][1:]
    notes: Any = reader.pages[0]["/Annots"]
    targets = [note.get_object()["/Dest"][0].get_object() for note in notes]
    assert [reader.get_page_number(target) + 1 for target in targets] == sections


@pytest.mark.parametrize("paper", ["a4", pytest.param("letter", marks=pytest.mark.long)])
def test_every_page_is_on_the_plans_paper(paper: str, pack: Callable[..., Pack]) -> None:
    item = PAPERS[paper]
    allowed = {(item.width, item.height), (item.height, item.width), (item.large_width, item.large_height)}
    for name in ("subways", "partless"):
        sizes = {
            (
                round(float(page.mediabox.width) / POINTS_PER_MM, 1),
                round(float(page.mediabox.height) / POINTS_PER_MM, 1),
            )
            for page in pack(name, paper).reader.pages
        }
        assert sizes <= allowed
        assert len(sizes) >= 2, "sheets, and drawings on paper of twice the size"


def characters(data: bytes) -> Iterator[tuple[int, str, float, tuple[float, float, float, float], tuple[float, float]]]:
    """(page, character, size in points as printed, its box, the page's size) of all type, as PDFium
    lays it out."""
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
    ("name", "paper"),
    [
        ("dcell", "letter"),
        ("partless", "a4"),
        *(
            pytest.param(name, paper, marks=pytest.mark.long)
            for name, paper in itertools.product(["subways", "dcell", "fat-tree"], ["a4", "letter"])
            if (name, paper) != ("dcell", "letter")
        ),
    ],
)
def test_no_type_is_smaller_than_seven_points_nor_outside_its_page(
    name: str, paper: str, pack: Callable[..., Pack]
) -> None:
    sizes: set[float] = set()
    for page, letter, size, (left, bottom, right, top), (width, height) in characters(pack(name, paper).data):
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
    words = "".join(Pack(data).titled("Rack "))
    assert all(host in words for host in view.host_names)


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_a_purchaser_reads_every_parts_name_whole(
    paper: str, pack: Callable[..., Pack], plan: Callable[[str], PlanView]
) -> None:
    # Label sheets are those of the paper.
    names = {line["name"] for line in plan("dcell").bom["lines"] if line["category"] != "label"}
    assert max(map(len, names)) > 50
    bill = "".join(pack("dcell", paper).titled("Bill of materials"))
    assert [name for name in sorted(names) if name not in bill] == []


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


@pytest.mark.long
@settings(max_examples=examples(4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs(), paper=st.sampled_from(["a4", "letter"]))
def test_any_plan_prints_in_seven_points_at_a_rulers_scale(engine: Engine, spec: dict[str, Any], paper: str) -> None:
    view = plans.compute(engine, {"topology": spec, "site": {"paper": paper}}, "current-2026")
    made = Pack(b"".join(render("pdf", view)))
    assert min(size for _, _, size, _, _ in characters(made.data)) >= 6.99
    scales = {int(words) for page in made.pages for words in re.findall(r"1 : (\d+) on", page)}
    assert scales
    assert scales <= set(RULER_SCALES)
    titles = [title for _, title, _ in made.outline]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("paper", ["a4", pytest.param("letter", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", some(["dcell", "subways"]))
def test_a_ruler_on_the_drawing_measures_the_building(
    name: str, paper: str, pack: Callable[..., Pack], plan: Callable[[str], PlanView]
) -> None:
    """The scale that is printed is the scale that is drawn: walls and racks are found on the raster
    of a printer."""
    enclosure = plan(name).scene["enclosure"]
    with pdfium.PdfDocument(pack(name, paper).data) as document:
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
    """The text of each QR code on a page, with the centres of its codes in millimetres from the top
    left."""
    dots_per_mm = 24
    picture = page.render(scale=dots_per_mm / POINTS_PER_MM).to_pil().convert("L")
    result: dict[str, list[tuple[float, float]]] = {}
    for code in zxingcpp.read_barcodes(picture, formats=zxingcpp.BarcodeFormat.QRCode):
        corners = [code.position.top_left, code.position.bottom_right]
        middle = sum(c.x for c in corners) / 2 / dots_per_mm, sum(c.y for c in corners) / 2 / dots_per_mm
        result.setdefault(code.text, []).append(middle)
    return result


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_a_reader_reads_every_labels_code_on_its_label(
    paper: str, pack: Callable[..., Pack], plan: Callable[[str], PlanView]
) -> None:
    view, made = plan("dcell"), pack("dcell", paper)
    stock = STOCKS[paper]
    counts: dict[str, int] = {}
    with pdfium.PdfDocument(made.data) as document:
        for number in made.label_pages:
            for text, middles in codes_on(document[number]).items():
                counts[text] = counts.get(text, 0) + len(middles)
                for x, y in middles:
                    column, across = divmod(x - stock.left, stock.column_pitch)
                    assert 0 <= column < stock.columns
                    assert stock.cell_width / 2 < across < stock.cell_width, "right of the type"
                    assert (y - stock.top) % stock.cell_height == pytest.approx(stock.cell_height / 2, abs=0.2)
    assert counts == {view.cable_name(i): 2 for i in range(view.cable_count)}


@pytest.mark.parametrize("dpi", some([300, 600]))
@pytest.mark.parametrize("paper", ["a4", pytest.param("letter", marks=pytest.mark.long)])
def test_every_code_of_a_full_page_is_read_at_once(
    paper: str, dpi: int, pack: Callable[..., Pack], engine: Engine
) -> None:
    """As a scanner sees the sheet: every label has a code, and the quiet zone around it is
    empty."""
    made, stock = pack("fat-tree", paper), STOCKS[paper]
    spec = {"topology": plans.SPECS["fat-tree"][0], "site": {"paper": paper}}
    used = label_form(PlanTables(plans.compute(engine, spec, "current-2026")), ExportOptions())
    module = used.code_side / 21
    assert module >= 0.25, "large enough for a phone"
    assert used.quiet >= (4 if paper == "letter" else 2) * module - 1e-6, "the type of A4's small labels leaves less"
    x, y = used.code_at(0)
    for edge, low, high in (
        (x, stock.left, stock.left + stock.cell_width),
        (y, stock.top, stock.top + stock.cell_height),
    ):
        assert low <= edge - used.quiet + 1e-6
        assert edge + used.code_side + used.quiet <= high + 1e-6
    assert stock.left + used.type_width <= x - used.quiet + 1e-6, "the type ends before the white"
    with pdfium.PdfDocument(made.data) as document:
        page = document[made.label_pages[0]]
        picture = page.render(scale=dpi / 72).to_pil().convert("L")
    codes = zxingcpp.read_barcodes(picture, formats=zxingcpp.BarcodeFormat.QRCode)
    assert len(codes) == stock.labels
    assert {code.text for code in codes} <= set(re.findall(r"\bC\d{5,}\b", made.pages[made.label_pages[0]]))


@pytest.mark.long
def test_codes_may_link_to_crew_mode_or_be_left_out(engine: Engine) -> None:
    view, data = plans.printed(engine, "dcell", "letter", codes="link", link=LINK)
    with pdfium.PdfDocument(data) as document:
        result = codes_on(document[Pack(data).label_pages[0]])
        cover = " ".join(document[0].get_textpage().get_text_bounded().split())
    assert set(result) == {f"{LINK}{i}" for i in range(view.cable_count)}
    assert "opens the cable in crew mode" in cover
    _, bare = plans.printed(engine, "dcell", "letter", codes="none")
    with pdfium.PdfDocument(bare) as document:
        assert codes_on(document[Pack(bare).label_pages[0]]) == {}


def test_a_link_that_a_label_has_no_room_for_gives_way_and_the_cover_says_so(engine: Engine) -> None:
    view, data = plans.printed(engine, "dcell", "a4", codes="link", link=LINK)
    with pdfium.PdfDocument(data) as document:
        assert set(codes_on(document[Pack(data).label_pages[0]])) == {
            view.cable_name(i) for i in range(view.cable_count)
        }
        cover = " ".join(document[0].get_textpage().get_text_bounded().split())
    assert "no room for a link to crew mode" in cover


@pytest.mark.parametrize(
    "text", ["C00000", "C123456", "https://a.example/c/0a1b2c3d4e5f6g/12/", LINK + "8191", LINK + "x" * 50]
)
def test_a_codes_size_is_known_before_it_is_made(text: str) -> None:
    code: Any = zxingcpp.create_barcode(text, zxingcpp.BarcodeFormat.QRCode, ec_level="L")
    image: Any = code.to_image(scale=1, add_quiet_zones=False)
    assert modules_of(text) == len(memoryview(image).tolist())


@pytest.mark.parametrize("name", ["cube", "dcell", "subways", "torus"])
def test_every_label_says_as_much_of_its_cable_as_the_others(name: str, plan: Callable[[str], PlanView]) -> None:
    """The paper's container has cables of 1.5 m and of 2 m, whose labels have room for one more
    character."""
    view = plan(name)
    tables = PlanTables(view)
    used = label_form(tables, ExportOptions())
    sheets = label_sheets(tables, range(len(view.rack_names)), ExportOptions(), used, lambda _: None)
    layers = [column["layers"][2]["text"] for page in sheets.pages for column in page["columns"]]
    facts = [words for layer in layers for words in layer.replace("\u00a0", "").split("\n") if words]
    metres = {view.cable_name(i): view.cables["stock_mm"][i] / 1000 for i in range(view.cable_count)}
    assert len(facts) == 2 * view.cable_count
    for words in facts:
        matched = re.fullmatch(r"(C\d+)(?: L\d)? ([0-9.]+) ?m", words)
        assert matched, words
        assert float(matched[2]) == metres[matched[1]]
    assert len({re.sub(r"[0-9.]+", "0", words) for words in facts}) == 1


@pytest.mark.long
@pytest.mark.parametrize("first", [1, 2, 28, 81, 189])
def test_labels_begin_where_the_sheet_has_room(engine: Engine, first: int) -> None:
    view, data = plans.printed(engine, "dcell", "a4", first_label=first)
    stock = STOCKS["a4"]
    pages = Pack(data).label_pages
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
        plans.printed(engine, "dcell", paper, first_label=labels + 1)
    assert raised.value.limit == f"1 to {labels}"
