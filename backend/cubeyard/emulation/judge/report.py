"""The end of a session: what held, what was measured before, during and after the faults, and what it is worth."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from cubeyard.emulation.judge.fidelity import Calibration, Observed, OverPaths, judge
from cubeyard.emulation.judge.guard import Guards, Struck
from cubeyard.emulation.judge.meant import Meant, meant_of
from cubeyard.emulation.measure import latency
from cubeyard.emulation.measure.events import Events
from cubeyard.emulation.measure.recorder import Recorder
from cubeyard.emulation.measure.sums import Sums
from cubeyard.experiments.scenario.verdict import missing_in_words

Json = dict[str, Any]

DETECTED = frozenset({"neighbour-dead", "path-failed", "carrier"})
MOVED = frozenset({"path-switched"})
WATCHED_SECS = 30.0
"""An event later than this after a fault is not counted as its consequence."""
BACK_SHARE = 0.95
QUIET_SECS = 1.0
"""What was measured before the first fault says something from so long on."""


def make(
    recorder: Recorder,
    guards: Guards,
    calibration: Calibration | None,
    faults: list[Json],
    *,
    ended: str,
    timings: Json,
    not_injected: Sequence[Json] = (),
    upgraded: bool = False,
) -> Json:
    """The document. `faults` are what was injected, each with its times; `not_injected` what was planned and did not happen."""
    question = recorder.question
    quiet = _quiet(recorder)
    ideal = question.prediction.ideal_bits_per_sec
    efficiency = question.network.header_efficiency
    meant = meant_of(recorder, quiet) if quiet is not None else Meant.nothing()
    achieved = meant.achieved
    expected_abt = question.prediction.abt_bits_per_sec * efficiency
    # Flows at a pace of their own, or of a size, are not held to the prediction's slowest rate.
    free = question.settings.flow_bits_per_sec is None and question.settings.flow_bytes is None
    free = free and question.requests is None
    observed = Observed(achieved, None, efficiency)
    if quiet is not None:
        observed = Observed(
            achieved,
            quiet.cpu / quiet.secs,
            efficiency,
            meant.stalled_flows,
            quiet.abt_bits_per_sec / expected_abt if expected_abt > 0 and free else None,
            None if quiet.own_cpu is None else quiet.own_cpu / quiet.secs,
            _over_paths(recorder, quiet) if free and question.settings.delivery == "unicast" else None,
        )
    observed = replace(
        observed, short_flows_share=meant.short_flows_share, over_before=meant.over_before, wait=meant.wait
    )
    total = {**recorder.total.document(), "abt_bits_per_sec": round(_abt_of_all(recorder))}
    consequences = Consequences(recorder)
    struck = Struck(bool(faults) or upgraded, tuple(missing_in_words(fault) for fault in not_injected))
    return {
        "ended": ended,
        "verdict": guards.document(struck),
        "verdicts": guards.documents(struck),
        "aggregate_goodput_bits_per_sec": total["goodput_bits_per_sec"],
        "ideal_bits_per_sec": round(ideal),
        "header_efficiency": round(efficiency, 4),
        "abt_bits_per_sec": total["abt_bits_per_sec"],
        "predicted": question.prediction.document(),
        "total": total,
        "windows": {
            name: recorder.parts[name].document() for name in ("before", "during", "after") if name in recorder.parts
        },
        "fidelity": judge(calibration, observed),
        "faults": [{**fault, **consequences.of(fault)} for fault in faults],
        "not_injected": list(not_injected),
        "path_switches": recorder.events.switches,
        **({} if question.requests is None else latency.report(recorder.latencies, question.requests)),
        "probing": probing(recorder.events),
        "events_left_out": [
            {"server": recorder.question.network.servers.get(server, ""), "count": count}
            for server, count in recorder.events.left_out
        ],
        "drops": dict(sorted(recorder.drops.items())),
        "per_server": recorder.per_server(),
        "per_link": recorder.per_link(),
        "per_flow": recorder.per_flow(),
        "series": {
            "at_secs": [one[0] for one in recorder.series],
            "goodput_bits_per_sec": [one[1] for one in recorder.series],
            "abt_bits_per_sec": [one[2] for one in recorder.series],
        },
        "timings": timings,
    }


def _over_paths(recorder: Recorder, quiet: Sums) -> OverPaths | None:
    """The quiet time beside the fair rates over the paths that its flows took."""
    fair = recorder.paths_before.fair_rates(recorder.question.rates_over)
    if fair is None or not fair.all() or not quiet.alive.all():
        return None
    fair = fair * recorder.question.network.header_efficiency
    measured = quiet.flows * 8 / quiet.secs
    abt = float(fair.min()) * fair.size
    shares = measured / fair
    return OverPaths(
        float(fair.sum()),
        abt,
        quiet.goodput_bits_per_sec / float(fair.sum()),
        quiet.abt_bits_per_sec / abt,
        float(shares.min()),
        float(np.median(shares)),
    )


def _abt_of_all(recorder: Recorder) -> float:
    """The mean of the stretches' ABTs by time: flows that one fault cuts off are not missing from the others."""
    parts = recorder.parts.values()
    secs = sum(part.secs for part in parts)
    return sum(part.abt_bits_per_sec * part.secs for part in parts) / secs if secs > 0 else 0.0


def probing(events: Events) -> Json:
    """How often servers probed the paths of a flow, and how long that took on average."""
    mean_secs = events.probing_nanos / events.probings / 1e9 if events.probings else 0.0
    return {"rounds": events.probings, "mean_secs": round(mean_secs, 6)}


def _quiet(recorder: Recorder) -> Sums | None:
    """The time before the first fault, if it was long enough."""
    before = recorder.parts.get("before")
    return before if before is not None and before.secs >= QUIET_SECS - 1e-6 else None


class Consequences:
    """When a fault was noticed, when flows had moved, and when the goodput was back, in seconds after it.

    An hour of a flapping cable has thousands of faults and many more events: each fault searches what is sorted.
    """

    def __init__(self, recorder: Recorder) -> None:
        events = recorder.events.all
        self._detected = sorted(_times(events, DETECTED))
        # A flow goes back when a fault ends, in the same millisecond perhaps: that is no consequence of one.
        self._moved = sorted(_times((event for event in events if event.get("reason") != "recovery"), MOVED))
        self._series = recorder.series
        quiet = _quiet(recorder)
        self._enough = quiet.goodput_bits_per_sec * BACK_SHARE if quiet is not None else None

    def of(self, fault: Json) -> Json:
        struck = fault["at_nanos"]
        recovered_secs = fault["recovered_at_secs"]
        # Flows that move after the fault has ended go back.
        lasted = WATCHED_SECS if recovered_secs is None else recovered_secs - fault["injected_at_secs"]
        detected = _following(self._detected, struck, WATCHED_SECS)
        moved = _following(self._moved, struck, min(lasted, WATCHED_SECS))
        return {
            "detected_secs": _secs(detected[0] - struck) if detected else None,
            "first_move_secs": _secs(moved[0] - struck) if moved else None,
            "last_move_secs": _secs(moved[-1] - struck) if moved else None,
            "moves": len(moved),
            "recovered_secs": self._back(fault["injected_at_secs"]),
        }

    def _back(self, started_secs: float) -> float | None:
        """How long until the goodput was again nearly what it had been, by the series of seconds."""
        if self._enough is None:
            return None
        # A point of the series is a mean over a second: that second has to begin after the fault.
        for at_secs, goodput, _ in self._series[bisect_right(self._series, (started_secs + 1.0, inf)) :]:
            if goodput >= self._enough:
                return round(at_secs - started_secs, 1)
        return None


def _times(events: Iterable[Json], kinds: frozenset[str]) -> Iterable[int]:
    return (event["at_nanos"] for event in events if event["kind"] in kinds and event["at_nanos"] is not None)


def _following(times: list[int], struck: int, secs: float) -> list[int]:
    return times[bisect_left(times, struck) : bisect_right(times, struck + int(secs * 1e9))]


def _secs(nanos: int) -> float:
    return round(nanos / 1e9, 4)
