"""Options of an export: each format accepts its own options, and errors name the option."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.exports import FORMATS, ExportOptionError, ExportOptions
from cubeyard.exports.options import check
from cubeyard.plans.spec import on_paper

PACK = FORMATS["pdf"].options


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("paper", "a5"), ("first_label", 0), ("first_label", 1001), ("codes", "barcode"), ("printer", "laser"), ("codes", "link"),
        ("link", "ftp://x/"), ("link", "javascript:alert(1)"), ("link", "https://x/" + "y" * 80), ("solid", True),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_by_its_name(name: str, value: object) -> None:
    with pytest.raises(ExportOptionError, match=name) as raised:
        check("pdf", PACK, {name: value})
    assert raised.value.name == name
    assert raised.value.message


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_takes_its_own_options_only(format: str) -> None:
    right = {
        "paper": "letter",
        "first_label": 3,
        "codes": "none",
        "link": "https://x/",
        "printer": "dymo",
        "solid": True,
    }
    for name, value in right.items():
        if name in FORMATS[format].options:
            assert getattr(check(format, FORMATS[format].options, {name: value}), name) == value
        else:
            with pytest.raises(ExportOptionError, match=f"^{name}: The format {format} does not take"):
                check(format, FORMATS[format].options, {name: value})


def test_what_is_not_given_is_the_default() -> None:
    assert check("pdf", PACK, dict.fromkeys(PACK)) == ExportOptions()
    assert ExportOptions().given() == {}


@given(
    st.fixed_dictionaries(
        {}, optional={"first_label": st.integers(1, 1000), "codes": st.sampled_from(["none", "cable"])}
    )
)
def test_what_was_given_makes_the_same_options_again(values: dict[str, Any]) -> None:
    options = check("pdf", PACK, values)
    assert ExportOptions(**options.given()) == options


def test_another_paper_is_another_plan_and_the_same_paper_is_not() -> None:
    spec = {"topology": {"family": "bcube", "n": 4, "k": 1}, "site": {"host_prefix": "a"}}
    assert on_paper(spec, None) is spec
    assert on_paper(spec, "a4") is spec
    assert on_paper(spec, "letter")["site"] == {"host_prefix": "a", "paper": "letter"}
    assert on_paper(on_paper(spec, "letter"), "letter")["site"]["paper"] == "letter"
