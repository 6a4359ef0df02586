"""The part of an import's report that is the same for every format."""

from __future__ import annotations

from pydantic import Field

from cubeyard.kit.models import Model

MAX_SKIPPED = 1_000


class SkippedRow(Model):
    """A row of a file that is left out of an import, or a cell of it."""

    where: str = Field(description="`line 12, column b_port`, or a field of JSON.")
    reason: str
