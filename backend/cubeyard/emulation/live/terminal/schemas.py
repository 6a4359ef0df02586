"""Messages of a terminal's WebSocket. The shell's output is sent as binary messages, everything
else as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from cubeyard.kit.models import Model
from cubeyard.plans.schemas import Request

Columns = Annotated[int, Field(ge=1, le=1000)]
Rows = Annotated[int, Field(ge=1, le=1000)]
MAX_INPUT_CHARACTERS = 16_384


class TerminalState(Model):
    """Whether a terminal can be opened in a server now."""

    available: bool
    reason: str = Field(description="Why not; empty if it can.")
    open: int = Field(description="Terminals that are open here, in all runs.")
    limit: int = Field(description="Terminals that may be open at a time (CUBEYARD_TERMINAL_LIMIT).")
    idle_secs: float = Field(
        description="A terminal without input is closed after this time (CUBEYARD_TERMINAL_IDLE_SECS)."
    )


class Typed(Request):
    """From the page: input."""

    type: Literal["input"]
    data: str = Field(max_length=MAX_INPUT_CHARACTERS)


class Resized(Request):
    """From the page: the terminal's size."""

    type: Literal["resize"]
    columns: Columns
    rows: Rows


FromPage: TypeAdapter[Typed | Resized] = TypeAdapter(Annotated[Typed | Resized, Field(discriminator="type")])


class ServerNews(Model):
    """To the page: the shell was started, or its server was frozen or continues."""

    type: Literal["server"] = "server"
    state: Literal["running", "paused"]
    text: str


class TerminalEnd(Model):
    """To the page: nothing comes after it."""

    type: Literal["end"] = "end"
    reason: str
    exit_code: int | None = Field(description="The shell's; null if it was ended from outside or never began.")
