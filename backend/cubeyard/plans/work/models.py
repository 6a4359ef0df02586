"""The table of marks. A cable that is still open has no row."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import DateTime, ForeignKeyConstraint, Integer, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from cubeyard.kit.db import Base


class CableMarkRow(Base):
    __tablename__ = "cable_marks"
    __table_args__ = (
        ForeignKeyConstraint(
            ["plan_id", "revision"], ["plan_revisions.plan_id", "plan_revisions.revision"], ondelete="CASCADE"
        ),
    )

    plan_id: Mapped[str] = mapped_column(Text, primary_key=True)
    revision: Mapped[int] = mapped_column(Integer, primary_key=True)
    cable: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    state: Mapped[str] = mapped_column(Text)
    """Either `done` or `exception`."""
    note: Mapped[str] = mapped_column(Text, server_default="")
    marked_by: Mapped[str | None] = mapped_column(Text)
    """The name of the request's token; null without a token."""
    marked_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
