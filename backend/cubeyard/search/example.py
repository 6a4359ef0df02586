"""An answer that comes with the program, so that a page of questions is not empty before the first
one.

It is what this version of the engine computes for the values with which the page's form starts.
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
    """A question and its answer, computed beforehand."""

    question: dict[str, object] = Field(description="As it is posted.")
    secs: float = Field(description="What computing it took, on the machine that did.")
    result: dict[str, object] = Field(description="The data of the event `result`.")


@lru_cache(maxsize=4)
def example_in(folder: Path) -> ExampleResult:
    """The answer that a package has beside its code."""
    return ExampleResult.model_validate(orjson.loads((folder / FILE).read_bytes()))


def write_example(folder: Path, question: Json, result: Json, secs: float) -> None:
    kept = {"question": question, "secs": float(f"{secs:.2g}"), "result": result}
    (folder / FILE).write_bytes(orjson.dumps(kept, option=orjson.OPT_SORT_KEYS) + b"\n")
