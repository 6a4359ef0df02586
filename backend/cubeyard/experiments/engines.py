"""The engines for experiments: requirements, runner, and frames of each. This is the only list.

The engines of the Rust binding compute point by point; the emulation sends real packets, one point
per run. A new engine of the binding appears here automatically. An engine outside the binding needs
a line below, a runner for the worker (`worker.py`) and an outliner for the API (`app.py`), both
under its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from cubeyard.engine import Json, computing_engines
from cubeyard.experiments.fault_kinds import KINDS


@dataclass(frozen=True)
class EngineKind:
    """One engine. The name is what experiments choose it by."""

    name: str
    method: str
    """The usual word for its results: a prediction, a simulation, an emulation."""
    summary: str
    computed: bool
    """True if the binding computes it: any number of points on any worker. Otherwise a separate
    runner does, one point per run."""
    settings: str | None
    """The field of a request that only this engine takes."""
    frames: tuple[str, ...]
    """The kinds of frames of its runs in addition to `state`. For an engine of the binding: a
    point's result, and its partial result if the engine reports it."""
    host: bool
    """True if it needs a machine that can emulate: `GET /emulation` returns whether this machine
    can."""

    faults: tuple[str, ...]
    """The kinds of faults that it supports."""
    form: tuple[Json, ...] = ()
    """The fields of `settings`, as far as the binding describes them: `{name, title, default}` with
    `choices` or with `unit`, `minimum`, `maximum` and `whole`."""

    @property
    def flaps(self) -> bool:
        """Whether faults may be on and off: a computed answer is of one state of the network."""
        return not self.computed


EMULATION = EngineKind(
    name="emulation",
    method="Emulation",
    summary="Real packets between containers or namespaces on this machine, or several, while faults come and go.",
    computed=False,
    settings="emulation",
    frames=("network", "phase", "tick", "second", "fault", "predicted", "stop-all", "upgrade", "report"),
    host=True,
    faults=tuple(KINDS),
)
FRAMES = {"packet": ("simulation", "simulating")}
"""Frames of the binding's engines whose points are not predictions."""
ENGINES: dict[str, EngineKind] = {
    **{
        computing_engine["name"]: EngineKind(
            name=computing_engine["name"],
            method=computing_engine["method"],
            summary=computing_engine["summary"],
            computed=True,
            settings=computing_engine["settings"],
            frames=FRAMES.get(computing_engine["name"], ("point",)),
            host=False,
            faults=tuple(computing_engine["faults"]),
            form=tuple(computing_engine["form"] or ()),
        )
        for computing_engine in computing_engines()
    },
    EMULATION.name: EMULATION,
}
"""By name, in the order of menus."""
DEFAULT = next(iter(ENGINES))


def _known(name: str) -> str:
    if name not in ENGINES:
        raise ValueError(f"there is no such engine; there are {', '.join(ENGINES)}")
    return name


EngineName = Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": list(ENGINES)})]
