"""Tables of plans. A revision is immutable; a plan is a name and a pointer to its head revision."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, DateTime, ForeignKey, ForeignKeyConstraint, Index, Integer, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from cubeyard.kit.db import Base


class PlanRow(Base):
    __tablename__ = "plans"
    __table_args__ = (Index("ix_plans_updated", "updated_at", "id"),)

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    head_revision: Mapped[int] = mapped_column(Integer)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    updated_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())


class RevisionRow(Base):
    __tablename__ = "plan_revisions"
    __table_args__ = (
        ForeignKeyConstraint(["book", "book_version"], ["catalog_versions.book", "catalog_versions.version"]),
    )

    plan_id: Mapped[str] = mapped_column(ForeignKey("plans.id", ondelete="CASCADE"), primary_key=True)
    revision: Mapped[int] = mapped_column(Integer, primary_key=True)
    kind: Mapped[str] = mapped_column(Text)
    reverted_from: Mapped[int | None] = mapped_column(Integer)
    content_hash: Mapped[str] = mapped_column(Text)
    """SHA-256 of the canonical JSON of spec, book and version: equal for equal content."""
    spec: Mapped[dict[str, Any]] = mapped_column(JSON)
    book: Mapped[str] = mapped_column(Text)
    book_version: Mapped[int] = mapped_column(Integer)
    plan_hash: Mapped[str] = mapped_column(Text)
    engine_version: Mapped[str] = mapped_column(Text)
    summary: Mapped[dict[str, Any]] = mapped_column(JSON)
    """The engine's summary at the time of saving, so that lists and history need no engine."""
    note: Mapped[str] = mapped_column(Text, server_default="")
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
