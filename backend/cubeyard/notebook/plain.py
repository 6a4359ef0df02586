"""Arguments of calls as Python's own numbers: a loop over a data frame gives NumPy's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Numbers and arrays of NumPy, and columns of data frames, at any depth."""
    if isinstance(value, Mapping):
        return {plain(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value
