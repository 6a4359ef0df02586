"""The table of experiments. An experiment never changes once written, so that every run of it
answers the same question."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Index, Integer, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from cubeyard.kit.db import Base


class ExperimentRow(Base):
    __tablename__ = "experiments"
    __table_args__ = (
        Index("ix_experiments_created", "created_at", "id"),
        Index("ix_experiments_plan", "plan_id"),
    )

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(Text)
    """`prediction`, `sweep`, `simulation` or `emulation`."""
    plan_id: Mapped[str | None] = mapped_column(Text)
    """The saved plan it began with. The plan may be deleted: its spec stays in the document."""
    plan_revision: Mapped[int | None] = mapped_column(Integer)
    content_hash: Mapped[str] = mapped_column(Text)
    """SHA-256 of the canonical JSON of the document: equal for equal questions."""
    document: Mapped[dict[str, Any]] = mapped_column(JSON)
    topologies: Mapped[list[dict[str, Any]]] = mapped_column(JSON)
    """Title, servers, switches and links of each of the document's topologies."""
    points: Mapped[int] = mapped_column(Integer)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
