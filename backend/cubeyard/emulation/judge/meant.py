"""The intended traffic of a session's flows, with which a verdict compares the measurement.

A flow of unlimited size should carry its ideal rate, or its given rate. A flow of limited size
should carry its remaining bytes. A flow that would end while TCP is still starting up cannot reach
its rate on any machine: it is left out, and the share of such flows is reported. [ours]
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from cubeyard.emulation.measure.recorder import Recorder
from cubeyard.emulation.measure.sums import Sums

START_UP_SECS = 1.0
"""A transfer over TCP that takes less at its ideal rate is short: connections that start together
lose packets while their windows double, and need up to some ten round trips through full queues
until each has its share."""


@dataclass(frozen=True)
class Meant:
    """The quiet time compared with the intended traffic, for the flows with an expected rate."""

    achieved: float | None
    """Goodput by the ideal with headers; None if no flow is held to it."""
    stalled_flows: int
    """Flows held to it that had something left to carry and carried nothing."""
    short_flows_share: float
    """The share of all flows that are left out because they end before TCP has started up."""
    over_before: bool = False
    """Every flow held to it had ended before anything was counted."""

    wait: bool = False
    """Each client waits for a response before its next request, so no rate is expected."""

    @staticmethod
    def nothing() -> Meant:
        """For a session without quiet time."""
        return Meant(None, 0, 0.0)


def meant_of(recorder: Recorder, quiet: Sums) -> Meant:
    """Compares the quiet time with the flows' intended traffic. Linear in flows."""
    question = recorder.question
    settings, efficiency = question.settings, question.network.header_efficiency
    # A pace is of what flows carry, without headers.
    pace = (settings.flow_bits_per_sec or inf) / efficiency
    if question.requests is not None and question.requests.goodput_bits_per_sec is None:
        return Meant(None, 0, 0.0, wait=True)
    rates = np.minimum(np.array([flow.ideal_bits_per_sec for flow in question.flows], float), pace)
    held = np.ones(rates.size, np.bool_)
    unfinished = held
    if settings.flow_bytes is not None:
        if settings.protocol != "udp":
            held = settings.flow_bytes * 8 >= rates * efficiency * START_UP_SECS
        left = np.maximum(settings.flow_bytes - recorder.received_before, 0)
        unfinished = left > 0
        rates = np.minimum(rates, left * 8 / quiet.secs / efficiency)
    meant = float(rates[held].sum())
    carried = float(quiet.flows[held].sum()) * 8 / quiet.secs
    return Meant(
        carried / meant if meant > 0 else None,
        int((held & unfinished & (quiet.flows == 0)).sum()),
        1 - float(held.mean()) if held.size else 0.0,
        bool(held.any()) and not unfinished[held].any(),
    )
