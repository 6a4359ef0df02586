"""The payload of each kind of frame."""

from __future__ import annotations

from typing import Any

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

from cubeyard.experiments.faults import FailureKind
from cubeyard.experiments.results import Prediction, Simulation, SimulationSoFar
from cubeyard.frames.faults import FaultFrame, PredictedFrame, StopAllFrame
from cubeyard.frames.network import NetworkFrame, UpgradeFrame
from cubeyard.frames.phases import PhaseFrame
from cubeyard.frames.report import ReportFrame
from cubeyard.frames.run import ProgressEvent, StateFrame
from cubeyard.frames.tick import SecondFrame, TickFrame
from cubeyard.kit.models import Model


class OfPoint(Model):
    """The point that a frame belongs to."""

    point: int
    topology: int = Field(description="The row of the experiment's topology.")
    seed: int
    failure_kind: FailureKind | None
    failure_ratio: float | None


class PointFrame(OfPoint):
    """One point's result."""

    result: Prediction


class SimulationFrame(OfPoint):
    """The packet engine's result for one point."""

    result: Simulation


class SimulatingFrame(OfPoint):
    """The partial result of a point. It can start again from the beginning if another worker takes
    over the run."""

    result: SimulationSoFar


PAYLOADS: dict[str, Any] = {
    "state": StateFrame,
    "point": PointFrame,
    "simulation": SimulationFrame,
    "simulating": SimulatingFrame,
    "figure": dict[str, Any],
    "network": NetworkFrame,
    "phase": PhaseFrame,
    "tick": TickFrame,
    "second": SecondFrame,
    "fault": FaultFrame,
    "predicted": PredictedFrame,
    "stop-all": StopAllFrame,
    "upgrade": UpgradeFrame,
    "report": ReportFrame,
}
"""By kind. Figures have their own document; a partial one has `partial: true`."""
EVENTS: dict[str, Any] = {**PAYLOADS, "progress": ProgressEvent}
"""The events of a run's stream: its frames and its progress."""
RunFrames: Any = TypedDict("RunFrames", EVENTS)  # type: ignore[misc]


def schemas(ref_template: str) -> dict[str, Any]:
    """The JSON schemas of all payloads by name; `RunFrames` is an object with the payload of each
    kind."""
    schema = TypeAdapter(RunFrames).json_schema(ref_template=ref_template)
    result = schema.pop("$defs")
    return {**result, "RunFrames": {**schema, "description": "The payload of each kind of event in a run's stream."}}
