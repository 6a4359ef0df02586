"""The document of an import: the spec, and reports of what was read, assumed and left out."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from cubeyard.kit.errors import Finding
from cubeyard.kit.models import Model
from cubeyard.reading.report import MAX_SKIPPED, SkippedRow
from cubeyard.topologies.network import Format
from cubeyard.topologies.roles import Rule


class ImportedCounts(Model):
    nodes: int
    servers: int
    switches: int
    links: int


class ImportedRoles(Model):
    """Nodes whose role one rule gives."""

    rule: Rule
    title: str = Field(description="The rule in words.")
    servers: int
    switches: int
    examples: list[str] = Field(description="The first of them, at most 8.")


class ImportedRate(Model):
    gbps: float
    links: int
    told: bool = Field(description="Whether the file says so; false for links that have the rate that was assumed.")


class ImportedTopology(Model):
    """A network of a file as a topology."""

    format: Format
    format_title: str
    name: str = Field(description="What the file calls the network; empty where it has no name.")
    spec: dict[str, Any] = Field(description="A topology's spec of the family `custom`, which a plan takes.")
    counts: ImportedCounts
    roles: list[ImportedRoles] = Field(
        description="How it was found which nodes are servers, in the order of the rules."
    )
    rates: list[ImportedRate] = Field(description="Rates of the links, the most frequent one first.")
    assumed: list[str] = Field(description="What the file does not say, and was taken to be.")
    left_out: list[str] = Field(description="What of the file is not in the topology.")
    skipped: list[SkippedRow] = Field(description=f"The same by place, the first {MAX_SKIPPED:,}.")
    findings: list[Finding] = Field(description="What a person should look at.")
