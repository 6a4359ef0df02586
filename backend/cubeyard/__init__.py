"""Cubeyard: plans, prices and wires container data centers, predicts them and emulates them with
real packets.

In: one folder per job (see the code map in ARCHITECTURE.md), and the programs `app.py` (the API),
`serve.py`, `worker.py` and `cli/`; `engine.py`, the only importer of the binding; `settings.py`,
every setting from the environment.

Not in: network mathematics. The engine computes, this package serves, stores and prints.

In notebooks `cubeyard.Topology`, `cubeyard.plan` and the other names of `__all__` are those of
`cubeyard.notebook`, which is imported when the first of them is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cubeyard.notebook import CubeyardError, Topology, catalogs, families, formats, plan, predict, simulate, sweep

__version__ = "0.1.0"
__all__ = ["CubeyardError", "Topology", "catalogs", "families", "formats", "plan", "predict", "simulate", "sweep"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("cubeyard.notebook"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
