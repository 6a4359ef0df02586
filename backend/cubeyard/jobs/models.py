"""Tables of the export jobs and their results, in pieces so that no process ever holds a whole
file."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Float, ForeignKey, Index, Integer, LargeBinary, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from cubeyard.kit.db import Base

CHUNK_BYTES = 256 * 1024
"""The size of a row of a result; only the last row is shorter, so that an offset determines its
row."""


class JobRow(Base):
    __tablename__ = "export_jobs"
    __table_args__ = (
        Index("ix_export_jobs_plan", "plan_id", "created_at"),
        Index("ix_export_jobs_finished", "finished_at"),
    )

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    plan_id: Mapped[str] = mapped_column(ForeignKey("plans.id", ondelete="CASCADE"))
    revision: Mapped[int] = mapped_column(Integer)
    format: Mapped[str] = mapped_column(Text)
    options: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    """The fields of `ExportOptions` that are not their defaults."""
    state: Mapped[str] = mapped_column(Text)
    progress: Mapped[float] = mapped_column(Float, server_default="0")
    doing: Mapped[str] = mapped_column(Text, server_default="")
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    """How often a worker began it. Also the fence: only the worker of the latest attempt may
    write."""
    error: Mapped[str | None] = mapped_column(Text)
    filename: Mapped[str] = mapped_column(Text)
    media_type: Mapped[str] = mapped_column(Text)
    size_bytes: Mapped[int | None] = mapped_column(BigInteger)
    queue_id: Mapped[int | None] = mapped_column(BigInteger)
    """The queue's own number for it."""
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    started_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    finished_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))


class ChunkRow(Base):
    __tablename__ = "export_chunks"

    job_id: Mapped[str] = mapped_column(ForeignKey("export_jobs.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary)
