"""The install pack is opened by pypdf: its pages, its bookmarks, and every cable on the sheets that
a crew works from."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pikepdf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.exports.pdf import typesetting
from cubeyard.exports.pdf.metrics import clipped, fit, width_mm
from cubeyard.exports.pdf.stocks import STOCKS
from cubeyard.exports.pdf.strips import Field, Group, Layout, paginate
from cubeyard.plans.view import PlanView
from tests.conftest import some
from tests.exports import plans
from tests.exports.packs import Pack, cover_of
from tests.exports.tags import check_tags, is_accessible

BACKEND = Path(__file__).parents[2]

_MEASURE = """
import os, re, sys, threading, time
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
with open(sys.argv[1], "wb") as file:
    size = sum(map(file.write, render("pdf", view, lambda fraction, doing: told.append((fraction, doing)))))
after = os.times()
done.set()
watching.join()
pages = {doing for fraction, doing in told if doing.startswith("typesetting")}
grows = [fraction for fraction, _ in told] == sorted(fraction for fraction, _ in told)
print(size, sum(after[:4]) - sum(before[:4]), highest("self") + max(peaks.values()), len(pages), grows, len(peaks), highest("self"))
"""


@pytest.fixture(scope="module")
def papers_pack(tmp_path_factory: pytest.TempPathFactory) -> tuple[Pack, list[str]]:
    """The pack of the paper's container, and what `_MEASURE` prints of its making."""
    file = tmp_path_factory.mktemp("pack") / "pack.pdf"
    out = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(file)],
        env=os.environ | {"PYTHONPATH": str(BACKEND)}, cwd=BACKEND, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    return Pack(file.read_bytes()), out


@pytest.mark.parametrize("name", ["dcell", "subways"])
def test_every_mark_on_a_page_is_tagged_or_decoration(pack: Callable[..., Pack], name: str) -> None:
    """PDF/UA-1. The subways pack is typeset in several parts, whose tags are joined."""
    with pikepdf.open(io.BytesIO(pack(name).data)) as pdf:
        check_tags(pdf)
        assert is_accessible(pdf)
        assert str(pdf.Root.Lang) == "en"
        assert bool(pdf.Root.ViewerPreferences.DisplayDocTitle)


def test_codes_on_labels_are_decoration(engine: Engine) -> None:
    _, data = plans.printed(engine, "dcell", "a4", codes="cable")
    with pikepdf.open(io.BytesIO(data)) as pdf:
        check_tags(pdf)


def test_a_name_without_letters_in_the_fonts_is_printed_and_claims_no_standard(engine: Engine) -> None:
    spec, book = plans.SPECS["dcell"]
    view = plans.compute(engine, spec, book, "\u5bb9\u5668")
    with pikepdf.open(io.BytesIO(b"".join(render("pdf", view)))) as pdf:
        check_tags(pdf)
        assert not is_accessible(pdf)


NAMES = some(("subways", "dcell", "partless", "fat-tree", "torus"), 3)


@pytest.mark.parametrize("name", NAMES)
def test_each_page_is_numbered_and_none_overflows(
    name: str, pack: Callable[..., Pack], plan: Callable[[str], PlanView]
) -> None:
    """The total is decided before typesetting: a sheet that ran over its page would make it
    wrong."""
    pages = pack(name).pages
    for number, text in enumerate(pages, 1):
        assert f"page {number} of {len(pages)}" in text
        assert f"plan {plan(name).plan_hash[:12]}" in text


@pytest.mark.parametrize("name", NAMES)
def test_rack_sheets_hold_every_cable_at_both_its_ends(
    name: str, pack: Callable[..., Pack], plan: Callable[[str], PlanView]
) -> None:
    view = plan(name)
    seen: Counter[str] = Counter()
    for rack in view.rack_names:
        sheets = pack(name).titled(f"Rack {rack}\n") or pack(name).titled(f"Rack {rack}")
        seen.update(re.findall(r"\bC\d{5,}\b", "\n".join(sheets)))
    racks = view.scene["devices"]["rack"]
    for i in range(view.cable_count):
        stays = racks[view.cables["a_device"][i]] == racks[view.cables["b_device"][i]]
        assert seen[view.cable_name(i)] == (1 if stays else 2)


@pytest.mark.parametrize("name", NAMES)
def test_switch_sheets_hold_every_switch_and_port(
    name: str, pack: Callable[..., Pack], plan: Callable[[str], PlanView]
) -> None:
    view = plan(name)
    sheets = "\n".join(pack(name).titled("Switches "))
    kinds = view.scene["devices"]["kind"]
    if not any(kinds):
        assert not sheets, "a torus has no switches"
        return
    for device, kind in enumerate(kinds):
        assert (not kind) or view.host_names[device] in sheets
    ends = Counter(re.findall(r"\bC\d{5,}\b", sheets))
    for i in range(view.cable_count):
        expected = kinds[view.cables["a_device"][i]] + kinds[view.cables["b_device"][i]]
        assert ends[view.cable_name(i)] == expected


@pytest.mark.parametrize("name", ["subways", "dcell"])
def test_label_sheets_hold_two_labels_a_cable(
    name: str, pack: Callable[..., Pack], plan: Callable[[str], PlanView]
) -> None:
    view = plan(name)
    sheets = "\n".join(pack(name).titled("Labels "))
    counts = Counter(re.findall(r"\bC\d{5,}\b", sheets))
    assert counts == {view.cable_name(i): 2 for i in range(view.cable_count)}
    for label in (*view.near_labels[:40], *view.far_labels[:40]):
        assert label.split("/")[0] in sheets


@pytest.mark.parametrize("paper", ["a4", "letter"])
def test_label_sheets_are_those_that_the_bill_buys(engine: Engine, paper: str) -> None:
    """As many as it orders, of the stock that each sheet names, within the sheet's edges."""
    view, data = plans.printed(engine, "trunks", paper)
    made = Pack(data)
    sheets = made.label_pages
    line = next(line for line in view.bom["lines"] if line["category"] == "label")
    assert len(sheets) == line["quantity"]
    stock = STOCKS[paper]
    assert stock.labels == line["pieces_per_unit"]
    assert line["part_number"] in stock.name
    assert stock.left > 5
    assert stock.left + (stock.columns - 1) * stock.column_pitch + stock.cell_width < stock.width - 5
    for page in sheets:
        assert stock.name in made.pages[page]
        box = made.reader.pages[page].mediabox
        points = float(box.width), float(box.height)
        assert points == pytest.approx((stock.width / 25.4 * 72, stock.height / 25.4 * 72), abs=0.5)


@pytest.mark.long
def test_the_papers_pack_fits_a_worker(papers_pack: tuple[Pack, list[str]]) -> None:
    """Under 30 s and 300 MB for 2,048 servers: processor time of all programs, because the machine
    is shared; memory of the worker and its largest program together. Progress names the pages that
    are being typeset and only grows."""
    _, out = papers_pack
    size_bytes, secs, megabytes, steps, grows = int(out[0]), float(out[1]), int(out[2]), int(out[3]), out[4]
    print(*out)
    assert size_bytes > 1_000_000
    assert 1 < secs < 30
    assert 50 < megabytes < 300
    assert steps >= 10
    assert grows == "True"


@pytest.mark.long
def test_the_papers_pack_has_every_part(papers_pack: tuple[Pack, list[str]], plan: Callable[[str], PlanView]) -> None:
    whole, _ = papers_pack
    cover = whole.pages[0]
    for words in (
        "Install pack",
        "Partial BCube(8,3)",
        "8,192",
        "Wiring certificate: passed",
        plan("priced").plan_hash,
    ):
        assert words in cover
    for section in ("Floor plan", "Elevations", "Pull order", "Bill of materials", "rack", "switch", "Label sheets"):
        assert section in cover
    sizes = {
        (round(float(page.mediabox.width) / 72 * 25.4), round(float(page.mediabox.height) / 72 * 25.4))
        for page in whole.reader.pages
    }
    assert sizes == {(210, 297), (420, 297)}, "A4, and A3 for drawings"
    titles = [text.split("\n")[0] for text in whole.pages[:6]]
    assert any(title.startswith("Floor plan") for title in titles)
    elevations = next(whole.pages[i] for i, title in enumerate(titles) if title.startswith("Elevations"))
    assert "s3-001" in elevations or "s3-000" in elevations
    assert "front" in elevations
    assert any(" from the rear" in words or ", rear" in words for words in map(str, titles))


def test_findings_are_on_the_cover(pack: Callable[..., Pack], plan: Callable[[str], PlanView]) -> None:
    finding = plan("partless").summary["findings"][0]
    cover = " ".join(pack("partless").pages[0].split())
    assert finding["severity"] in cover
    assert " ".join(finding["message"].split())[:40] in cover


def test_limits_and_what_the_plan_accepts_are_on_the_cover(engine: Engine) -> None:
    spec = {
        "topology": {"family": "bcube", "n": 8, "k": 3, "servers": 2048},
        "site": {"power_limit_watts": 500_000},
    }
    view = plans.compute(engine, spec, "current-2026")
    cover, _ = cover_of(view)
    assert "Power feed: Container 1: 487.4 kW" in cover
    assert "limit 500.0 kW (plan)" in cover
    assert "limit 30,480 kg (catalog, published)" in cover
    assert "Accepted by the plan: power feed limit 500.0 kW (catalog: 400.0 kW)" in cover


def test_a_large_plan_is_bounded_and_says_so(large: PlanView) -> None:
    cover, pages = cover_of(large)
    assert 100 < pages < 1500
    assert re.search(r"Cable sheets are given for the first \d[\d,]* of 1?[\d,]+ racks", cover)
    assert "Every cable is in the CSV cable schedule" in cover


def test_progress_moves_while_the_pack_is_typeset(
    plan: Callable[[str], PlanView], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typesetting, "_POLL_SECS", 0.02)
    reported: list[tuple[float, str]] = []
    for _ in render("pdf", plan("dcell"), lambda fraction, doing: reported.append((fraction, doing))):
        pass
    fractions = [fraction for fraction, _ in reported]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    typesetting_at = [fraction for fraction, doing in reported if doing.startswith("typesetting")]
    assert len(set(typesetting_at)) > 3
    assert all(fraction < 1.0 for fraction in typesetting_at)


def test_who_waits_may_stop_the_typesetter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forever = tmp_path / "forever"
    forever.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    forever.chmod(0o755)
    monkeypatch.setattr(typesetting.sys, "executable", str(forever))
    monkeypatch.setattr(typesetting, "_POLL_SECS", 0.05)

    def waiting(secs: float) -> None:
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip():
            raise InterruptedError(secs)

    with pytest.raises(InterruptedError):
        list(typesetting.typeset({"main.typ": b""}, waiting))
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_typesetter_that_fails_is_an_error_and_not_an_empty_file(
    plan: Callable[[str], PlanView], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typesetting.sys, "executable", "/bin/false")
    with pytest.raises(typesetting.TypesettingError):
        list(render("pdf", plan("dcell")))


def test_hostile_names_are_only_words(hostile: PlanView) -> None:
    pack = Pack(b"".join(render("pdf", hostile)))
    assert "=cmd" in pack.pages[0]
    assert all(f"page {number} of {len(pack.pages)}" in text for number, text in enumerate(pack.pages, 1))


@given(
    sizes=st.lists(st.integers(0, 90), max_size=30),
    lines=st.integers(4, 60),
    strips=st.integers(1, 3),
    whole=st.integers(0, 40),
)
def test_pages_hold_every_line_once_and_in_order(sizes: list[int], lines: int, strips: int, whole: int) -> None:
    layout = Layout((Field("a", 10),), pitch=4, size=7, lines=lines, strips=strips, whole=whole)
    groups = [Group(f"g{g}", "", [(f"{g}.{i}",) for i in range(size)]) for g, size in enumerate(sizes)]
    printed: list[str] = []
    for page in paginate(layout, groups):
        assert 1 <= len(page) <= strips
        for strip in page:
            text = strip["fields"][0]["text"].split("\n")
            assert len(text) <= lines
            heads = {head["line"] for head in strip["heads"]}
            assert 0 in heads, "a strip begins with a title"
            printed += [words for at, words in enumerate(text) if at not in heads and words != "\u00a0"]
    assert printed == [line[0] for group in groups for line in group.lines]


@given(st.text(max_size=80), st.floats(2, 60))
def test_clipped_words_fit(words: str, limit: float) -> None:
    made = clipped(words, limit, 7.0)
    assert made == words or made.endswith("\u2026")
    assert len(made) <= max(len(words), 1)


def test_columns_fill_the_page_and_never_more() -> None:
    fields = [Field("A", 1), Field("B", 1)]
    for words in ("x", "R07-12B:P3", "W" * 200):
        sized, size = fit(fields, [(words, words)], 188.0, 1.5, 7.2)
        assert sum(item.width_mm for item in sized) + 1.5 + 1.8 <= 188.0 + 1e-6
        assert width_mm(words, size) <= sized[0].width_mm + 1e-6
