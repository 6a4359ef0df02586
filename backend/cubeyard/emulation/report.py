"""The end of a session: what held, what was measured before, during and after the faults, and what it is worth."""

from __future__ import annotations

from typing import Any

from cubeyard.emulation.events import Events
from cubeyard.emulation.fidelity import Calibration, judge
from cubeyard.emulation.guard import Guard
from cubeyard.emulation.recorder import Recorder

Json = dict[str, Any]

DETECTED = frozenset({"neighbour_dead", "path_failed", "next_hop_dead", "carrier"})
MOVED = frozenset({"path_switched"})
WATCHED_SECS = 30.0
"""An event later than this after a fault is not counted as its consequence."""
BACK_SHARE = 0.95


def make(
    recorder: Recorder, guard: Guard, calibration: Calibration | None, faults: list[Json], *, ended: str, timings: Json
) -> Json:
    """The document. `faults` are what was injected, each with its times."""
    question = recorder.question
    before = recorder.parts.get("before")
    ideal = question.prediction.ideal_bits_per_sec
    quiet = before if before is not None and before.secs >= 1.0 else None
    # Flows at a pace of their own are not meant to reach the ideal.
    pace = question.settings.flow_bits_per_sec or float("inf")
    meant = sum(min(flow.ideal_bits_per_sec, pace) for flow in question.flows)
    achieved = quiet.goodput_bits_per_sec / meant if quiet is not None and meant > 0 else None
    cpu = quiet.cpu / quiet.secs if quiet is not None else None
    stalled = quiet.document()["stalled_flows"] if quiet is not None else 0
    total = recorder.total.document()
    return {
        "ended": ended,
        "verdict": guard.document(),
        "aggregate_goodput_bits_per_sec": total["goodput_bits_per_sec"],
        "ideal_bits_per_sec": round(ideal),
        "header_efficiency": round(question.network.header_efficiency, 4),
        "abt_bits_per_sec": total["abt_bits_per_sec"],
        "predicted": question.prediction.document(),
        "total": total,
        "windows": {
            name: recorder.parts[name].document() for name in ("before", "during", "after") if name in recorder.parts
        },
        "fidelity": judge(calibration, achieved, cpu, question.network.header_efficiency, stalled),
        "faults": [{**fault, **consequences(fault, recorder)} for fault in faults],
        "path_switches": recorder.events.switches,
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


def probing(events: Events) -> Json:
    """How often BSR probed the paths of a flow, and how long that took on average."""
    mean_secs = events.probing_nanos / events.probings / 1e9 if events.probings else 0.0
    return {"rounds": events.probings, "mean_secs": round(mean_secs, 6)}


def consequences(fault: Json, recorder: Recorder) -> Json:
    """When the fault was noticed, when flows had moved, and when the goodput was back, in seconds after it."""
    struck = fault.get("at_nanos")
    if struck is None:
        return {
            "detected_secs": None,
            "first_move_secs": None,
            "last_move_secs": None,
            "moves": 0,
            "recovered_secs": None,
        }
    after = [
        (event, (event["at_nanos"] - struck) / 1e9)
        for event in recorder.events.all
        if event.get("at_nanos") is not None and 0 <= event["at_nanos"] - struck <= WATCHED_SECS * 1e9
    ]
    detected = [secs for event, secs in after if event.get("kind") in DETECTED]
    moved = [secs for event, secs in after if event.get("kind") in MOVED]
    return {
        "detected_secs": round(min(detected), 4) if detected else None,
        "first_move_secs": round(min(moved), 4) if moved else None,
        "last_move_secs": round(max(moved), 4) if moved else None,
        "moves": len(moved),
        "recovered_secs": _back(fault, recorder),
    }


def _back(fault: Json, recorder: Recorder) -> float | None:
    """How long until the goodput was again nearly what it had been, by the series of seconds."""
    before = recorder.parts.get("before")
    if before is None or not before.secs:
        return None
    enough = before.goodput_bits_per_sec * BACK_SHARE
    started = fault["injected_at_secs"]
    for at_secs, goodput, _ in recorder.series:
        if at_secs > started + 1.0 and goodput >= enough:
            return round(at_secs - started, 1)
    return None
