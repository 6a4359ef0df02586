"""The engine's catalogue of fault kinds: names, targets, parameters with units and limits. There is
no other list of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from cubeyard.engine import Json, fault_kinds

Target = Literal["server", "switch", "link"]


@dataclass(frozen=True)
class Parameter:
    """A number that a kind of fault needs, in `unit`, from `minimum` to `maximum`."""

    name: str
    title: str
    unit: str
    minimum: float
    maximum: float
    default: float


@dataclass(frozen=True)
class Kind:
    """One way to break something."""

    name: str
    title: str
    target: Literal["server", "switch", "link", "any"]
    effect: str
    silent: bool
    """True if no carrier or message signals the fault: neighbours notice it only by missing
    packets."""
    predicted: bool
    """True if the flow engine supports it."""
    carries: bool
    """The target still carries packets: it is degraded, it has not failed."""
    process: Literal["ends", "pauses"] | None
    """The effect on the process of a server."""
    stands_for: dict[Target, str] | None
    """For a general kind: the exact kind for each target."""
    process_only: bool
    """It changes nothing but the process: where servers are containers, the Docker engine alone
    injects it."""
    needs: str | None
    """The queueing discipline of the kernel that injecting it needs, as the fabric's probe names
    it."""
    parameters: tuple[Parameter, ...]
    optional: tuple[Parameter, ...]
    """Numbers that it may have."""

    def exact(self, target: Target) -> str:
        """The name of the kind that hits such a target."""
        return self.name if self.stands_for is None else self.stands_for[target]

    @property
    def targets(self) -> tuple[Target, ...]:
        """The possible targets."""
        return ("server", "switch", "link") if self.target == "any" else (self.target,)


def _read(document: Json) -> Kind:
    numbers = {
        name: tuple(Parameter(**parameter) for parameter in document[name]) for name in ("parameters", "optional")
    }
    return Kind(**{**document, **numbers})


KINDS: dict[str, Kind] = {document["name"]: _read(document) for document in fault_kinds()}
"""By name, in the order of menus."""
PARAMETERS: dict[str, Parameter] = {
    parameter.name: parameter for kind in KINDS.values() for parameter in kind.parameters
}
"""Every needed parameter by name."""
OPTIONAL: dict[str, Parameter] = {parameter.name: parameter for kind in KINDS.values() for parameter in kind.optional}
"""Every optional parameter by name."""


def _known(name: str) -> str:
    if name not in KINDS:
        raise ValueError(f"there is no such kind of fault; there are {', '.join(KINDS)}")
    return name


KindName = Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": list(KINDS)})]
"""The kind in a request. Raises a 422 that lists the valid names."""
