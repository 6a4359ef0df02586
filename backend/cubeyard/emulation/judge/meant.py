"""The intended traffic of a session's flows, with which a verdict compares the measurement.

A flow of unlimited size should carry its ideal rate, or its given rate. A flow of limited size
should carry its remaining bytes. A flow that would end before TCP has started up cannot reach its
rate on any machine. Such flows are left out, and their share is reported. [ours]
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from cubeyard.emulation.measure.recorder import Recorder
from cubeyard.emulation.measure.sums import Sums

START_UP_SECS = 1.0
"""A TCP transfer that would take less time than this at its ideal rate counts as short. Connections
that start together lose packets while their windows double, and need about ten round trips through
full queues until each has its share."""


@dataclass(frozen=True)
class Meant:
    """The quiet time compared with the intended traffic, for flows with an expected rate."""

    achieved: float | None
    """Goodput relative to the ideal with headers; None if no flow has an expected rate."""
    stalled_flows: int
    """Number of flows with an expected rate and data to send that carried nothing."""
    short_flows_share: float
    """Share of all flows that are left out because they end before TCP has started up."""
    over_before: bool = False
    """Whether every flow with an expected rate had ended before anything was counted."""

    wait: bool = False
    """Whether each client waits for a response before its next request, so that no rate is
    expected."""

    @staticmethod
    def nothing() -> Meant:
        """The result for a session without quiet time."""
        return Meant(None, 0, 0.0)


def meant_of(recorder: Recorder, quiet: Sums) -> Meant:
    """Compares the quiet time with the flows' intended traffic. Linear in flows."""
    question = recorder.question
    settings, efficiency = question.settings, question.network.header_efficiency
    # A given rate applies to what flows carry, without headers.
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
