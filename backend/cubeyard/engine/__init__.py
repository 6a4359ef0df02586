"""The network's mathematics, as the rest of the backend sees it. The only importer of the binding.

Calls release the GIL and run on the caller's thread, a few at a time: `Engine` hands out turns,
remembers the plans computed lately, and refuses what would be too large to answer in time.

Inside: `call.py`, by which every module here calls the binding, and a module for each subject, a
class each, which `Engine` joins.
"""

from __future__ import annotations

from cubeyard.built_plan import Json
from cubeyard.engine.call import (
    CancelledError,
    OnPartial,
    OnProgress,
    PlanRejectedError,
    binding_build,
    canonical,
    content_hash,
    finding,
)
from cubeyard.engine.chip import Chips, ChipServer, chip_model
from cubeyard.engine.emulation import Emulations
from cubeyard.engine.figures import Figures
from cubeyard.engine.life import Lives
from cubeyard.engine.plans import Plans
from cubeyard.engine.predict import Predictions, computing_engines, fault_from_text, fault_kinds
from cubeyard.engine.search import Searches
from cubeyard.engine.services import Services

__all__ = [
    "CancelledError",
    "ChipServer",
    "Engine",
    "Json",
    "OnPartial",
    "OnProgress",
    "PlanRejectedError",
    "binding_build",
    "canonical",
    "chip_model",
    "computing_engines",
    "content_hash",
    "fault_from_text",
    "fault_kinds",
    "finding",
]


class Engine(Plans, Predictions, Figures, Emulations, Chips, Services, Lives, Searches):
    """The binding, in turns, and the plans computed lately."""
