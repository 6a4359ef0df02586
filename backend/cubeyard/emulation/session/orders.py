"""Orders to a session that runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cubeyard.emulation.faults.faults import Fault


@dataclass(frozen=True)
class Order:
    """`fault` comes with `inject`, `fault_id` with `recover`."""

    id: int
    kind: Literal["inject", "recover", "stop-all", "upgrade"]
    fault: Fault | None = None
    fault_id: str = ""
