"""Fair rates over the paths that flows took."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.emulation.measure.paths import SPAN_SECS, Paths, PathsTaken


def by_length(paths: Paths) -> list[float]:
    return [float(len(path)) for path in paths]


@given(st.lists(st.tuples(st.floats(SPAN_SECS, 9.0), st.integers(2, 9)), min_size=1, max_size=8))
def test_rates_are_means_by_the_time_of_each_path(spans: list[tuple[float, int]]) -> None:
    taken = PathsTaken(1)
    for changes, (secs, length) in enumerate(spans):
        taken.add(secs / 2, {0: [0] * length}, changes)
        taken.add(secs / 2, {0: [0] * length}, changes)
    result = taken.fair_rates(by_length)
    assert result is not None
    mean = sum(secs * length for secs, length in spans) / sum(secs for secs, _ in spans)
    assert result[0] == pytest.approx(mean)


def test_paths_that_are_unknown_most_of_the_time_give_no_rates() -> None:
    taken = PathsTaken(2)
    assert taken.fair_rates(by_length) is None
    taken.add(3.0, {0: [0, 1]}, 1)
    assert taken.fair_rates(by_length) is None
    taken.add(2.0, {0: [0, 1], 1: [1, 0]}, 2)
    assert taken.fair_rates(by_length) is None
    taken.add(2.0, {0: [0, 1], 1: [1, 0]}, 2)
    result = taken.fair_rates(by_length)
    assert result is not None
    assert result.tolist() == [2.0, 2.0]
