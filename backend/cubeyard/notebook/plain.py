"""Arguments of calls as Python's own numbers: a loop over a data frame gives NumPy's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cubeyard.kit.json_text import MAX_INTEGER


def plain(value: Any) -> Any:
    """Numbers and arrays of NumPy, and columns of data frames, at any depth.

    A row of a data frame with a column of fractions has whole numbers as 4.0: they are 4, as in
    JSON of a browser.
    """
    if isinstance(value, Mapping):
        return {plain(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        kind: Any = getattr(value, "dtype", None)
        if getattr(kind, "kind", "") == "f" and kind.itemsize < 8:  # 0.1 of float32 is not 0.10000000149
            value = value.astype(str).astype("float64")
        value = value.tolist()
    whole = isinstance(value, float) and value.is_integer() and abs(value) <= MAX_INTEGER
    return int(value) if whole else value
