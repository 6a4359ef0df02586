"""Requests and responses of the note endpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, model_validator

from cubeyard.kit.models import Model
from cubeyard.kit.text import PlainText, storable

MAX_TEXT = 2000
"""Characters of a note."""
MAX_NOTES = 1000
"""Most notes of a plan, or of a run whose plan is not saved."""

PlaceKind = Literal["rack", "device", "cable"]
NoteKind = Literal["rack", "device", "cable", "moment"]
NoteText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TEXT),
    AfterValidator(storable),
    Field(description="Plain text; spaces around it are removed.", examples=["Tray is full here: order a second one."]),
]


class Place(Model):
    """A part of a plan."""

    model_config = ConfigDict(extra="forbid")

    kind: PlaceKind
    name: Annotated[
        PlainText,
        Field(
            min_length=1,
            max_length=120,
            description="As the plan's tables name it: `R03`, `0132` (or the host name), `C00012`.",
            examples=["R03"],
        ),
    ]


class NoteCreate(Model):
    model_config = ConfigDict(extra="forbid")

    anchor: Place
    text: NoteText
    revision: Annotated[
        int | None,
        Field(ge=1, le=2_147_483_647, description="The revision that the note is written at; the head if left out."),
    ] = None


class MomentNoteCreate(Model):
    model_config = ConfigDict(extra="forbid")

    at_secs: Annotated[
        float,
        Field(
            ge=-86_400,
            le=10_000_000,
            allow_inf_nan=False,
            description="On the run's clock, as its replay shows it; negative while it settles.",
            examples=[12.3],
        ),
    ]
    text: NoteText


class NoteUpdate(Model):
    model_config = ConfigDict(extra="forbid")

    text: NoteText | None = None
    base_version: Annotated[
        int | None,
        Field(ge=1, le=2_147_483_647, description="The version that a new text is based on. Needed with it."),
    ] = None
    resolved: bool | None = Field(default=None, description="True resolves the note, false reopens it.")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.text is None and self.resolved is None:
            raise ValueError("give a new `text`, `resolved`, or both")
        if self.text is not None and self.base_version is None:
            raise ValueError("a new text needs `base_version`: the note's `version` that it is based on")
        return self


class Anchor(Model):
    kind: NoteKind
    name: str | None = Field(description="Of the rack, device or cable in the revision that the note was written at.")
    ends: list[str] | None = Field(
        description="Of a cable: device and port of one end, device and port of the other. It is found by them."
    )
    run: str | None = Field(description="The run of a moment.")
    at_secs: float | None = Field(description="The second of that run.")


class Note(Model):
    id: str
    plan: str | None = Field(description="Null for a run whose plan is not saved.")
    revision: int | None = Field(description="The revision that it was written at.")
    anchor: Anchor
    here: str | None = Field(
        description="What the anchor is called in the revision that is looked at, a run's id for a moment. "
        "Null: it is not in this revision, or the run was deleted."
    )
    text: str
    version: int = Field(description="How often the text was written. A new text names the version it is based on.")
    by: str = Field(description="The name of the token that it was written with; `this machine` without one.")
    at: datetime
    edited_by: str | None = Field(description="Who wrote the text last, if it was edited.")
    edited_at: datetime | None
    resolved_by: str | None = Field(description="Who resolved it; null while it is open.")
    resolved_at: datetime | None


class NoteList(Model):
    revision: int | None = Field(description="The revision that is looked at; null for a run's notes.")
    items: list[Note] = Field(description="The latest first.")
    next: str | None = Field(description="The `cursor` of the next page; null on the last one.")
