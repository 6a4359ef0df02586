"""The session's clock keeps the order of cause and effects, however late frames are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.emulation.measure.clock import Clock
from cubeyard.emulation.measure.events import Events

SECOND = 1_000_000_000
TICK = SECOND // 10


@given(
    st.lists(st.integers(0, 3 * SECOND), min_size=2, max_size=20),
    st.integers(0, SECOND),
    st.integers(0, SECOND),
    st.integers(0, 18),
)
def test_a_cause_comes_before_its_effect_however_late_frames_are(
    delays: list[int], struck_after: int, noticed_after: int, at: int
) -> None:
    """A fault is injected after a tick was read. A server detects it, and a later tick reports
    that."""
    events = Events(1, Clock(settle_secs=1.0))
    at = min(at, len(delays) - 2)
    struck_secs = struck = 0
    for number, delay in enumerate(delays):
        sampled = (number + 1) * TICK
        events.clock.sampled(sampled / SECOND, 7 * SECOND + sampled + delay)
        if number == at:
            struck = 7 * SECOND + sampled + delay + struck_after
            struck_secs = events.clock.secs(struck)
    heard = {"kind": "carrier", "server": 0, "port": 0, "up": False, "at_nanos": struck + noticed_after}
    events.hear([heard], len(delays) * TICK / SECOND)
    (noticed,) = events.tick()["events"]
    assert noticed["at_secs"] >= round(struck_secs, 4)


def test_times_are_the_ticks_own_once_one_came_without_delay() -> None:
    clock = Clock(settle_secs=2.0)
    for number, delay in enumerate([0.5, 0.0, 0.3], start=1):
        clock.sampled(float(number), round((100 + number + delay) * SECOND))
    assert clock.secs(round(103.25 * SECOND)) == pytest.approx(1.25)
