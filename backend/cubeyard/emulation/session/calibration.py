"""The calibration before the workload: a single connection between two servers that share a
switch."""

from __future__ import annotations

from collections.abc import Callable

from cubeyard.emulation.fabric.fabrics import Fabrics
from cubeyard.emulation.judge.fidelity import Calibration
from cubeyard.emulation.measure.tick import Tick
from cubeyard.emulation.session.traffic import sent
from cubeyard.emulation.setup.flows import for_fabric
from cubeyard.emulation.setup.question import Question

SLOW_START_SECS = 1.0
"""Time at the start that is not counted, since TCP starts slowly; at most half of the
calibration."""


LEAST_SECS = 0.3
"""Minimum counted time. In less, TCP's start would dominate the result."""


def calibrate(fabrics: Fabrics, run_id: str, question: Question, check: Callable[[], None]) -> Calibration | None:
    """The goodput of one TCP connection over `calibrate_secs`; None if the counted time is too
    short. Raises the exceptions of `check`, and FabricGoneError."""
    network, secs = question.network, question.settings.calibrate_secs
    source, destination = _neighbours(question)
    flow = {
        **for_fabric(question.flows[:1], question.settings)[0],
        # A separate flow number, and therefore separate ports, so that its state does not disturb
        # the workload.
        "id": len(question.flows),
        "source": source,
        "destination": destination,
        "proto": "tcp",
        "bytes": None,
        "rate_bits_per_sec": None,
    }
    slow_start_secs = min(SLOW_START_SECS, secs / 2)
    goodput_bytes, measured_secs, last_secs = 0, 0.0, None
    for frame in sent(fabrics, run_id, [flow], slow_start_secs + secs, check):
        tick = Tick.of(frame, len(network.servers), len(network.links), 1)
        if last_secs is not None and last_secs >= slow_start_secs:
            goodput_bytes += int(tick.flows[0])
            measured_secs += tick.at_secs - last_secs
        last_secs = tick.at_secs
    if measured_secs < LEAST_SECS:
        return None
    names = network.servers
    rate = round(goodput_bytes * 8 / measured_secs)
    return Calibration(names[source], names[destination], rate, network.rate_bits_per_sec)


def _neighbours(question: Question) -> tuple[int, int]:
    """Two servers on one switch, or the ends of the first flow."""
    first: dict[int, int] = {}
    for link in question.network.links:
        for near, far in ((link.a[0], link.b[0]), (link.b[0], link.a[0])):
            if near in question.network.servers and far in question.network.switches:
                if far in first and first[far] != near:
                    return first[far], near
                first.setdefault(far, near)
    return question.flows[0].source, question.flows[0].destination
