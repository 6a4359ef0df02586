"""The report of a session: its verdict, the fidelity of every number, and the recovery from each
fault."""

from __future__ import annotations

import io
from typing import Any

import pikepdf
import pypdf
import pytest

from cubeyard.experiments.emulation import Emulation
from cubeyard.reports import session, settings
from cubeyard.reports.content import Report
from cubeyard.reports.html import html
from cubeyard.reports.pdf import pdf
from tests.exports.tags import is_accessible
from tests.reports.test_reports import Page

Json = dict[str, Any]
WINDOW: Json = {
    "secs": 6.1, "goodput_bits_per_sec": 1_234_500_000, "least_goodput_bits_per_sec": 987_000_000, "abt_bits_per_sec": 543_000_000,
    "least_abt_bits_per_sec": 321_000_000, "stalled_flows": 0, "retransmits": 77, "drops": 3, "queue_drops": 21, "cpu": 0.415,
}  # fmt: skip
FAULT: Json = {
    "id": "f1", "kind": "cable-pulled", "targets": ["00/<0,0>"], "injected_at_secs": 6.0, "recovered_at_secs": None,
    "detected_secs": 0.0019, "first_move_secs": 0.0021, "last_move_secs": None, "moves": 49, "recovered_secs": 1.5,
}  # fmt: skip
DOCUMENT: Json = {
    "ended": "aborted",
    "verdict": {"outcome": "broken", "sentence": "goodput-share was not at least 0.6."},
    "aggregate_goodput_bits_per_sec": 1_234_500_000,
    "ideal_bits_per_sec": 2_000_000_000,
    "header_efficiency": 0.98,
    "abt_bits_per_sec": 543_000_000,
    "predicted": {"abt_bits_per_sec": 1_710_000_000},
    "total": WINDOW,
    "windows": {"before": WINDOW, "during": WINDOW},
    "fidelity": {"verdict": "host-limited", "reason": "The machine was busy."},
    "faults": [FAULT],
    "per_server": [
        {"server": "00", "sent_bits_per_sec": 1e8, "received_bits_per_sec": 9e7, "relayed_bits_per_sec": 1.5e7},
    ],
    "per_link": [
        {
            "link": "00/<0,0>",
            "level": 0,
            "ab_bits_per_sec": 8.8e7,
            "ba_bits_per_sec": 0,
            "ab_packets": 9876,
            "ba_packets": 54,
            "ab_drops": 3,
            "ba_drops": 0,
        }
    ],
    "series": {
        "at_secs": [0, 1, 2],
        "goodput_bits_per_sec": [1e9, 1.1e9, 4e8],
        "abt_bits_per_sec": [5e8, 5e8, 0],
    },
}


def test_the_predicted_curves_step_with_each_fault_and_recovery() -> None:
    steps = [
        {"at_secs": 0.5, "ideal_bits_per_sec": 1e9, "abt_bits_per_sec": 5e8},
        {"at_secs": 1.5, "ideal_bits_per_sec": 2e9, "abt_bits_per_sec": 1e9},
    ]
    predicted = {"ideal_bits_per_sec": 2e9, "abt_bits_per_sec": 1e9}
    (chart,) = session.sections({**DOCUMENT, "predicted": predicted, "predicted_steps": steps})[0].charts
    goodput, abt = chart.lines[2:]
    assert goodput.x == abt.x == [0.0, 0.5, 0.5, 1.5, 1.5, 2.0]
    assert goodput.y == [1960.0, 1960.0, 980.0, 980.0, 1960.0, 1960.0]
    assert abt.y == [980.0, 980.0, 490.0, 490.0, 980.0, 980.0]
    assert [line.name for line in session.sections(DOCUMENT)[0].charts[0].lines] == ["goodput", "ABT"]


def report(document: Json) -> Report:
    return Report(
        "BCube(4,1)", "Session with real packets", "Complete.", session.findings(document), [], session.sections(document),
        session.provenance(document),
    )  # fmt: skip


def test_the_page_says_the_verdict_what_it_is_worth_and_every_number() -> None:
    page = Page(b"".join(html(report(DOCUMENT))).decode())
    words = " ".join(page.words)
    for message in (
        "Hypothesis not met",
        "host-limited",
        "The machine was busy",
        "1.676 Gb/s",
        "it was aborted",
        "numbers measured",
    ):
        assert message in words
    for cell in ("1.234 Gb/s", "41.5 %", "21", "F1", "cable pulled", "1.9", "49", "90", "88", "9,876"):
        assert cell in page.cells
    # A session without a part "after" has no such row, and unknown values are empty.
    assert "after" not in page.cells
    assert page.fetched == []
    rows = sum(len(table.rows) for section in session.sections(DOCUMENT) for table in section.tables)
    assert page.cells.count("host-limited") == rows


@pytest.mark.parametrize(
    ("kind", "amount", "said"),
    [
        ("link-rate", {"rate_bits_per_sec": 1e7}, "link rate 10 Mb/s"),
        ("link-loss", {"loss_ratio": 0.05}, "link loss 5 %"),
        ("link-delay", {"delay_secs": 0.02}, "link delay 20 ms"),
    ],
)
def test_a_fault_says_by_how_much(kind: str, amount: Json, said: str) -> None:
    faults = [{**FAULT, "kind": kind, **amount}]
    _, section, *_ = session.sections({**DOCUMENT, "faults": faults})
    assert section.tables[0].rows[0][1] == said


def test_faults_are_counted_as_on_the_page() -> None:
    faults = [{**FAULT, "id": item} for item in ("f1", "f2", "l1", "l12")]
    _, section, *_ = session.sections({**DOCUMENT, "faults": faults}, scheduled=2)
    assert [row[0] for row in section.tables[0].rows] == ["F1", "F2", "F3", "F14"]


def test_the_same_is_typeset() -> None:
    data = b"".join(pdf(report(DOCUMENT)))
    text = " ".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages)
    with pikepdf.open(io.BytesIO(data)) as opened:
        assert is_accessible(opened)
        assert "/StructTreeRoot" in opened.Root
    assert "Hypothesis not met" in text
    assert "00/<0,0>" in text


def test_a_session_without_faults_or_time_has_less_to_say() -> None:
    short = {
        **DOCUMENT,
        "faults": [],
        "windows": {},
        "series": {"at_secs": [], "goodput_bits_per_sec": [], "abt_bits_per_sec": []},
    }
    short |= {
        "verdict": {"outcome": "none", "sentence": "The run had no hypothesis."},
        "ideal_bits_per_sec": 0,
        "ended": "done",
    }
    made = session.sections(short)
    assert [section.title for section in made] == ["The whole run", "Every server", "Every link"]
    assert made[0].charts == []
    assert [column.title for column in made[0].tables[0].columns] == ["Mean", "whole run", "Fidelity"]
    assert session.findings(short)[0] == "The run had no hypothesis."


def test_settings_are_told_in_words_and_what_is_absent_is_not() -> None:
    emulation = Emulation(seconds=12, dataplane="serverswitch", flow_bits_per_sec=None).model_dump(mode="json")
    reported = dict(settings.in_words(emulation))
    assert reported["Measured for"] == "12 s"
    assert reported["Forwarding"] == "switching chip in the kernel (eBPF)"
    assert reported["Transport"] == "TCP"
    assert "Gateways" not in reported
    assert "Rate of a flow" not in reported
    images = [{"image": "web:1", "servers": ["00", "01"]}, {"image": "db:2", "servers": None}]
    assert settings.in_words({"images": images}) == [("Images of users", "web:1 on 00, 01; db:2 on every server")]
    assert settings.in_words({"gateways": ["00", "01"], "flow_bits_per_sec": 2.5e6}) == [
        ("Gateways", "00, 01"),
        ("Rate of a flow", "2.5 Mb/s"),
    ]


def test_every_setting_of_an_emulation_has_a_title() -> None:
    assert set(Emulation.model_fields) <= set(settings.TITLED)
