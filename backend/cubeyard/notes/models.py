"""The table of notes. A deleted note has no row: who deleted it and when is in the change log."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, DateTime, Float, ForeignKey, ForeignKeyConstraint, Index, Integer, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from cubeyard.kit.db import Base


class NoteRow(Base):
    __tablename__ = "notes"
    __table_args__ = (
        ForeignKeyConstraint(
            ["plan_id", "revision"], ["plan_revisions.plan_id", "plan_revisions.revision"], ondelete="CASCADE"
        ),
        Index("ix_notes_plan", "plan_id", "written_at", "id"),
        Index("ix_notes_run", "run_id", "written_at", "id"),
    )

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    plan_id: Mapped[str | None] = mapped_column(Text)
    revision: Mapped[int | None] = mapped_column(Integer)
    """The revision that it was written at."""
    kept_with_run: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    """The run that it goes with, if it has no plan. Exactly one of the two is set."""
    kind: Mapped[str] = mapped_column(Text)
    """`rack`, `device`, `cable` or `moment`."""
    name: Mapped[str | None] = mapped_column(Text)
    """The name of the rack, device or cable in that revision."""
    ends: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    """A cable's ends: device and port of the one, device and port of the other."""
    run_id: Mapped[str | None] = mapped_column(Text)
    """The run of a moment. It may be deleted: a plan's note stays."""
    at_secs: Mapped[float | None] = mapped_column(Float)
    text: Mapped[str] = mapped_column(Text)
    version: Mapped[int] = mapped_column(Integer, server_default="1")
    """How often the text was written."""
    written_by: Mapped[str] = mapped_column(Text)
    written_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    edited_by: Mapped[str | None] = mapped_column(Text)
    edited_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    resolved_by: Mapped[str | None] = mapped_column(Text)
    resolved_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
