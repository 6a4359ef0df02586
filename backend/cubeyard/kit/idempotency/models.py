"""The table of keys and the answers to their requests."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import DateTime, Index, LargeBinary, SmallInteger, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from cubeyard.kit.db import Base


class KeyRow(Base):
    __tablename__ = "idempotency_keys"
    __table_args__ = (Index("ix_idempotency_keys_at", "at"),)

    owner: Mapped[str] = mapped_column(Text, primary_key=True)
    """Id of the request's token; empty for this machine and the configured token."""
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    request: Mapped[str] = mapped_column(Text)
    """Digest of its method, address and body."""
    at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    status: Mapped[int] = mapped_column(SmallInteger)
    headers: Mapped[dict[str, str]] = mapped_column(JSONB)
    body: Mapped[bytes | None] = mapped_column(LargeBinary)
    """Null for an answer with a secret."""
