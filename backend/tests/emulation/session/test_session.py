"""The session's own logic with a scripted fabric: order of frames, faults, guard, cancelling, and
cleanup."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cubeyard.emulation.fabric.client import FabricError, FabricGoneError
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.faults.faults import NEVER
from cubeyard.emulation.live.service import resolve_live
from cubeyard.emulation.session import session
from cubeyard.emulation.session.fault_control import MOST_TRIES
from cubeyard.emulation.session.orders import Order
from cubeyard.emulation.session.session import Session
from cubeyard.emulation.setup.question import Question, read
from cubeyard.engine import Engine
from cubeyard.experiments.hypotheses import Hypothesis
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings
from tests.conftest import SMALL
from tests.emulation.scripted import Scripted, scripted
from tests.frames.checked import checked

Json = dict[str, Any]
RUN = "0a1b2c3d4e5f6g"


OVER = 1e9
"""The time of an order that arrives after the workload has ended."""


class Kept:
    """A sink that stores all frames and provides the test's orders."""

    def __init__(self) -> None:
        self.frames: list[tuple[str, Json]] = []
        self.asked: list[tuple[float, Order]] = []
        self.outcomes: dict[int, Json] = {}
        self.stop_after: str | None = None
        self.over_after: str | None = None
        self.over_at_secs = OVER
        self.pause: tuple[float, float] | None = None
        """When this process is stopped, on the run's clock, and for how many seconds."""
        self._at = 0.0

    def frame(self, kind: str, payload: Json) -> None:
        self.frames.append((kind, checked(kind, payload)))
        if kind == "tick":
            self._at = payload["at_secs"]
            if self.pause is not None and self._at >= self.pause[0]:
                secs, self.pause = self.pause[1], None
                time.sleep(secs)
        if payload.get("phase") == "removing":
            self._at = OVER

    def progress(self, share: float) -> None:
        assert 0 <= share <= 1

    def check(self) -> None:
        if self.stop_after is not None and any(kind == self.stop_after for kind, _ in self.frames):
            raise KeyboardInterrupt

    def over(self) -> bool:
        return self._at >= self.over_at_secs or any(kind == self.over_after for kind, _ in self.frames)

    def orders(self) -> list[Order]:
        now = [order for at, order in self.asked if at <= self._at]
        self.asked = [(at, order) for at, order in self.asked if at > self._at]
        return now

    def done(self, order: Order, outcome: Json) -> None:
        self.outcomes[order.id] = outcome

    def of(self, kind: str) -> list[Json]:
        return [payload for item, payload in self.frames if item == kind]


def question(engine: Engine, *, faults: list[Json] | None = None, **emulation: Any) -> Question:
    short = {"seconds": 1.6, "settle_secs": 0.1, "calibrate_secs": 0.2, "mode": "namespaces", **emulation}
    request = {"plan": SMALL, "workload": {"kind": "permutation"}, "engine": "emulation", "link_gbps": 0.1}
    document = ExperimentCreate.model_validate({**request, "faults": faults or [], "emulation": short}).model_dump(
        mode="json"
    )
    return read(engine, {**document, "plan": {"spec": SMALL}})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def fabric(place: Place) -> Iterator[Scripted]:
    with scripted(place.socket) as script:
        yield script


def run(place: Place, asked: Question, sink: Kept) -> Json:
    return Session(Settings(), place, RUN, asked, sink).run()


def test_frames_come_in_order_and_everything_is_removed(engine: Engine, place: Place, fabric: Scripted) -> None:
    sink = Kept()
    report = run(place, question(engine, calibrate_secs=0.5), sink)
    kinds = [kind for kind, _ in sink.frames]
    assert kinds[0] == "network"
    (network,) = sink.of("network")
    assert network["servers"]["host_name"] == [f"h{name}" for name in network["servers"]["name"]]
    assert network["switches"]["host_name"][0] == "s0-0"
    assert [frame["phase"] for frame in sink.of("phase")] == [
        "deploying", "up", "calibrating", "calibrated", "settling", "measuring", "removing",
    ]  # fmt: skip
    times = [tick["at_secs"] for tick in sink.of("tick")]
    assert times == sorted(times)
    assert times[0] < 0 < times[-1]
    assert [name for name, _ in fabric.calls if name != "subscribe"] == [
        "destroy", "prepare", "wire", "workload", "start", "stop", "workload", "start", "stop", "destroy",
    ]  # fmt: skip
    (prepared,) = [params for name, params in fabric.calls if name == "prepare"]
    assert prepared["ends_with_caller"] is True, "a fabric ends the run of a process that is killed"
    assert report["ended"] == "done"
    assert report["fidelity"]["verdict"] == "faithful"
    assert report["aggregate_goodput_bits_per_sec"] == pytest.approx(16 * 1e8, rel=0.5)
    assert report["windows"].keys() == {"before"}
    assert place.free(RUN)


def test_a_pair_that_is_measured_for_too_short_is_not_blamed(engine: Engine, place: Place, fabric: Scripted) -> None:
    fabric.rate = lambda _now, _faults: 0.5
    sink = Kept()
    report = run(place, question(engine, calibrate_secs=0.1), sink)
    assert "calibrating" not in [frame["phase"] for frame in sink.of("phase")]
    assert (report["fidelity"]["verdict"], report["fidelity"]["calibration"]) == ("unknown", None)


def test_a_session_ends_when_the_purpose_of_its_sink_is_fulfilled(
    engine: Engine, place: Place, fabric: Scripted
) -> None:
    sink = Kept()
    sink.over_after = "second"
    report = run(place, question(engine, seconds=60.0), sink)
    assert report["ended"] == "done"
    assert sink.of("tick")[-1]["at_secs"] < 30
    assert place.free(RUN)


def test_a_scheduled_fault_strikes_and_ends(engine: Engine, place: Place, fabric: Scripted) -> None:
    sink = Kept()
    pulled = {"at_secs": 0.5, "until_secs": 1.0, "kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}}
    report = run(place, question(engine, faults=[pulled]), sink)
    assert [(frame["state"], frame["targets"]) for frame in sink.of("fault")] == [
        ("injected", ["00/<0,0>"]),
        ("recovered", ["00/<0,0>"]),
    ]
    # In real time, a busy machine may be late but never early.
    struck, mended = (frame["at_secs"] for frame in sink.of("fault"))
    assert 0.5 <= struck < mended
    assert mended >= 1.0
    (injected,) = [params["fault"] for name, params in fabric.calls if name == "inject"]
    assert injected == {"id": "f1.0", "kind": "cable-pulled", "target": {"link": 0}}
    before, during, after = (report["windows"][name]["goodput_bits_per_sec"] for name in ("before", "during", "after"))
    assert during < 0.6 * before
    assert after > 0.8 * before
    assert report["faults"][0]["injected_at_secs"] == struck


def test_a_fault_that_is_late_keeps_its_length(engine: Engine, place: Place, fabric: Scripted) -> None:
    sink = Kept()
    sink.pause = (0.3, 0.8)
    pulled = {"at_secs": 0.4, "until_secs": 0.8, "kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}}
    easy = {"metric": "goodput", "bound": 0.0, "for_secs": 0.5}
    slow = question(engine, faults=[pulled], seconds=2.6, hypothesis=easy)
    report = run(place, slow, sink)
    (fault,) = report["faults"]
    assert fault["at_secs"] == 0.4
    assert fault["injected_at_secs"] - 0.4 == pytest.approx(fault["late_secs"], abs=0.001)
    assert fault["late_secs"] > 0.5
    assert fault["recovered_at_secs"] - fault["injected_at_secs"] >= 0.399, "times are rounded to 1 ms"
    early = [tick for tick in sink.of("tick") if 0 < tick["at_secs"] < fault["injected_at_secs"] - 0.002]
    assert {tick["phase"] for tick in early} == {"before"}, "also the ticks that were read after it"
    assert report["verdict"]["outcome"] == "held"
    assert "was injected" in report["verdict"]["sentence"]
    assert "s late" in report["verdict"]["sentence"]


@pytest.mark.parametrize("until_secs", [0.45, 0.7])
def test_a_fault_that_is_shorter_than_a_tick_or_slow_to_inject_keeps_its_length(
    engine: Engine, place: Place, fabric: Scripted, until_secs: float
) -> None:
    """The first fault ends before the tick with which it begins, the other one while it is being
    injected."""
    slow_secs = 0.6 if until_secs == 0.7 else 0.0
    fabric.delays = {"inject": slow_secs}
    sink = Kept()
    sink.pause = None if slow_secs else (0.38, 0.12)
    pulled = {"at_secs": 0.4, "until_secs": until_secs, "kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}}
    (fault,) = run(place, question(engine, faults=[pulled], seconds=2.5), sink)["faults"]
    lasted = fault["recovered_at_secs"] - fault["injected_at_secs"]
    assert lasted >= slow_secs + until_secs - 0.402, "times are rounded to 1 ms"
    assert fault.get("took_secs", 0.0) >= slow_secs, "a slow injection is reported"


def test_a_late_fault_that_the_end_cuts_short_leaves_the_run_inconclusive(
    engine: Engine, place: Place, fabric: Scripted
) -> None:
    sink = Kept()
    sink.pause = (0.3, 0.9)
    pulled = {"at_secs": 0.4, "until_secs": 1.2, "kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}}
    slow = question(engine, faults=[pulled], hypothesis={"metric": "goodput", "bound": 0.0, "for_secs": 0.1})
    report = run(place, slow, sink)
    (fault,) = report["faults"]
    assert fault["lasted_secs"] < fault["planned_secs"] == 0.8
    assert report["verdict"]["outcome"] == "inconclusive"
    sink = Kept()
    sink.pause = (0.3, 1.6)
    never = run(place, slow, sink)
    assert (never["faults"], never["not_injected"][0]["reason"]) == ([], NEVER), "it was stopped until after the end"


def test_a_fault_that_ends_late_is_reported_and_breaks_nothing(engine: Engine, place: Place, fabric: Scripted) -> None:
    """The process is stopped during the fault, until long after the fault's planned end."""
    sink = Kept()
    sink.pause = (0.5, 1.5)
    pulled = {"at_secs": 0.4, "until_secs": 0.8, "kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}}
    claim = {"metric": "goodput-share", "bound": 0.7, "for_secs": 0.8}
    report = run(place, question(engine, faults=[pulled], seconds=3, hypothesis=claim), sink)
    (fault,) = report["faults"]
    assert fault["overran_secs"] > 0.8
    assert fault["recovered_at_secs"] - fault["injected_at_secs"] == pytest.approx(0.4 + fault["overran_secs"], abs=0.1)
    assert (report["ended"], report["verdict"]["outcome"]) == ("aborted", "inconclusive")
    assert f"ended {fault['overran_secs']:.1f} s late." in report["verdict"]["sentence"]


@pytest.mark.parametrize(("slow_secs", "overran"), [(0.6, False), (2.2, True)])
def test_a_server_may_take_a_moment_to_come_back(
    engine: Engine, place: Place, fabric: Scripted, slow_secs: float, *, overran: bool
) -> None:
    fabric.delays = {"recover": slow_secs}
    frozen = {"at_secs": 0.2, "until_secs": 1.2, "kind": "server-frozen", "target": {"names": ["00"]}}
    (fault,) = run(place, question(engine, faults=[frozen], seconds=1.6 + slow_secs), Kept())["faults"]
    assert fault["recovered_at_secs"] - fault["injected_at_secs"] >= 1.0 + slow_secs - 0.002
    assert ("overran_secs" in fault) is overran


def test_a_fault_that_cannot_be_recovered_is_tried_again_and_reported(
    engine: Engine, place: Place, fabric: Scripted
) -> None:
    fabric.fails = {"recover"}
    sink = Kept()
    pulled = {"at_secs": 0.2, "until_secs": 0.4, "kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}}
    claim = {"metric": "goodput", "bound": 0.0, "for_secs": 0.3}
    request = question(engine, faults=[pulled], hypothesis=claim)
    report = run(place, request, sink)
    (fault,) = report["faults"]
    assert (fault["not_recovered"], fault["recovered_at_secs"]) == ("recover is not possible now. Wait.", None)
    assert [frame["state"] for frame in sink.of("fault")] == ["injected", "failed"], "not with each try"
    assert sum(name == "recover" for name, _ in fabric.calls) == MOST_TRIES
    assert report["verdict"]["outcome"] == "inconclusive"
    assert "could not be recovered (recover is not possible now. Wait)." in report["verdict"]["sentence"]
    never = {**claim, "metric": "goodput-share", "bound": 0.7}
    report = run(place, question(engine, faults=[pulled], seconds=2, hypothesis=never), Kept())
    assert report["verdict"]["outcome"] == "inconclusive", "the network is not to blame"

    class Mends(Kept):
        def frame(self, kind: str, payload: Json) -> None:
            super().frame(kind, payload)
            if payload.get("state") == "failed":
                fabric.fails = set()

    sink = Mends()
    (fault,) = run(place, request, sink)["faults"]
    assert [frame["state"] for frame in sink.of("fault")] == ["injected", "failed", "recovered"]
    assert "not_recovered" not in fault


def test_a_fault_that_the_end_of_the_workload_cuts_short_leaves_the_run_inconclusive(
    engine: Engine, place: Place, fabric: Scripted
) -> None:
    sink = Kept()
    sink.over_at_secs = 1.0
    pulled = {"at_secs": 0.4, "until_secs": 8, "kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}}
    slow = {**pulled, "until_secs": None, "target": {"names": ["01/<0,0>"]}}
    easy = {"metric": "goodput", "bound": 0.0, "for_secs": 0.1}
    report = run(place, question(engine, faults=[pulled, slow], seconds=12, hypothesis=easy), sink)
    cut, permanent = report["faults"]
    assert cut["lasted_secs"] < cut["planned_secs"] == 7.6
    assert "lasted_secs" not in permanent, "to the end, however early"
    assert report["verdict"]["outcome"] == "inconclusive"
    assert "f1 (cable-pulled of 00/<0,0>) lasted" in report["verdict"]["sentence"]


def upgraded(engine: Engine, at_secs: float | None) -> Question:
    common = {"family": "subways", "type": 1, "l": 4, "clusters": 2, "aggs_per_cluster": 2, "cores": 2}
    before, after = {**common, "p": 1, "q": 2}, {**common, "p": 2, "q": 4}
    short = {"seconds": 1.6, "settle_secs": 0.1, "calibrate_secs": 0, "mode": "namespaces"}
    emulation = {**short, "upgrade": {"to": after, "at_secs": at_secs, "step_secs": 0}}
    request = {"plan": before, "workload": {"kind": "permutation"}, "engine": "emulation", "emulation": emulation}
    document = ExperimentCreate.model_validate(request).model_dump(mode="json")
    return read(engine, {**document, "plan": {"spec": before}})


@pytest.mark.parametrize("is_ordered", [False, True])
def test_cables_of_an_upgrade_are_plugged_in_switch_by_switch(
    engine: Engine, place: Place, fabric: Scripted, is_ordered: bool
) -> None:
    sink = Kept()
    sink.asked = [(0.4, Order(1, "upgrade")), (0.9, Order(2, "upgrade"))] if is_ordered else []
    report = run(place, upgraded(engine, None if is_ordered else 0.4), sink)
    (network,) = sink.of("network")
    steps = network["upgrade"]["steps"]
    assert [(item["switch"], item["links"]) for item in sink.of("upgrade")] == [
        (step["switch"], step["links"]) for step in steps
    ]
    assert sink.of("upgrade")[0]["at_secs"] >= 0.4
    unplugged = [params["fault"]["target"]["link"] for name, params in fabric.calls if name == "inject"]
    plugged = [params["fault"] for name, params in fabric.calls if name == "recover"]
    assert sorted(unplugged) == sorted(link for step in steps for link in step["links"])
    assert len(plugged) == len(unplugged) == 16
    names = [name for name, _ in fabric.calls]
    assert names.index("inject") < names.index("workload") < names.index("recover"), "missing before any packet"
    assert report["upgrade"]["steps_done"] == report["upgrade"]["steps"] == 8
    missing = [len(frame["failed"]) for frame in sink.of("predicted")]
    assert missing == [14, 12, 10, 8, 6, 4, 2, 0], "what is expected follows each step"
    if is_ordered:
        assert sink.outcomes[1] == {"ok": True}
        assert not sink.outcomes[2]["ok"], "it has begun"


def test_a_run_without_an_upgrade_refuses_the_order(engine: Engine, place: Place, fabric: Scripted) -> None:
    sink = Kept()
    sink.asked = [(0.2, Order(1, "upgrade"))]
    assert "upgrade" not in run(place, question(engine), sink)
    assert not sink.outcomes[1]["ok"]


def test_the_prediction_changes_with_each_fault_and_recovery(engine: Engine, place: Place, fabric: Scripted) -> None:
    sink = Kept()
    pulled = {"at_secs": 0.3, "until_secs": 1.2, "kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}}
    slower = {"at_secs": 0.4, "kind": "link-rate", "rate_bits_per_sec": 1e7, "target": {"names": ["01/<0,0>"]}}
    part = {"servers": ["00", "01", "02", "10", "11"]}
    request = question(engine, faults=[pulled, slower], slice=part)
    live = resolve_live(engine, request.network, {"target": {"names": ["11"]}}, 1, request.seed)
    sink.asked = [(0.7, Order(1, "inject", fault=live))]
    report = run(place, request, sink)
    cable, slow = ["00/<0,0>"], [{"link": "01/<0,0>", "kind": "link-rate", "rate_bits_per_sec": 1e7}]
    reported = [(frame["failed"], frame["degraded"]) for frame in sink.of("predicted")]
    assert reported == [(cable, []), (cable, slow), ([*cable, "11"], slow), (["11"], slow)]
    steps = [frame["at_secs"] for frame in sink.of("predicted")]
    assert steps == sorted(steps)
    assert all(at >= due for at, due in zip(steps, [0.3, 0.4, 0.7, 1.2], strict=True)), (
        "late on a busy machine, never early"
    )
    lost = [frame["dropped_flows"] for frame in sink.of("predicted")]
    assert lost == [0, 0, 3, 2], "one to and one from the dead server; without the cable one has no way around it"
    assert all(frame["ideal_bits_per_sec"] > 0 for frame in sink.of("predicted"))
    assert report["predicted_steps"] == sink.of("predicted")


def test_a_link_at_a_tenth_and_a_lossy_one_lower_what_is_expected(
    engine: Engine, place: Place, fabric: Scripted
) -> None:
    """Both links of a server are affected, so that none of its flows can avoid them. A link with
    added delay lowers nothing."""
    sink = Kept()
    ways = {"names": ["00/<0,0>", "00/<1,0>"]}
    faults = [
        {"at_secs": 0.2, "until_secs": 1.1, "kind": "link-rate", "rate_bits_per_sec": 1e7, "target": ways},
        {"at_secs": 0.5, "kind": "link-delay", "delay_secs": 0.01, "target": ways},
        {"at_secs": 0.8, "kind": "link-loss", "loss_ratio": 0.25, "target": ways},
    ]
    report = run(place, question(engine, faults=faults), sink)
    whole = sink.of("network")[0]["predicted"]
    slow, both, lossy = sink.of("predicted")
    abt = [item["abt_bits_per_sec"] for item in (slow, both, lossy)]
    assert abt[0] <= 16 * 1e7, "sixteen flows, of which one has a tenth of a link at most"
    assert abt[1] == pytest.approx(0.75 * abt[0]), "probes see no loss: the flows stay where they are"
    assert abt[0] < abt[2] <= whole["abt_bits_per_sec"]
    assert slow["ideal_bits_per_sec"] < whole["ideal_bits_per_sec"] - 0.8e8
    assert slow["dropped_flows"] == 0
    assert [[item["kind"] for item in frame["degraded"]] for frame in (slow, both, lossy)] == [
        ["link-rate"] * 2, ["link-loss", "link-rate"] * 2, ["link-loss"] * 2,
    ]  # fmt: skip
    assert [fault.get("rate_bits_per_sec") for fault in report["faults"]] == [1e7, None, None]
    assert report["faults"][2]["loss_ratio"] == 0.25


def test_a_broken_hypothesis_aborts_the_run_and_recovers_all_faults(
    engine: Engine, place: Place, fabric: Scripted
) -> None:
    sink = Kept()
    off = {"at_secs": 0.4, "kind": "switch-off", "target": {"selector": "50% of level-1 switches"}}
    request = question(
        engine, faults=[off], seconds=30, hypothesis={"metric": "goodput-share", "bound": 0.6, "for_secs": 0.3}
    )
    report = run(place, request, sink)
    assert report["ended"] == "aborted"
    assert report["verdict"]["outcome"] == "broken"
    assert sink.of("stop-all")[-1]["recovered"] is True
    assert not fabric.faults, "everything was recovered before the end"


def test_a_hypothesis_is_watched_from_the_first_fault_on(engine: Engine, place: Place, fabric: Scripted) -> None:
    """The hypothesis is violated all the time, but only the time after the fault counts."""
    off = {"at_secs": 0.8, "kind": "switch-off", "target": {"names": ["<1,1>"]}}
    impossible = {"metric": "goodput", "bound": 1e12, "for_secs": 0.1}
    report = run(place, question(engine, faults=[off], seconds=3, hypothesis=impossible), Kept())
    assert report["verdict"]["outcome"] == "broken"
    assert report["verdict"]["broken_at_secs"] >= report["faults"][0]["injected_at_secs"] >= 0.8


def test_a_hypothesis_without_a_fault_is_watched_from_the_start(engine: Engine, place: Place, fabric: Scripted) -> None:
    impossible = {"metric": "goodput", "bound": 1e12, "for_secs": 0.1}
    report = run(place, question(engine, seconds=3, hypothesis=impossible), Kept())
    assert (report["ended"], report["verdict"]["outcome"]) == ("aborted", "broken")


@pytest.mark.parametrize("at_secs", [0.3, 9.0])
def test_a_hypothesis_about_a_fault_that_did_not_happen_is_not_tested(
    engine: Engine, place: Place, fabric: Scripted, at_secs: float
) -> None:
    """Either the fault cannot be injected, or the run ends before."""
    fabric.fails = {"inject"}
    pulled = {"at_secs": at_secs, "kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}}
    sink = Kept()
    sink.over_at_secs = 1.0
    request = question(engine, faults=[pulled], seconds=12, hypothesis={"metric": "goodput", "bound": 1.0})
    report = run(place, request, sink)
    assert report["verdict"]["outcome"] == "not-tested"
    assert "f1 (cable-pulled of 00/<0,0>) was not injected" in report["verdict"]["sentence"]
    assert [frame["state"] for frame in sink.of("fault")] == ["failed"]
    assert sink.of("fault")[0]["planned_secs"] == at_secs


def test_a_share_of_the_baseline_is_not_tested_without_a_fault(engine: Engine, place: Place, fabric: Scripted) -> None:
    report = run(place, question(engine, hypothesis={"metric": "goodput-share", "bound": 0.9, "for_secs": 0.3}), Kept())
    assert report["verdict"]["outcome"] == "not-tested"
    upgraded_share = upgraded(engine, 0.4)
    upgraded_share.hypotheses.append(Hypothesis(metric="goodput-share", bound=0.01, for_secs=0.3))
    assert run(place, upgraded_share, Kept())["verdict"]["outcome"] == "held", "an upgrade is a test of it"


def test_abt_is_of_the_flows_that_a_fault_leaves_a_path(engine: Engine, place: Place, fabric: Scripted) -> None:
    """A server whose switches are both off runs, but reaches no other server. Its two flows are
    reported separately from ABT."""
    off = {"at_secs": 0.3, "kind": "switch-off", "target": {"names": ["<0,0>", "<1,0>"]}}
    sink = Kept()
    report = run(place, question(engine, faults=[off]), sink)
    (predicted,) = sink.of("predicted")
    assert predicted["dropped_flows"] > 0
    assert report["windows"]["during"]["cut_off_flows"] == predicted["dropped_flows"]
    assert sink.of("tick")[-1]["cut_off_flows"] == predicted["dropped_flows"]
    assert "cut_off_flows" not in sink.of("tick")[0]


def test_a_violation_that_does_not_last_is_forgiven(engine: Engine, place: Place, fabric: Scripted) -> None:
    sink = Kept()
    off = {"at_secs": 0.4, "until_secs": 0.9, "kind": "switch-off", "target": {"names": ["<1,1>"]}}
    claim = {"metric": "goodput-share", "bound": 0.9, "for_secs": 2}
    request = question(engine, faults=[off], seconds=3, hypothesis=claim)
    assert run(place, request, sink)["verdict"]["outcome"] == "held"


def test_live_orders_are_obeyed_and_answered(engine: Engine, place: Place, fabric: Scripted) -> None:
    sink, request = Kept(), question(engine)
    live = {"target": {"names": ["01"]}, "kind": "server-frozen"}
    fault = resolve_live(engine, request.network, live, 1, request.seed)
    sink.asked = [
        (0.2, Order(1, "inject", fault=fault)),
        (0.6, Order(2, "recover", fault_id="l1")),
        (0.8, Order(3, "recover", fault_id="l9")),
        (1.0, Order(4, "stop-all")),
    ]
    run(place, request, sink)
    assert [(frame["id"], frame["state"]) for frame in sink.of("fault")] == [("l1", "injected"), ("l1", "recovered")]
    assert [sink.outcomes[id_]["ok"] for id_ in (1, 2, 3, 4)] == [True, True, False, True]


def test_a_fault_that_is_ordered_too_late_is_reported(engine: Engine, place: Place, fabric: Scripted) -> None:
    sink, request = Kept(), question(engine, seconds=1)
    live = {"target": {"names": ["01"]}, "kind": "server-frozen"}
    fault = resolve_live(engine, request.network, live, 1, request.seed)
    sink.asked = [(OVER, Order(1, "inject", fault=fault))]
    report = run(place, request, sink)
    (frame,) = sink.of("fault")
    assert (frame["id"], frame["state"], frame["reason"]) == ("l1", "failed", NEVER)
    assert sink.outcomes[1] == {"ok": False, "reason": frame["reason"]}
    assert report["faults"] == []
    assert not fabric.faults


def test_a_flapping_fault_comes_and_goes_and_is_gone_at_its_end(engine: Engine, place: Place, fabric: Scripted) -> None:
    sink = Kept()
    flapping = {"at_secs": 0.2, "until_secs": 1.0, "flap_secs": 0.2, "target": {"names": ["00/<0,0>"]}}
    run(place, question(engine, faults=[flapping]), sink)
    states = [frame["state"] for frame in sink.of("fault")]
    assert states[:4] == ["injected", "recovered", "injected", "recovered"]
    assert states[-1] == "recovered"
    assert "failed" not in states, "at its end it may be whole already"
    assert not fabric.faults


def test_a_fault_that_cannot_be_made_fails_alone(engine: Engine, place: Place, fabric: Scripted) -> None:
    fabric.fails = {"inject"}
    sink = Kept()
    loss = {"at_secs": 0.3, "kind": "link-loss", "loss_ratio": 0.1, "target": {"names": ["00/<0,0>"]}}
    report = run(place, question(engine, faults=[loss]), sink)
    (frame,) = sink.of("fault")
    assert (frame["state"], frame["reason"]) == ("failed", "inject is not possible now. Wait.")
    (missing,) = report["not_injected"]
    assert (missing["id"], missing["targets"], missing["reason"]) == ("f1", ["00/<0,0>"], frame["reason"])
    assert report["faults"] == []
    assert report["windows"].keys() == {"before"}, "no fault was injected"
    assert report["ended"] == "done"


def test_faults_that_the_kernel_cannot_inject_are_refused_before_the_start(
    engine: Engine, place: Place, fabric: Scripted
) -> None:
    delay = {"kind": "link-delay", "delay_secs": 0.01, "target": {"names": ["00/<0,0>"]}}
    faults = [{"at_secs": 0.3, **delay}]
    fabric.probed = {"netem": False, "reasons": {"netem": "this kernel has no netem"}}
    with pytest.raises(ProblemError, match="cannot inject link-delay") as refused:
        run(place, question(engine, faults=faults), Kept())
    (error,) = refused.value.errors
    assert (error.field, "this kernel has no netem" in error.message) == ("body.faults.0.kind", True)
    assert [name for name, _ in fabric.calls] == ["probe"], "nothing was started"


def test_stopped_while_deploying_nothing_is_left(engine: Engine, place: Place, fabric: Scripted) -> None:
    sink = Kept()
    sink.stop_after = "phase"
    with pytest.raises(KeyboardInterrupt):
        run(place, question(engine), sink)
    assert fabric.calls[-1][0] == "destroy"
    assert place.free(RUN)


def test_a_fabric_that_dies_in_the_middle_ends_the_run_with_the_reason(
    engine: Engine, place: Place, fabric: Scripted
) -> None:
    fabric.dies_at_secs = 0.6
    with pytest.raises(FabricGoneError, match="went away"):
        run(place, question(engine, calibrate_secs=0), Kept())
    assert fabric.calls[-1][0] == "destroy"


def test_a_refusal_to_wire_is_reported(engine: Engine, place: Place, fabric: Scripted) -> None:
    fabric.fails = {"wire"}
    with pytest.raises(FabricError, match="wire is not possible now"):
        run(place, question(engine), Kept())


def test_one_run_is_one_process_s(
    engine: Engine, place: Place, fabric: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "DYING_SECS", 0.2)
    request = question(engine)
    with place.held(RUN):
        began = time.monotonic()
        with pytest.raises(ProblemError, match="Another process holds run"):
            run(place, request, Kept())
        assert time.monotonic() - began >= 0.2, "its owner may be dying"
    assert not fabric.calls
