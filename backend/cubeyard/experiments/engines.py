"""The engines that answer experiments: what each needs, who runs it, and which frames it writes.
There is no other list.

The binding's engines compute, point by point; the emulation sends real packets, one point a run. A
new engine of the binding is here by itself. One that runs elsewhere is a line below, a runner for
the worker (`worker.py`) and an outliner for the API (`app.py`), both under its name.
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
    """What people call its answers: a prediction, a simulation, an emulation."""
    summary: str
    computed: bool
    """The binding computes it: any number of points on any worker. Otherwise a runner of its own
    does, one point a run."""
    settings: str | None
    """The field of a request that only this engine takes."""
    frames: tuple[str, ...]
    """The kinds of frames that its runs write beside `state`. Of one that the binding computes: a
    point's, and what there is of a point so far, if it tells."""
    host: bool
    """It needs a machine that can emulate: `GET /emulation` tells whether this one can."""

    faults: tuple[str, ...]
    """The kinds of faults that it knows."""
    form: tuple[Json, ...] = ()
    """What the field of `settings` may hold, as far as the binding describes it:
    `{name, title, default}` with `choices` or with `unit`, `minimum`, `maximum` and `whole`."""

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
"""Of the binding's engines whose points are no predictions."""
ENGINES: dict[str, EngineKind] = {
    **{
        one["name"]: EngineKind(
            name=one["name"],
            method=one["method"],
            summary=one["summary"],
            computed=True,
            settings=one["settings"],
            frames=FRAMES.get(one["name"], ("point",)),
            host=False,
            faults=tuple(one["faults"]),
            form=tuple(one["form"] or ()),
        )
        for one in computing_engines()
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
