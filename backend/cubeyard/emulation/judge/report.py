"""The report of a session: verdicts, measurements before, during and after the faults, and their
fidelity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from cubeyard.emulation.judge.consequences import Consequences
from cubeyard.emulation.judge.fidelity import Calibration, Observed, OverPaths, judge
from cubeyard.emulation.judge.guard import Guards, Struck
from cubeyard.emulation.judge.meant import Meant, meant_of
from cubeyard.emulation.measure import latency
from cubeyard.emulation.measure.events import Events
from cubeyard.emulation.measure.recorder import Recorder
from cubeyard.emulation.measure.sums import Sums
from cubeyard.experiments.scenario.verdict import missing_in_words, off_schedule_in_words, unfinished_in_words

Json = dict[str, Any]


LONG_ENOUGH = 0.9
"""A fault has tested its hypothesis if it lasted for this share of its planned length."""


def make(
    recorder: Recorder,
    guards: Guards,
    calibration: Calibration | None,
    faults: list[Json],
    *,
    ended: str,
    timings: Json,
    not_injected: Sequence[Json] = (),
    upgrade: Json | None = None,
    ended_at_secs: float | None = None,
) -> Json:
    """The document. `faults` are the injected faults with their times; `not_injected` are the
    planned faults that did not happen; `upgrade` has the steps of an upgrade that were done. The
    run ended at `ended_at_secs`, or after its planned time."""
    upgraded = upgrade is not None and upgrade["began_at_secs"] is not None
    question = recorder.question
    quiet = recorder.quiet
    ideal = question.prediction.ideal_bits_per_sec
    efficiency = question.network.header_efficiency
    meant = meant_of(recorder, quiet) if quiet is not None else Meant.nothing()
    achieved = meant.achieved
    expected_abt = question.prediction.abt_bits_per_sec * efficiency
    # The prediction's slowest rate does not apply to flows with a given rate or size.
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
    planned_secs = question.settings.seconds
    ended_at_secs = planned_secs if ended_at_secs is None else ended_at_secs
    faults = [cut_short(fault, planned_secs, ended_at_secs) for fault in faults]
    consequences = Consequences(recorder, faults)
    observed = replace(
        observed,
        short_flows_share=meant.short_flows_share,
        over_before=meant.over_before,
        wait=meant.wait,
        # Neighbours die in an upgrade without a fault, since its cables are pulled and plugged.
        deaths=0 if upgraded else consequences.unexplained,
        fair_queues=question.settings.queues == "fair",
        **({} if quiet is None else quiet.delays),
    )
    total = {**recorder.total.document(), "abt_bits_per_sec": round(_abt_of_all(recorder))}
    fidelity = judge(calibration, observed)
    struck = Struck(
        bool(faults) or upgraded,
        (*map(missing_in_words, not_injected), *filter(None, [unfinished_in_words(upgrade)])),
        tuple(off_schedule_in_words(faults)),
        any("lasted_secs" in fault or "not_recovered" in fault for fault in faults),
        min((_overran_at(fault, ended_at_secs) for fault in faults), default=inf),
        fidelity["reason"] if fidelity["verdict"] == "host-limited" else "",
    )
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
        "fidelity": fidelity,
        "faults": consequences.documents(),
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
            "at_secs": [item[0] for item in recorder.series],
            "goodput_bits_per_sec": [item[1] for item in recorder.series],
            "abt_bits_per_sec": [item[2] for item in recorder.series],
        },
        **({} if upgrade is None else {"upgrade": upgrade}),
        "timings": timings,
    }


def cut_short(fault: Json, planned_secs: float, ended_at_secs: float) -> Json:
    """The fault's actual and planned length, if the end of a run of `planned_secs` shortened it. A
    permanent fault is never shortened: it lasts until the run ends."""
    if fault["recovered_at_secs"] is not None:
        return fault
    until = ended_at_secs if fault["until_secs"] is None else min(fault["until_secs"], planned_secs)
    lasted = max(ended_at_secs - fault["injected_at_secs"], 0.0)
    planned = until - fault["at_secs"]
    if lasted >= planned * LONG_ENOUGH:
        return fault
    return {**fault, "lasted_secs": round(lasted, 3), "planned_secs": round(planned, 3)}


def _overran_at(fault: Json, ended_at_secs: float) -> float:
    """When a fault began to exceed its planned length; infinite if it did not."""
    if "overran_secs" not in fault:
        return inf
    recovered = fault["recovered_at_secs"]
    return (ended_at_secs if recovered is None else recovered) - fault["overran_secs"]


def _over_paths(recorder: Recorder, quiet: Sums) -> OverPaths | None:
    """The quiet time compared with the fair rates over the flows' actual paths."""
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
    """The mean of the parts' ABTs, weighted by time. So a flow that one fault cuts off still counts
    in the other parts."""
    parts = recorder.parts.values()
    secs = sum(part.secs for part in parts)
    return sum(part.abt_bits_per_sec * part.secs for part in parts) / secs if secs > 0 else 0.0


def probing(events: Events) -> Json:
    """How often servers probed the paths of a flow, and how long that took on average."""
    mean_secs = events.probing_nanos / events.probings / 1e9 if events.probings else 0.0
    return {"rounds": events.probings, "mean_secs": round(mean_secs, 6)}
