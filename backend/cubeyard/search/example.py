"""A built-in result, so that the page is not empty before the first request.

It is the result of this version of the engine for the initial values of the page's form.
`bin/example-results` writes it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import orjson
from pydantic import Field

from cubeyard.engine import Json
from cubeyard.kit.models import Model

FILE = "example.json"


class ExampleResult(Model):
    """A request and its precomputed result."""

    question: dict[str, object] = Field(description="The request as posted.")
    secs: float = Field(description="Time of its computation, and the machine.")
    result: dict[str, object] = Field(description="The data of the event `result`.")


@lru_cache(maxsize=4)
def example_in(folder: Path) -> ExampleResult:
    """The example result in a package's folder."""
    return ExampleResult.model_validate(orjson.loads((folder / FILE).read_bytes()))


def write_example(folder: Path, question: Json, result: Json, secs: float) -> None:
    kept = {"question": question, "secs": float(f"{secs:.2g}"), "result": result}
    (folder / FILE).write_bytes(orjson.dumps(kept, option=orjson.OPT_SORT_KEYS) + b"\n")
