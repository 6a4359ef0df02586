"""Tables of live runs: orders, which the API writes and the run's worker carries out, and packet
captures."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Float, ForeignKey, Identity, Index, Integer, LargeBinary, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from cubeyard.kit.db import Base


class OrderRow(Base):
    __tablename__ = "run_orders"
    __table_args__ = (Index("ix_run_orders_run", "run_id", "id"),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(), primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(Text)
    """`inject`, `recover`, `stop-all` or `upgrade`; `inspect` for a question, whose row is deleted
    once it is answered."""
    fault_id: Mapped[str] = mapped_column(Text, server_default="")
    payload: Mapped[dict[str, Any]] = mapped_column(JSON)
    """For `inject`: the fault as in the request."""
    fault: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    """For `inject`: the fault with its targets resolved (`Fault.document`), so that the API and the
    worker use the same devices. Null in rows from before this column existed."""
    outcome: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    """`{ok, reason}`, for a question `{ok, state}`; null until the worker has carried out the
    order."""
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    obeyed_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))


class CaptureRow(Base):
    __tablename__ = "run_captures"
    __table_args__ = (Index("ix_run_captures_run", "run_id", "created_at"),)

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    target: Mapped[str] = mapped_column(Text)
    """The link by its two ends, or a server and its port, for display."""
    state: Mapped[str] = mapped_column(Text)
    """State: `running`, `done` or `failed`."""
    reason: Mapped[str] = mapped_column(Text, server_default="")
    max_bytes: Mapped[int] = mapped_column(Integer)
    max_secs: Mapped[float] = mapped_column(Float)
    packets: Mapped[int | None] = mapped_column(BigInteger)
    missed: Mapped[int | None] = mapped_column(BigInteger)
    size_bytes: Mapped[int | None] = mapped_column(Integer)
    end: Mapped[Any] = mapped_column(Text, nullable=True)
    """Why the capture ended, as reported by the fabric."""
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    data: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    """The content of the file."""
