"""The table of changes, without foreign keys: rows outlive the objects that they describe."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import DateTime, Index, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from cubeyard.kit.db import Base


class ChangeRow(Base):
    __tablename__ = "changes"
    __table_args__ = (
        Index("ix_changes_at", "at", "id"),
        Index("ix_changes_plan", "plan_id", "at"),
        Index("ix_changes_subject", "subject_id", "at"),
    )

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    who: Mapped[str] = mapped_column(Text)
    """The token's name, as it was then."""
    token_id: Mapped[str | None] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(Text)
    """Kind of the object: `plan`, `note`, `run`, ..."""
    action: Mapped[str] = mapped_column(Text)
    """The action: `created`, `renamed`, ..."""
    subject_id: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    """The object's name at the time of the change."""
    detail: Mapped[str] = mapped_column(Text, server_default="")
    plan_id: Mapped[str | None] = mapped_column(Text)
    """The plan that it belongs to, if there is one."""
