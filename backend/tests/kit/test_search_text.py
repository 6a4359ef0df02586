"""Searches match whatever the letter case and the form of a text, in any script."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.kit.search_text import folded, pattern

PAIRS = [
    ("ünï", "ÜNÏ"), ("Ünï", unicodedata.normalize("NFD", "ünÏ")), ("straße", "STRASSE"), ("STRASSE", "straße"), ("ОБЛАКО", "облако"),
    ("ΣΊΣΥΦΟΣ", "Σίσυφος"), ("ﬁber", "FIBER"), ("ＹＡＲＤ", "yard"), ("ＹＡＲＤ", "Yard"), ("Å", "å"), ("データ", "データ"), ("ｶﾀｶﾅ", "カタカナ"),
    ("a.b", "A.B"), ("100%", "100%"), ("[x]", "[X]"), ("\\d", "\\D"),
]  # fmt: skip


@pytest.mark.parametrize(("word", "text"), [*PAIRS, *((text, word) for word, text in PAIRS)])
def test_forms_of_one_word_match_each_other(word: str, text: str) -> None:
    assert re.search(pattern(word), f"before {text} after")


@pytest.mark.parametrize(
    ("word", "text"), [("a.b", "axb"), ("ü", "u"), ("a%", "ab"), ("\\d", "1"), ("é", "è"), ("(", "x")]
)
def test_other_words_do_not_match(word: str, text: str) -> None:
    assert not re.search(pattern(word), text)


@given(st.text(st.characters(exclude_categories=("Cs", "Cc"), max_codepoint=0xFFFF), min_size=1, max_size=12))
def test_a_text_matches_itself_in_every_case(word: str) -> None:
    if folded(word):
        assert re.search(pattern(word), word)
        assert re.search(pattern(word), unicodedata.normalize("NFC", word))
