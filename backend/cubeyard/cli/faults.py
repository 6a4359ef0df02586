"""The `--fault` option of `cubeyard emulate`, `predict` and `simulate`: a fault as text, or as
JSON."""

from __future__ import annotations

from collections.abc import Sequence

from cubeyard.cli.common import errors, read_json, refuse
from cubeyard.engine import Engine, Json
from cubeyard.experiments.fault_text import fault_of


def read_fault(text: str) -> Json:
    """One `--fault`, as a fault of an experiment. Exits with 2 if it is not valid."""
    if text.lstrip().startswith("{"):
        return read_json(text, "--fault")
    try:
        return fault_of(text)
    except ValueError as error:
        refuse(f"--fault {error}")


def print_empty(engine: Engine, spec: Json, faults: Sequence[Json], texts: Sequence[str], seed: int) -> None:
    """Prints on standard error the options of faults that affect nothing: a small share of a few
    devices rounds to none."""
    drawn = [fault["target"] for fault in faults]
    if all("names" in target for target in drawn):
        return
    struck = engine.fault_targets(spec, [{"target": target} for target in drawn], seed)
    for text, target, hit in zip(texts, drawn, struck, strict=True):
        if target.get("ratio") != 0 and not hit["nodes"] and not hit["links"]:
            errors.print(f"{text}: this affects nothing: its share of these devices rounds to none.", markup=False)
