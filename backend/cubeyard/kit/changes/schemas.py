"""What the change log gives."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from cubeyard.kit.models import Model

ChangeKind = Literal["plan", "note", "work", "experiment", "run", "capture", "terminal", "book", "token", "webhook"]
ChangeAction = Literal[
    "created",
    "renamed",
    "revised",
    "reverted",
    "edited",
    "resolved",
    "reopened",
    "marked",
    "started",
    "opened",
    "cancelled",
    "deleted",
    "revoked",
]


class Change(Model):
    id: str
    at: datetime
    who: str = Field(
        description="The name of the token that it was made with, as it was then. Without one: `this machine`, "
        "`configured token` or `command line`."
    )
    token: str | None = Field(description="The token's id, as the list of tokens has it; null without one.")
    kind: ChangeKind = Field(description="What was changed. `work` is the cabling of a plan's revision.")
    action: ChangeAction
    subject: str = Field(description="The id of what was changed; a price book's name. It may be deleted by now.")
    name: str = Field(description="What it was called then.")
    detail: str = Field(description="What became of it, in a few words.", examples=["revision 3"])
    plan: str | None = Field(description="The plan that it belongs to.")


class ChangeList(Model):
    items: list[Change] = Field(description="The latest first.")
    next: str | None = Field(description="The `cursor` of the next page; null on the last one.")
