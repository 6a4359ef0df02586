"""The phases of an emulation; each sends a frame when it begins."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict


class Deploying(TypedDict):
    phase: Literal["deploying"]
    servers: int


class OutsideNetwork(TypedDict):
    """The external network behind the gateways."""

    namespace: str
    address: str


class Up(TypedDict):
    """Every server is up and wired."""

    phase: Literal["up"]
    prepare_secs: NotRequired[float]
    containers_secs: NotRequired[float]
    wire_secs: NotRequired[float]
    up_secs: NotRequired[float]
    outside: NotRequired[OutsideNetwork]


class Sending(TypedDict):
    """Traffic for `secs`: one pair, then the workload before and during the measurement."""

    phase: Literal["calibrating", "settling", "measuring"]
    secs: float


class Calibrated(TypedDict):
    """The goodput of a single connection without other traffic."""

    phase: Literal["calibrated"]
    source: str
    destination: str
    goodput_bits_per_sec: float
    ideal_bits_per_sec: Annotated[float, Field(description="The link's rate.")]
    achieved_over_ideal: float


class Removing(TypedDict):
    phase: Literal["removing"]


PhaseFrame = Annotated[Deploying | Up | Sending | Calibrated | Removing, Field(discriminator="phase")]
