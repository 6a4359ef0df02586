"""The options of `cubeyard emulate`: rates, faults and hypotheses as text."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console

from cubeyard.cli import emulate
from cubeyard.cli.emulate import _exit_status, _hypothesis, _rate, _upgrade, print_report
from cubeyard.cli.faults import read_fault
from cubeyard.cli.fitting import Taken
from cubeyard.emulation.deploy import probe
from cubeyard.emulation.session import session
from cubeyard.engine import Engine
from tests.emulation.setup.test_fitting import document_of


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("100M", 1e8),
        ("1G", 1e9),
        ("250k", 250e3),
        ("5000 b/s", 5000.0),
        ("2.5 Gbit/s", 2.5e9),
        ("10Mbps", 1e7),
        ("10MBit/s", 1e7),
    ],
)
def test_a_rate_is_read_from_text(text: str, rate: float) -> None:
    assert _rate(text) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "cable-pulled=00/<0,0>@10-20",
            {"kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}, "at_secs": 10.0, "until_secs": 20.0},
        ),
        (
            "switch-off=10% of level-1 switches@5",
            {
                "kind": "switch-off",
                "target": {"selector": "10% of level-1 switches"},
                "at_secs": 5.0,
                "until_secs": None,
            },
        ),
        (
            "server-killed=03",
            {"kind": "server-killed", "target": {"names": ["03"]}, "at_secs": 0.0, "until_secs": None},
        ),
        ('{"target": {"names": ["03"]}}', {"target": {"names": ["03"]}}),
    ],
)
def test_a_fault_is_read_from_text(text: str, fault: dict[str, Any]) -> None:
    assert read_fault(text) == fault


def test_an_upgrade_is_a_topology_and_a_second() -> None:
    assert _upgrade('{"family":"subways","p":2}@4.5') == {"to": {"family": "subways", "p": 2}, "at_secs": 4.5}


def test_a_hypothesis_is_read_from_text() -> None:
    assert _hypothesis("goodput-share>=0.6 for 2s") == {
        "metric": "goodput-share",
        "bound": 0.6,
        "for_secs": 2.0,
    }


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (_rate, "fast"),
        (_rate, "-5M"),
        (_rate, "0"),
        *((_rate, f"10{unit}") for unit in ("MBps", "MB/s", "MB", "mbyte/s", "MBPS", "GBps", "B/s", "20MiB")),
        (read_fault, "link-rate:2MBps=00/<0,0>@1"),
        (read_fault, "03"),
        (_hypothesis, "x"),
        (_hypothesis, "abt>=1.2.3"),
        (_upgrade, '{"family":"subways"}'),
        (_upgrade, '{"family":"subways"}@soon'),
        (_upgrade, "@5"),
    ],
)
def test_text_that_cannot_be_read_exits_with_2(parse: Any, text: str) -> None:
    with pytest.raises(typer.Exit):
        parse(text)


def test_what_is_outside_of_the_part_is_left_out_only_after_a_yes(
    engine: Engine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))  # no terminal
    faults = [read_fault("server-off=(9,9,7)@5"), read_fault("server-off=(0,0,0)@5")]
    document = document_of({"family": "torus3d", "x": 16, "y": 16, "z": 8}, faults=faults)
    with pytest.raises(typer.Exit) as refused:
        Taken(None, yes=False).of(engine, document)
    assert refused.value.exit_code == 2
    printed = capsys.readouterr().err
    assert "servers instead of 2,048" in printed
    assert "faults.0: server-off of (9,9,7)." in printed
    taken = Taken(30, yes=True).of(engine, document)
    assert [fault["target"]["names"] for fault in taken["faults"]] == [["(0,0,0)"]]
    small = document_of({"family": "bcube", "n": 4, "k": 1})
    capsys.readouterr()
    assert Taken(None, yes=False).of(engine, small) == small
    assert capsys.readouterr().err == "", "nothing is printed of a plan that is run as it is"


MISSING = {"id": "f1", "kind": "link-loss", "targets": ["0.0/<0,0>"], "reason": "this kernel has no netem"}
PULLED = {
    "id": "f2", "kind": "cable-pulled", "targets": ["0.0/<0,0>"], "injected_at_secs": 9.0, "late_secs": 5.0, "lasted_secs": 1.0,
    "planned_secs": 3.0, "detected_secs": None, "last_move_secs": None, "already_down": True,
}  # fmt: skip

UPGRADE = {"title": "to p 2", "steps": 8, "steps_done": 3, "connections_lost": 0}


def reported(**more: Any) -> dict[str, Any]:
    window = {
        "secs": 0.4, "goodput_bits_per_sec": 2e6, "least_goodput_bits_per_sec": None, "abt_bits_per_sec": 2e6,
        "stalled_flows": 0, "cpu": 0.3,
    }  # fmt: skip
    return {
        "aggregate_goodput_bits_per_sec": 9.6e6, "ideal_bits_per_sec": 1e7, "header_efficiency": 0.97,
        "fidelity": {"verdict": "faithful", "cause": "none", "reason": "Nothing is missing."},
        "verdict": {"outcome": "none", "sentence": "The run had no hypothesis."}, "windows": {"during": window}, "faults": [],
        "not_injected": [], **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({}, 0),
        ({"not_injected": [MISSING]}, 4),
        ({"faults": [PULLED]}, 3),
        ({"faults": [{"late_secs": 1.0}]}, 0),
        ({"faults": [{"overran_secs": 1.0}]}, 3),
        ({"upgrade": UPGRADE}, 4),
        ({"upgrade": {**UPGRADE, "steps_done": 8}}, 0),
        ({"upgrade": UPGRADE, "verdict": {"outcome": "broken"}}, 1),
        ({"verdict": {"outcome": "held"}}, 0),
        ({"verdict": {"outcome": "broken"}, "not_injected": [MISSING]}, 1),
        ({"verdict": {"outcome": "inconclusive"}}, 3),
        ({"verdict": {"outcome": "not-tested"}}, 4),
    ],
)
def test_the_exit_status_equals_that_of_a_scenario(more: dict[str, Any], status: int) -> None:
    assert _exit_status(reported(**more)) == status


@pytest.fixture
def run_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """`run_session` of a small plan, whose session is a function of its sink."""

    def session_of(play: Callable[[Any], None], interrupted: bool = False, *, partial: bool = False) -> dict[str, Any]:
        class Done:
            def __init__(self, *given: Any) -> None:
                self._sink = given[-1]

            def run(self) -> dict[str, Any]:
                play(self._sink)
                return reported(ended="done")

        monkeypatch.setattr(session, "Session", Done)
        plan = {"family": "bcube", "n": 2, "k": 1}
        request = {"plan": plan, "workload": {"kind": "permutation"}, "engine": "emulation"}
        return emulate.run_session(request, lambda: interrupted, partial=partial)

    monkeypatch.setenv("CUBEYARD_FABRIC_DIR", str(tmp_path))
    monkeypatch.setenv("CUBEYARD_FABRIC_START", "false")
    monkeypatch.setattr(probe, "refuse_impossible", lambda *_: None)
    monkeypatch.setattr(emulate, "clear_left_alone", lambda _settings: None)
    return session_of


def test_events_of_a_report_are_in_order_of_time(run_one: Callable[..., dict[str, Any]]) -> None:
    def play(sink: Any) -> None:
        later = [{"kind": "carrier", "at_secs": 2.5}, {"kind": "carrier", "at_secs": 1.0}]
        sink.frame("tick", {"at_secs": 3.0, "events": later})
        sink.frame("fault", {"kind": "server-off", "at_secs": 2.0})
        assert not sink.over()

    document = run_one(play)
    assert document["ended"] == "done"
    assert [event["at_secs"] for event in document["events"]] == [1.0, 2.0, 2.5]


def test_an_interrupted_run_has_a_report_of_the_time_until_then(
    run_one: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def play(sink: Any) -> None:
        sink.frame("phase", {"phase": "measuring"})
        sink.check()
        assert sink.over()

    document = run_one(play, True, partial=True)
    assert document["ended"] == "stopped"
    with pytest.raises(emulate.StoppedError):
        run_one(play, True)
    with pytest.raises(emulate.StoppedError):
        run_one(lambda sink: sink.check(), True, partial=True)  # nothing was measured yet
    stopped = {**document, "total": {"secs": 3.14}}
    monkeypatch.setattr(emulate, "run_session", lambda *_given, partial: stopped if partial else {})
    with pytest.raises(typer.Exit) as ended:
        emulate.emulate('{"family":"bcube","n":2,"k":1}', as_json=True)
    assert ended.value.exit_code == 130
    assert "Stopped after 3.1 s; everything was removed." in capsys.readouterr().err


def test_the_series_of_a_run_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"at_secs": [0.5, 1.0], "goodput_bits_per_sec": [9, 10], "abt_bits_per_sec": [8, 7]}
    document = reported(run="r1", events=[], series=columns)
    monkeypatch.setattr(emulate, "run_session", lambda *_, **_more: document)
    with pytest.raises(typer.Exit):
        emulate.emulate('{"family":"bcube","n":2,"k":1}', series=tmp_path / "run.csv")
    text = (tmp_path / "run.csv").read_text()
    assert text == "at_secs,goodput_bits_per_sec,abt_bits_per_sec\n0.5,9,8\n1.0,10,7\n"


def test_a_printed_report_names_all_that_did_not_happen_or_was_late_or_down_already() -> None:
    console = Console(file=io.StringIO(), width=300)
    print_report(console, reported(not_injected=[MISSING], faults=[PULLED], upgrade=UPGRADE))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "missing: f1 (link-loss of 0.0/<0,0>) was not injected: this kernel has no netem." in text
    assert "off schedule: f2 (cable-pulled of 0.0/<0,0>) was injected 5.0 s late and lasted 1.0 of 3.0 s." in text
    assert "it was down already" in text
    assert "missing: The run ended after 3 of 8 steps of its upgrade." in text
    assert "–" in text, "no least goodput in less than a second"
