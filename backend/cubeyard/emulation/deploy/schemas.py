"""Emulation capabilities of this machine, or of each of several machines."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from cubeyard.kit.models import Model


class Capability(Model):
    """One thing that emulation needs or can use."""

    name: str = Field(examples=["docker"])
    title: str
    available: bool
    reason: str = Field(description="Why not, or what was found.")
    fix: str = Field(description="What to do about it; empty when there is nothing to do.")
    needed: bool = Field(description="Nothing runs without it.")


class HostState(Model):
    """One of the machines that runs are spread over."""

    name: str
    ready: bool = Field(description="Its cubeyard-fabric answers, and nothing that it needs is missing.")
    reason: str = Field(description="Why not, or what was found.")
    docker: bool = Field(description="Its Docker engine answers.")
    docker_reason: str
    underlay: str = Field(description="Its address on the network between the hosts.")
    underlay_mtu: int | None = Field(
        description="What that network carries to the others, in bytes; packets of servers may be 50 smaller."
    )
    cores: int
    memory_free_bytes: int
    share: float = Field(description="How large a part of the servers it takes, beside the others' shares.")


class MissingKind(Model):
    """A kind of fault that no run can inject here."""

    kind: str = Field(examples=["link-delay"])
    reason: str
    fix: str


class Workers(Model):
    """How many workers can emulate now, by the need of a run."""

    namespaces: int = Field(description="Servers as namespaces.")
    containers: int = Field(description="Servers as containers, or pods.")
    images: int = Field(description="Images of users in such containers' networks.")


class Machine(Model):
    """Whether this machine emulates, alone or with others, and how."""

    ready: bool
    modes: list[Literal["containers", "namespaces"]]
    capabilities: list[Capability]
    missing_kinds: list[MissingKind] = Field(
        default=[], description="Kinds of faults that cannot be injected here; experiments with them are refused."
    )
    fabric: dict[str, Any] | None = Field(description="What cubeyard-fabric says of the kernel.")
    cores: int
    memory_free_bytes: int
    max_servers: int
    workers: Workers | None = Field(
        default=None,
        description="Workers that can emulate now; runs that none can do wait in their queue. Null: not known.",
    )
    hosts: list[HostState] = Field(
        default=[],
        description="The machines that runs are spread over; empty: this one alone. Cores and memory are all of theirs.",
    )
