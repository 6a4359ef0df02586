"""The limits of a container in words, in the API, workbook, PDF and terminal."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cubeyard.plans.site_limits import limit_words

_POWER: dict[str, Any] = {
    "quantity": "power",
    "title": "power feed",
    "unit": "W",
    "value": 487_360.0,
    "place": "Container 1",
    "limit": 400_000.0,
    "usual": 400_000.0,
    "over": 1,
    "at_least": False,
    "source": "a vendor",
    "basis": "assumed",
}


def test_a_limit_names_value_limit_and_who_states_it() -> None:
    words = limit_words(_POWER)
    assert words == ("Power feed", "Container 1: 487.4 kW", "limit 400.0 kW (catalog, assumed)", True, "a vendor")
    stated = limit_words({**_POWER, "limit": 500_000.0, "over": 0})
    assert (stated.limit, stated.over) == ("limit 500.0 kW (plan)", False)
    assert limit_words({**_POWER, "limit": None, "over": 0}).limit == "no limit stated"


@given(value=st.floats(0, 1e9), unit=st.sampled_from(["W", "kg", "kg/m2"]), at_least=st.booleans())
def test_what_is_a_lower_bound_says_so(value: float, unit: str, at_least: bool) -> None:
    words = limit_words({**_POWER, "value": value, "unit": unit, "at_least": at_least})
    assert ("at least" in words.value) == at_least
    assert words.value.endswith("kW" if unit == "W" else unit)
