"""Reports read back: they contain every number, they load no external resources, and hostile names
are only text."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pypdf
import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.reports.chart import HEIGHT, LEFT, PAGE, PRINT, RIGHT, TOP, WIDTH, svg
from cubeyard.reports.content import Chart, Line, shown
from tests.conftest import SMALL
from tests.runs.conftest import API, ended, start, wait_for

Json = dict[str, Any]
DCELL = {"family": "dcell", "n": 4, "k": 1}
SWEEP: Json = {
    "plan": SMALL,
    "axes": {
        "topologies": [SMALL, DCELL],
        "failure": [{"kind": "server", "ratios": [0, 0.2]}, {"kind": "switch", "ratios": [0, 0.25]}],
        "seeds": 2,
    },
}


class Page(HTMLParser):
    """The words of a page by where they stand, the cells of its tables, and its open elements."""

    VOID = frozenset({"meta", "circle", "rect", "line", "polygon", "polyline"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.words: list[str] = []
        self.tags: set[str] = set()
        self.fetched: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.fetched += [str(value) for name, value in attrs if name in {"src", "href", "srcset", "action", "onload"}]
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def page_of(client: TestClient, run: str) -> Page:
    answer = client.get(f"{API}/runs/{run}/report.html")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"].startswith("inline")
    page = Page(answer.text)
    assert page.fetched == []
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", answer.text), "nothing is fetched"
    assert "prefers-color-scheme:dark" in answer.text
    return page


def print_of(client: TestClient, run: str) -> str:
    answer = client.get(f"{API}/runs/{run}/report.pdf")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/pdf"
    return " ".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(answer.content)).pages)


def test_a_sweep_s_report_has_its_question_its_numbers_and_where_they_are_from(working_client: TestClient) -> None:
    run = start(working_client, **SWEEP, name="Yard <b>& sons</b>")
    done = wait_for(working_client, run["id"], ended)
    assert done["state"] == "succeeded", done["reason"]
    page, printed = page_of(working_client, run["id"]), print_of(working_client, run["id"])
    points = working_client.get(f"{API}/runs/{run['id']}/results").json()["points"]
    assert len(points) == 16
    by_row: dict[tuple[int, str, float], list[float]] = {}
    for point in points:
        assert shown(point["result"]["abt_gbps"]) in page.cells
        by_row.setdefault((point["topology"], point["failure_kind"], point["failure_ratio"]), []).append(
            point["result"]["abt_gbps"]
        )
    for values in by_row.values():
        assert shown(sum(values) / len(values)) in page.cells
        assert shown(sum(values) / len(values)) in printed
    experiment = working_client.get(f"{API}/experiments/{run['experiment_id']}").json()
    for words in ("Yard <b>& sons</b>", "BCube(4,1)", "DCell(4,1)", "all to all", "seeds 7 to 8", experiment["content_hash"][:12], experiment["topologies"][1]["plan_hash"][:12], done["engine_version"], run["id"]):  # fmt: skip
        assert words in page.text, words
        assert words in printed, words
    assert "b" not in page.tags
    assert "With 25 % of its switches failed, BCube(4,1) keeps" in page.text
    assert len(re.findall(r"Throughput against failed|Dropped flows against failed", page.text)) == 4
    again = [
        working_client.get(f"{API}/runs/{run['id']}/report.{kind}").content for kind in ("html", "pdf", "html", "pdf")
    ]
    assert again[:2] == again[2:], "the same run is the same file"


def test_a_run_that_is_not_over_says_so(client: TestClient) -> None:
    run = start(client, plan=SMALL, faults=[{"target": {"selector": "2 of level-1 switches"}, "at_secs": 1.5}])
    assert "Not complete: the run is queued with 0 of 1 points." in page_of(client, run["id"]).text
    client.post(f"{API}/runs/{run['id']}/cancel")
    page = page_of(client, run["id"])
    assert "Not complete: the run is cancelled" in page.text
    assert "2 of level-1 switches from 1.5 s" in page.text
    assert "cancelled" in print_of(client, run["id"])
    for kind in ("html", "pdf"):
        assert client.get(f"{API}/runs/{'0' * 14}/report.{kind}").status_code == 404
    assert client.get(f"{API}/runs/{run['id']}/report.docx").status_code == 404


def test_a_figure_s_report_has_the_paper_beside_ours(working_client: TestClient) -> None:
    run = working_client.post(f"{API}/figures/bcube-table2/runs", json={}).json()
    wait_for(working_client, run["id"], ended)
    page, printed = page_of(working_client, run["id"]), print_of(working_client, run["id"])
    figure = working_client.get(f"{API}/runs/{run['id']}/results").json()["figure"]
    for row in figure["rows"]:
        for value in (row["name"], shown(row["paper"]), shown(row["ours"]), row["verdict"]):
            assert value in page.cells
    for words in (*figure["choices"], figure["provenance"]["source"]):
        assert words in page.text
    assert f"Of {len(figure['rows'])} published numbers" in printed


NUMBERS = st.floats(-1e9, 1e9, allow_nan=False, width=32)


@st.composite
def charts(draw: st.DrawFn) -> Chart:
    lines = []
    for _ in range(draw(st.integers(0, 6))):
        x = sorted(draw(st.lists(NUMBERS, max_size=6, unique=True)))
        y = [draw(NUMBERS) for _ in x]
        banded = draw(st.booleans())
        spread = draw(st.floats(0, 1e6))
        low, high = ([value - spread for value in y], [value + spread for value in y]) if banded else (None, None)
        lines.append(Line(draw(st.text(max_size=12).map(printable)), x, y, low, high))
    return Chart(draw(st.text(max_size=20).map(printable)), "x & <y>", '"', lines, x_share=draw(st.booleans()))


def printable(text: str) -> str:
    return "".join(letter for letter in text if letter.isprintable())


@given(chart=charts())
def test_any_chart_is_a_picture_with_every_point_inside(chart: Chart) -> None:
    for colours in (PAGE, PRINT):
        text = svg(chart, colours)
        drawn = [line for line in chart.lines if line.x]
        if not drawn:
            assert text == ""
            continue
        picture = ElementTree.fromstring(text)
        tag = "{http://www.w3.org/2000/svg}"
        curves = picture.findall(f"{tag}polyline")
        assert [len(curve.get("points", "").split()) for curve in curves] == [len(line.x) for line in drawn]
        for shape in [*curves, *picture.findall(f"{tag}polygon")]:
            for pair in shape.get("points", "").split():
                x, y = (float(part) for part in pair.split(","))
                assert LEFT - 5 <= x <= WIDTH - RIGHT + 5
                assert TOP - 5 <= y <= HEIGHT + 20 * len(drawn)


@pytest.mark.parametrize(
    ("value", "share", "text"),
    [
        (None, False, ""), ("R07", False, "R07"), (0, False, "0"), (0.0, True, "0 %"), (2006.25, False, "2,006"), (4192256, False, "4,192,256"),
        (0.05, True, "5 %"), (0.36842, True, "36.8 %"), (3.14159, False, "3.142"), (1e-7, False, "0.0000001"), (-12.5, False, "-12.5"),
    ],
)  # fmt: skip
def test_numbers_are_shown_as_people_write_them(value: Any, share: bool, text: str) -> None:
    assert shown(value, share=share) == text


@given(st.floats(-1e12, 1e12, allow_nan=False))
def test_what_is_shown_is_near_the_value(value: float) -> None:
    near = float(shown(value).replace(",", ""))
    assert abs(near - value) <= max(abs(value) * 6e-4, 1e-11)
