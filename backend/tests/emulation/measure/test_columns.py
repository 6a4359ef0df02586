"""A tick's columns fit its frame, and nothing is lost by shortening them."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.emulation.measure.columns import COLUMNS_BYTES, LEAST_ROWS, STEPS, Few, Format, Units, format_of
from cubeyard.emulation.network.network import Link, Network
from cubeyard.engine import Engine
from tests.emulation.setup.test_question import network


def sized(some: Network, servers: int, links: int, rate_bits_per_sec: float) -> Network:
    return replace(
        some,
        servers={i: f"{i}" for i in range(servers)},
        links=[Link(i, (0, i), (1, i), 0) for i in range(links)],
        rate_bits_per_sec=rate_bits_per_sec,
    )


@pytest.mark.parametrize(
    ("servers", "links", "flows", "rate_bits_per_sec", "found"),
    [
        (4, 8, 12, 2e7, Format(1, True, True, 3)),
        (16, 32, 512, 1e8, Format(1, True, True, 3)),
        (16, 32, 513, 1e8, Format(1, False, True, 3)),
        (64, 128, 64, 1e8, Format(1, True, True, 3)),
        (64, 128, 512, 1e8, Format(126, True, True, 3)),
        (65, 130, 512, 1e8, Format(126, True, True, 2)),
        (128, 256, 256, 1e8, Format(126, True, False, 2)),
        (256, 512, 256, 1e8, Format(12_627, True, False, 2)),
        (256, 512, 512, 1e8, Format(12_627, False, False, 2)),
        (256, 512, 512, 100.0, Format(1, True, True, 2)),
        (1024, 2048, 512, 1e8, Format(12_627, False, False, 2)),
        (1024, 5120, 0, 1e9, Format(126_263, False, False, 2)),
    ],
)
def test_the_units_of_ticks(
    engine: Engine, servers: int, links: int, flows: int, rate_bits_per_sec: float, found: Format
) -> None:
    assert format_of(sized(network(engine), servers, links, rate_bits_per_sec), flows, 512) == found


@given(st.integers(1, 400), st.integers(1, 4), st.integers(0, 600), st.sampled_from([1e6, 2e7, 1e8, 1e9]))
def test_a_full_tick_fits_with_the_finest_unit_that_does(
    engine: Engine, servers: int, ports: int, flows: int, rate_bits_per_sec: float
) -> None:
    links = servers * ports // 2 + 1
    result = format_of(sized(network(engine), servers, links, rate_bits_per_sec), flows, 512)

    def characters(format_: Format) -> int:
        full_bytes = rate_bits_per_sec / 80
        link, server = int(full_bytes / format_.unit_bytes), int(full_bytes * 2 * links / servers / format_.unit_bytes)
        rows = [link] * (2 * links + flows * format_.flows) + [server] * 2 * servers
        rows += [int(full_bytes / 1000)] * 2 * links * format_.packets
        return len(orjson.dumps([*rows, *[round(0.123, format_.cpu_digits)] * servers])) - 1

    units = [1, *(max(1, ceil(rate_bits_per_sec / 80 / steps)) for steps in STEPS)]
    in_order = [
        Format(unit, with_flows, packets=False, cpu_digits=result.cpu_digits)
        for with_flows in ((True, False) if flows <= 512 else (False,))
        for unit in units
    ]
    first = next((item for item in in_order if characters(item) <= COLUMNS_BYTES), None)
    if first is None:
        assert result == in_order[-1], "the coarsest, without what can be left out"
    else:
        assert result == replace(first, packets=characters(replace(first, packets=True)) <= COLUMNS_BYTES)


@given(st.sampled_from([1, 7, 1000]), st.lists(st.lists(st.integers(0, 10**7), min_size=3, max_size=3), min_size=1))
def test_rounding_errors_are_carried_into_later_ticks(unit: int, ticks: list[list[int]]) -> None:
    units = Units(unit)
    reported = np.array([units.of(np.array(values)) for values in ticks]) * unit
    left = np.cumsum(ticks, axis=0) - np.cumsum(reported, axis=0)
    assert np.all((left >= 0) & (left < unit)), "after every tick"


@given(st.integers(0, 2**32), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 400)), min_size=1, max_size=5))
def test_the_largest_values_are_sent_and_counts_that_do_not_fit_wait(seed: int, ticks: list[tuple[int, int]]) -> None:
    """In each tick, some of 40 rows have a value, and there is space for some of them."""
    draws = np.random.default_rng(seed)
    counts, levels = Few(counts=True), Few(counts=False)
    waiting: dict[int, list[int]] = {}
    for rows, room_bytes in ticks:
        there = draws.permutation(40) < rows
        forth, back = (draws.integers(0, 600, (2, 40)) * draws.integers(0, 2, (2, 40)) * there).tolist()
        for result, had in (
            (counts.of([forth, back], room_bytes), waiting),
            (levels.of([forth, back], room_bytes), {}),
        ):
            due: dict[int, list[int]] = {}
            for row, pair in enumerate(zip(forth, back, strict=True)):
                added = [item + more for item, more in zip(pair, had.get(row, [0, 0]), strict=True)]
                due |= {row: added} if any(added) else {}
            order = sorted(due, key=lambda row: (-sum(due[row]), row))
            reported = {row: pair for row, *pair in result}
            assert list(reported) == sorted(order[: len(reported)]), "the largest, in order of their rows"
            assert all(reported[row] == due[row] for row in reported)
            assert len(reported) >= min(LEAST_ROWS, len(due))
            size = len(orjson.dumps(result)) - 1
            if len(reported) > LEAST_ROWS:
                assert size <= room_bytes
            if len(reported) < len(due):
                row = order[len(reported)]
                assert size + len(orjson.dumps([row, *due[row]])) + 1 > room_bytes, "no space for another"
            if had is waiting:
                waiting = {row: pair for row, pair in due.items() if row not in reported}
    none = [[0] * 40] * 2
    assert counts.of(none, 10**6) == [[row, *waiting[row]] for row in sorted(waiting)]
    assert levels.of(none, 10**6) == []
