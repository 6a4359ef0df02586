"""The table of what was asked of running sessions: the API writes an order, the run's worker obeys it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, ForeignKey, Identity, Index, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from cubeyard.kit.db import Base


class OrderRow(Base):
    __tablename__ = "run_orders"
    __table_args__ = (Index("ix_run_orders_run", "run_id", "id"),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(), primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(Text)
    """`inject`, `recover` or `stop-all`."""
    fault_id: Mapped[str] = mapped_column(Text, server_default="")
    payload: Mapped[dict[str, Any]] = mapped_column(JSON)
    """Of `inject`: the fault as it was asked for."""
    outcome: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    """What came of it; null until the worker has obeyed."""
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    obeyed_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
