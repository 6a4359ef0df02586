"""Failures as people write them short: `switches=0.1` on the command line, `{"switches": 0.1}` in a
notebook."""

from __future__ import annotations

from typing import Any

from cubeyard.kit.json_text import MAX_INTEGER
from cubeyard.reading.units import amount

MAX_SEED = MAX_INTEGER
FAILURE_KINDS = {"servers": "server", "switches": "switch", "links": "link", "racks": "rack"}


def failure_kind(word: str) -> str | None:
    """For example `switch` for `switch` or `Switches`; None if the word is not a kind of device."""
    plain = word.strip().lower()
    return next((kind for plural, kind in FAILURE_KINDS.items() if plain in (plural, kind)), None)


def share_of(text: str) -> tuple[str, float] | None:
    """The kind and the share of `switches=0.1` and `links=5%`; None for other texts."""
    word, _, share = text.partition("=")
    kind = failure_kind(word)
    try:
        ratio = amount(share, "")
    except ValueError:
        return None
    return None if kind is None or ratio > 1 else (kind, ratio)


def share_fault(kind: str, ratio: float) -> dict[str, Any]:
    """A fault that takes a share of all devices of a kind down."""
    return {"target": {"kind": kind, "ratio": ratio}}


def selector_fault(words: str) -> dict[str, Any]:
    """A fault that takes down what words select: `10% of level-1 switches`, `rack R03`."""
    return {"target": {"selector": words}}
