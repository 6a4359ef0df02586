"""Which payload each kind of frame has."""

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
    """Which point a frame is of."""

    point: int
    topology: int = Field(description="The row of the experiment's topology.")
    seed: int
    failure_kind: FailureKind | None
    failure_ratio: float | None


class PointFrame(OfPoint):
    """One point's result."""

    result: Prediction


class SimulationFrame(OfPoint):
    """One point's result, packet by packet."""

    result: Simulation


class SimulatingFrame(OfPoint):
    """What there is of a point so far. It may come again from the start, when another worker takes
    the run up."""

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
"""By kind. A figure's document is its own; while it is partial it has `partial: true`."""
EVENTS: dict[str, Any] = {**PAYLOADS, "progress": ProgressEvent}
"""What the stream of a run tells: its frames, and how far it is."""
RunFrames: Any = TypedDict("RunFrames", EVENTS)  # type: ignore[misc]


def schemas(ref_template: str) -> dict[str, Any]:
    """The JSON schemas of all payloads by name; `RunFrames` is an object with each kind's
    payload."""
    schema = TypeAdapter(RunFrames).json_schema(ref_template=ref_template)
    found = schema.pop("$defs")
    return {**found, "RunFrames": {**schema, "description": "The payload of each kind of event in a run's stream."}}
