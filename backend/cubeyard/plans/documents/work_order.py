"""How to turn one plan's cabling into another's."""

from __future__ import annotations

from pydantic import Field

from cubeyard.plans.documents.base import Document


class PlanName(Document):
    plan_hash: str
    title: str


class DiffCounts(Document):
    """Numbers of cables; a breakout counts as one cable, and as moved if its legs have different
    actions."""

    keep: int
    move: int
    add: int
    remove: int


class DiffColumns(Document):
    """One row per link (a cable or a leg of a breakout cable), in this order: removals, moves,
    additions, keeps."""

    action: list[int] = Field(description="A row of `actions`.")
    reason: list[int] = Field(description="A row of `reasons`.")
    cable: list[int] = Field(
        description="Number of the cable: the legs of a breakout cable share it and are handled together."
    )
    before: list[int] = Field(description="The cable's number in the plan before; -1 for none.")
    after: list[int] = Field(description="The cable's number in the plan after; -1 for none.")
    end_a: list[str]
    end_b: list[str]
    from_: list[str] = Field(alias="from", description="The label before; empty for none.")
    to: list[str] = Field(description="The label after; empty for none.")
    length_mm: list[int]


class Claim(Document):
    """A paper's claim about rewiring, checked on these two plans."""

    name: str
    statement: str
    source: str
    holds: bool
    detail: str


class WorkOrder(Document):
    """How to turn one plan's cabling into another's."""

    before: PlanName
    after: PlanName
    counts: DiffCounts
    actions: list[str]
    reasons: list[str]
    columns: DiffColumns
    claims: list[Claim]
