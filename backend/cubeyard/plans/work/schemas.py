"""Requests and responses of the cabling work endpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from cubeyard.kit.models import Model
from cubeyard.kit.text import PlainText

MAX_MARKS = 1000
"""Most marks in one request and on one page."""

CableIndex = Annotated[
    int, Field(ge=0, le=2_147_483_647, description="The cable's number: 12 is the cable C00012.", examples=[12])
]
MarkState = Literal["done", "exception"]


class MarkChange(Model):
    model_config = ConfigDict(extra="forbid")

    cable: CableIndex
    state: Literal["open", "done", "exception"] = Field(description="`open` removes the cable's mark.")
    note: Annotated[PlainText, Field(max_length=500, description="Required for an exception: the problem.")] = ""

    @model_validator(mode="after")
    def _explained(self) -> Self:
        if self.state == "exception" and not self.note.strip():
            raise ValueError("an exception needs a note that describes the problem")
        return self


class MarkChanges(Model):
    model_config = ConfigDict(extra="forbid")

    marks: Annotated[
        list[MarkChange],
        Field(min_length=1, max_length=MAX_MARKS, description="If a cable has two changes, the later counts."),
    ]


class Mark(Model):
    cable: int
    state: MarkState
    note: str
    by: str | None = Field(description="The name of the token that it was written with; null without one.")
    at: datetime = Field(description="Time at which the server received it.")


class MarkPage(Model):
    items: list[Mark] = Field(description="In the order of their cables.")
    next: int | None = Field(description="The `after` of the next page; null on the last one.")


class RackProgress(Model):
    rack: str
    cables: int = Field(description="Cables with an end in this rack. A cable between two racks counts in both.")
    done: int
    exceptions: int


class WorkProgress(Model):
    cables: int = Field(description="Cables of the whole plan, each counted once.")
    done: int
    exceptions: int
    racks: list[RackProgress]
