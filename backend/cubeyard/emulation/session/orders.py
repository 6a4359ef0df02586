"""Orders to a live session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cubeyard.emulation.faults.faults import Fault


@dataclass(frozen=True)
class Order:
    """An order. `inject` has `fault`, `recover` has `fault_id`."""

    id: int
    kind: Literal["inject", "recover", "stop-all", "upgrade"]
    fault: Fault | None = None
    fault_id: str = ""
