"""Which events belong to which fault, in BCube(2,1): servers 00 and 01 share switch <0,0>, and 00
and 10 share switch <1,0>."""

from __future__ import annotations

from typing import Any

import pytest

from cubeyard.emulation.judge.consequences import Consequences
from cubeyard.emulation.measure.events import Move
from cubeyard.emulation.measure.recorder import Recorder
from cubeyard.engine import Engine
from tests.emulation.measure.test_measures import TINY
from tests.emulation.setup.test_question import question

Json = dict[str, Any]
SECOND = 1_000_000_000


@pytest.fixture
def recorder(engine: Engine) -> Recorder:
    result = Recorder(question(engine, TINY, "permutation"))
    result.clock.sampled(result.question.settings.settle_secs, 0)
    return result


def fault(kind: str, name: str, at: float, until: float | None = None) -> Json:
    return {
        "kind": kind, "targets": [name], "at_nanos": int(at * SECOND), "injected_at_secs": at,
        "recovered_at_secs": until,
    }  # fmt: skip


def ids(recorder: Recorder) -> dict[str, int]:
    return recorder.question.network.id_of


def dead(recorder: Recorder, at: float, server: str, neighbour: str, cause: str = "silence") -> None:
    ends = ids(recorder)
    level = 1 if server[1] == neighbour[1] else 0
    recorder.events.all.append(
        {
            "kind": "neighbour-dead", "server": ends[server], "neighbour": ends[neighbour], "port": level, "cause": cause,
            "at_nanos": int(at * SECOND),
        }
    )  # fmt: skip


def carrier(recorder: Recorder, at: float, server: str, port: int, *, up: bool = False) -> None:
    event = {"kind": "carrier", "server": ids(recorder)[server], "port": port, "up": up, "at_nanos": int(at * SECOND)}
    recorder.events.all.append(event)


def moved(recorder: Recorder, at: float, *path: str, reason: str = "failure") -> None:
    nodes = [ids(recorder)[name] for name in path]
    recorder.events.moves.append(Move(int(at * SECOND), nodes[0], nodes, reason))


def detections(recorder: Recorder, *faults: Json) -> list[tuple[float | None, int]]:
    return [(row["detected_secs"], row["moves"]) for row in Consequences(recorder, faults).documents()]


@pytest.mark.parametrize("kind", ["server-off", "server-killed"])
def test_a_dead_server_is_detected_by_a_neighbour_not_by_its_own_carrier(recorder: Recorder, kind: str) -> None:
    carrier(recorder, 2.001, "00", 0)
    dead(recorder, 2.002, "00", "01", "carrier")
    dead(recorder, 4.25, "01", "00")
    assert detections(recorder, fault(kind, "00", 2.0)) == [(2.25, 0)]


def test_events_of_a_pulled_cable_do_not_count_as_detection_of_a_slower_link(recorder: Recorder) -> None:
    carrier(recorder, 2.0005, "00", 0)
    dead(recorder, 2.001, "01", "00")
    for step in range(49):
        moved(recorder, 2.001 + step / 1000, "00", "01")
    cable, slow = fault("cable-pulled", "00/<0,0>", 2.0), fault("link-rate", "11/<1,1>", 2.0)
    assert detections(recorder, cable, slow) == [(0.0005, 49), (None, 0)]
    assert detections(recorder, slow, cable) == [(None, 0), (0.0005, 49)]
    same = fault("link-rate", "01/<0,0>", 2.0)
    assert detections(recorder, cable, same)[1] == (None, 0), "both are on the path, and one of them explains a failure"
    moved(recorder, 5.0, "10", "11", reason="adaptation")
    assert detections(recorder, cable, fault("link-rate", "10/<0,1>", 2.0))[1] == (3.0, 1)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("cable-pulled", "00/<0,0>", 1.0, 8.0), ("cable-pulled", "00/<0,0>", 3.0, 5.0)),
        (("cable-pulled", "00/<0,0>", 2.0, 6.0), ("cable-pulled", "00/<0,0>", 4.0, 9.0)),
        (("port-down", "00/<0,0>", 2.0, 6.0), ("cable-pulled", "00/<0,0>", 3.0, 4.0)),
        (("server-killed", "00", 2.0, 5.0), ("cable-pulled", "00/<0,0>", 3.0, 7.0)),
        (("switch-off", "<0,0>", 2.0, 5.0), ("link-rate", "01/<0,0>", 2.0, 7.0)),
    ],
)
def test_a_fault_of_a_failed_part_is_not_detected_even_after_its_recovery(
    recorder: Recorder, first: Any, second: Any
) -> None:
    dead(recorder, first[2] + 2.25, "01", "00")
    for at in (4.0, 5.0, 6.0, 8.0, 9.0):
        carrier(recorder, at, "00", 0, up=True)
    result = Consequences(recorder, [fault(*first), fault(*second)]).documents()
    assert [row["detected_secs"] for row in result] == [2.25, None]
    assert [row.get("already_down") for row in result] == [None, True]
    recorder.parts["before"], recorder.series = recorder.total, [(float(at), 0.0, 0.0) for at in range(12)]
    recorder.total.secs = 2.0
    again = Consequences(recorder, [fault(*first), fault(*second)]).documents()
    assert again[0]["recovered_secs"] is not None
    assert again[1]["recovered_secs"] is None, "it changed nothing"


def test_the_first_of_nested_faults_is_detected_by_the_neighbours_that_it_cut_off(recorder: Recorder) -> None:
    """A server dies. Then, before the death is detected, a switch between it and one neighbour is
    turned off."""
    dead(recorder, 4.25, "01", "00")
    server, switch = fault("server-off", "00", 2.0), fault("switch-off", "<0,0>", 3.5)
    assert detections(recorder, server, switch) == [(2.25, 0), (None, 0)]
    dead(recorder, 5.75, "11", "10")
    assert detections(recorder, server, fault("switch-off", "<0,1>", 3.5)) == [(2.25, 0), (2.25, 0)]


def test_nothing_after_its_end_or_half_a_minute_later_is_a_consequence(recorder: Recorder) -> None:
    dead(recorder, 6.0, "01", "00")
    assert detections(recorder, fault("cable-pulled", "00/<0,0>", 2.0, 5.0)) == [(None, 0)]
    dead(recorder, 40.0, "01", "00")
    assert detections(recorder, fault("cable-pulled", "00/<0,0>", 8.0)) == [(None, 0)]


def test_a_report_of_a_path_belongs_to_the_switch_that_is_off(recorder: Recorder) -> None:
    event = {"kind": "path-failed", "server": ids(recorder)["10"], "reporter": ids(recorder)["00"]}
    recorder.events.all.append({**event, "unreachable": [ids(recorder)["01"]], "at_nanos": 3 * SECOND})
    assert detections(recorder, fault("switch-off", "<0,0>", 2.0), fault("switch-off", "<0,1>", 2.5)) == [
        (1.0, 0),
        (None, 0),
    ]


def test_the_goodput_is_not_back_before_the_fault_was_detected(recorder: Recorder, engine: Engine) -> None:
    recorder.series = [(float(at), 0.0, 0.0) for at in range(12)]
    dead(recorder, 4.25, "01", "00")
    (result,) = Consequences(recorder, [fault("server-off", "00", 2.0)]).documents()
    assert result["recovered_secs"] is None, "there is no baseline"
    recorder.parts["before"] = recorder.total
    recorder.total.secs = 2.0
    (result,) = Consequences(recorder, [fault("server-off", "00", 2.0)]).documents()
    assert result["recovered_secs"] >= result["detected_secs"] == 2.25


def test_neighbours_declared_dead_without_a_fault_are_counted(recorder: Recorder) -> None:
    dead(recorder, 1.0, "11", "10")
    dead(recorder, 3.0, "01", "00")
    assert Consequences(recorder, []).unexplained == 2
    pulled = fault("cable-pulled", "00/<0,0>", 2.0, 2.9)
    assert Consequences(recorder, [pulled]).unexplained == 1, "the fault has just ended"


def test_an_hour_of_a_flapping_cable_is_soon_reported(recorder: Recorder) -> None:
    for step in range(60_000):
        moved(recorder, step / 50, "00", "01")
    recorder.series = [(float(at), 0.0, 0.0) for at in range(3600)]
    faults = [fault("cable-pulled", "00/<0,0>", float(at), at + 0.5) for at in range(1000)]
    assert {moves for _, moves in detections(recorder, *faults)} == {26}, "half a second of 50 moves each"
