"""The `--fault` option of `cubeyard emulate`, `predict` and `simulate`: a fault as text, or as
JSON."""

from __future__ import annotations

from cubeyard.cli.common import read_json, refuse
from cubeyard.engine import Json
from cubeyard.experiments.fault_text import fault_of


def read_fault(text: str) -> Json:
    """One `--fault`, as a fault of an experiment. Exits with 2 if it is not valid."""
    if text.lstrip().startswith("{"):
        return read_json(text, "--fault")
    try:
        return fault_of(text)
    except ValueError as error:
        refuse(f"--fault {error}")
