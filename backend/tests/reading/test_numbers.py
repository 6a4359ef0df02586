"""Numbers and lengths as spreadsheets and people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.reading.numbers import (
    Mark,
    NoNumberError,
    TwoNumbersError,
    currencies_of,
    evidence,
    judged,
    length_mm,
    number,
    readings,
    rounding_mm,
)


@given(st.floats(0, 1e9).map(lambda value: round(value, 2)))
def test_numbers_are_read_however_a_spreadsheet_writes_them(value: float) -> None:
    english = f"{value:,.2f}"
    german = english.translate(str.maketrans(",.", ".,"))
    swiss, french = english.replace(",", "'"), german.replace(".", "\u202f")
    for text in (english, swiss, f"${english}", f"{english} $", f"CHF {english}", f"{english}EUR", f"{english} Fr."):
        assert number(text, "point") == value, text
    for text in (german, french, f"{german} \u20ac", f"{value:.2f}".replace(".", ",")):
        assert number(text, "comma") == value, text
    wide = english.translate({ord(entry): chr(ord(entry) + 0xFEE0) for entry in "0123456789,."})
    assert number(wide, "point") == value


@given(st.floats(0, 1e9), st.integers(0, 3), st.sampled_from(["point", "comma"]), st.booleans())
def test_no_text_is_read_as_another_number_without_a_question(
    value: float, digits: int, mark: Mark, grouped: bool
) -> None:
    """Read alone, without the file around it, a number is the right one or two are named."""
    text = f"{value:,.{digits}f}" if grouped else f"{value:.{digits}f}"
    if mark == "comma":
        text = text.translate(str.maketrans(",.", ".,"))
    matches = set(readings(text).values())
    assert round(value, digits) in {round(entry, digits) for entry in matches}
    assert len(matches) == 1 or evidence(text) is None


@pytest.mark.parametrize(
    "text", ["", "n/a", "1 or 2", "inf", "nan", "0x10", "1e999", "-1e400", "1e999x", "1.2.3", "1,2,3", "--5", "12 34"]
)
def test_what_is_no_number_is_refused_in_words(text: str) -> None:
    with pytest.raises(NoNumberError, match="is not a number"):
        number(text, "point")


@pytest.mark.parametrize(
    ("texts", "mark"),
    [
        (["0.125"], "point"), (["1.234"], None), (["1.234", "0,5"], "comma"), (["1,234", "1900.0"], "point"), (["12", "7"], None),
        (["1.5", "1,5"], None), (["1'000.5"], "point"), (["1 000,5"], "comma"), (["1.234.567"], "comma"), (["1234.567"], "point"),
    ],
)  # fmt: skip
def test_the_mark_of_a_file_is_what_its_numbers_show(texts: list[str], mark: Mark | None) -> None:
    assert judged(texts) == mark
    assert judged(texts, "comma") == "comma"


@pytest.mark.parametrize(
    ("text", "currencies"),
    [("US$ 5", ("USD",)), ("5 \u20ac", ("EUR",)), ("CHF 5", ("CHF",)), ("Fr. 5", ("CHF",)), ("5", ())],
)
def test_an_amount_may_name_its_currency(text: str, currencies: tuple[str, ...]) -> None:
    assert currencies_of(text) == currencies
    assert number(text, None) == 5


@pytest.mark.parametrize(
    ("written", "unit", "millimetres"),
    [
        ("3", "", 3000), ("3,5", "", 3500), ("3 m", "", 3000), ("250cm", "", 2500), ("10 ft", "", 3048), ("1 in", "", 25.4),
        ("0.001 km", "", 1000), ("3 Meters", "", 3000), ("1.5 Meters", "ft", 1500), ("3", "ft", 914.4), ("3.0m", "", 3000),
        ("10'", "", 3048), ('5"', "", 127), ("5\u2033", "", 127), ("10 ft.", "", 3048), ("3M", "", 3000), ("3\u00a0m", "", 3000),
        ("1.500", "", 1500), ("1,500 mm", "", 1500), ("300", "cm", 3000), ("2 Feet", "", 609.6), ("\uff13 m", "", 3000),
        ("100 Centimeters", "", 1000), ("3 metre(s)", "", 3000),
    ],
)  # fmt: skip
def test_lengths_have_units(written: str, unit: str, millimetres: float) -> None:
    assert length_mm(written, unit, None) == pytest.approx(millimetres)


@pytest.mark.parametrize("written", ["long", "3 parsecs", "-3 m", "m", "3 m 2", "~3m"])
def test_what_is_no_length_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        length_mm(written, "", None)


def test_a_file_s_mark_does_not_make_a_length_that_no_cable_has() -> None:
    for mark, text in (("comma", "1.250"), ("point", "1,250 m")):
        with pytest.raises(TwoNumbersError, match=r"1\.25 with .* 1250 with|1250 with .* 1\.25 with"):
            length_mm(text, "", mark)
        assert length_mm(text, "", mark, given=True) == 1_250_000
    assert length_mm("1.250", "mm", "comma") == 1250


@pytest.mark.parametrize(
    ("written", "unit", "rounding"),
    [("10 ft", "", 152), ("10", "ft", 152), ("10.0", "feet", 152), ("9.8 ft", "", 15), ("118", "in", 13), ('118"', "", 13), ("3 m", "", 0), ("3", "", 0),
     ("300 cm", "ft", 0), ("long", "ft", 0)],
)  # fmt: skip
def test_a_length_in_feet_may_be_that_of_a_cable_in_metres(written: str, unit: str, rounding: int) -> None:
    assert rounding_mm(written, unit) == rounding
