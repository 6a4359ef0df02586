"""Tables of tokens and browser sessions; both hold hashes only."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Boolean, DateTime, ForeignKey, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from cubeyard.kit.db import Base


class TokenRow(Base):
    __tablename__ = "tokens"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    hash: Mapped[str] = mapped_column(Text, unique=True)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())
    last_used_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    read_only: Mapped[bool] = mapped_column(Boolean, server_default="false")
    expires_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    """Null for a token that does not expire."""


class SessionRow(Base):
    __tablename__ = "sessions"

    hash: Mapped[str] = mapped_column(Text, primary_key=True)
    token_id: Mapped[str | None] = mapped_column(ForeignKey("tokens.id", ondelete="CASCADE"))
    """The token that opened it; null for the one from the configuration. Revoking a token ends its
    sessions."""
    configured_hash: Mapped[str | None] = mapped_column(Text)
    """For the configured token, its hash: configure another and these sessions end."""
    expires_at: Mapped[datetime] = mapped_column(DateTime(timezone=True))
