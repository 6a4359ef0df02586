"""The inputs of the measured figures of a switching chip: packets, shares of hits, and lines
through points."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.chip.cache import IP, UDP, checksum
from cubeyard.emulation.figures import chip_fig9, chip_fig10
from cubeyard.emulation.figures.chip_fig9 import Load
from cubeyard.engine import Engine

PROGRAMS = Path(__file__).parents[3] / "emulator" / "crates" / "chip" / "programs"


def test_the_cache_runs_by_the_program_that_is_shipped_for_it(engine: Engine) -> None:
    def calls(text: str) -> list[str]:
        return [line for line in re.sub("//.*", "", text).splitlines() if line.strip()]

    made = chip_fig10.cache_program(engine.chip_bcube(chip_fig10.SPEC))
    assert calls(made) == calls((PROGRAMS / "bcube-cache.chip").read_text())


@given(st.sampled_from(chip_fig10.RATIOS), st.integers(4, 400))
def test_as_many_ask_again_as_the_share_says_and_all_others_once(ratio: float, count: int) -> None:
    request = list(chip_fig10.numbers(ratio, 1_000, count))
    again = [number for number in request if number < chip_fig10.KEPT]
    others = [number for number in request if number >= 1_000]
    assert len(again) == int(count * ratio)
    assert len(again) + len(others) == len(set(others)) + len(again) == count


@given(st.integers(0, 2**32 - 1))
def test_requests_and_responses_are_as_long_as_the_testbed_s(number: int) -> None:
    packet = chip_fig10.request_packet(bytes([10, 0, 0, 2, 10, 0, 0, 3]), number)
    assert len(packet) + 14 == chip_fig10.REQUEST_BYTES
    assert checksum(packet[:IP]) == 0, "of a header with its sum"
    content = chip_fig10.content_of(number)
    assert packet[IP + UDP :][:4] == content[:4] == number.to_bytes(4, "big")
    assert len(content) + chip_fig10.HEADERS == chip_fig10.RESPONSE_BYTES


@given(st.floats(-5, 5), st.floats(-50, 50))
def test_a_line_goes_through_points_that_are_on_one(slope: float, fixed: float) -> None:
    sizes = chip_fig9.SIZES
    result = chip_fig9.line_through(sizes, [slope * size + fixed for size in sizes])
    assert result[:2] == pytest.approx((slope, fixed), abs=1e-6)
    assert result[2] is None or result[2] == pytest.approx(1.0, abs=1e-3) or abs(slope) < 1e-6
    assert chip_fig9.line_through(sizes, [None] * len(sizes)) == (None, None, None)
    random = np.random.default_rng(7).normal(size=len(sizes)).tolist()
    assert (chip_fig9.line_through(sizes, random)[2] or 0) < 0.9


def test_a_loss_is_what_came_and_did_not_leave() -> None:
    assert Load(1000, 750, 0.1).loss_percent == 25
    assert Load(1000, 1001, 0.1).loss_percent == Load(0, 0, 0.0).loss_percent == 0
