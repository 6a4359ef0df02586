"""Tables of webhooks and deliveries."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, DateTime, ForeignKey, Index, Integer, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from cubeyard.kit.db import Base


class WebhookRow(Base):
    __tablename__ = "webhooks"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    url: Mapped[str] = mapped_column(Text)
    events: Mapped[list[str]] = mapped_column(JSONB)
    secret: Mapped[str] = mapped_column(Text)
    """In clear: each delivery is signed with it."""
    created_by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())


class DeliveryRow(Base):
    __tablename__ = "webhook_deliveries"
    __table_args__ = (
        Index("ix_webhook_deliveries_webhook", "webhook_id", "created_at", "id"),
        Index("ix_webhook_deliveries_created_at", "created_at"),
    )

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    webhook_id: Mapped[str] = mapped_column(ForeignKey("webhooks.id", ondelete="CASCADE"))
    event: Mapped[str] = mapped_column(Text)
    body: Mapped[str] = mapped_column(Text)
    """The JSON text, which every attempt sends unchanged."""
    state: Mapped[str] = mapped_column(Text)
    """`queued`, `delivered` or `failed`."""
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    """Started attempts. Only the latest may write its result."""
    status: Mapped[int | None] = mapped_column(Integer)
    """The HTTP status of the latest attempt; null without an answer."""
    error: Mapped[str | None] = mapped_column(Text)
    queue_id: Mapped[int | None] = mapped_column(BigInteger)
    """The queue's number for it."""
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    next_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    """When the next attempt is due; null if there is none."""
    finished_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
