"""Tables of the catalog. A version never changes once written."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Boolean, DateTime, Float, ForeignKey, ForeignKeyConstraint, Index, Integer, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from cubeyard.kit.db import Base


class BookRow(Base):
    __tablename__ = "catalog_books"

    book: Mapped[str] = mapped_column(Text, primary_key=True)
    title: Mapped[str] = mapped_column(Text)
    currency: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())


class VersionRow(Base):
    __tablename__ = "catalog_versions"

    book: Mapped[str] = mapped_column(ForeignKey("catalog_books.book", ondelete="CASCADE"), primary_key=True)
    version: Mapped[int] = mapped_column(Integer, primary_key=True)
    content_hash: Mapped[str] = mapped_column(Text)
    content: Mapped[dict[str, Any]] = mapped_column(JSON)
    """The whole book as the engine reads it. `json`, not `jsonb`: its text, and so every plan's
    hash, stays as written."""
    builtin: Mapped[bool] = mapped_column(Boolean)
    builtin_hash: Mapped[str | None] = mapped_column(Text)
    """For a builtin version, the hash of the book as the program brought it (before its version
    number was set here)."""
    note: Mapped[str] = mapped_column(Text, server_default="")
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.now())


class PartRow(Base):
    """The parts of a version once more as rows, to be searched."""

    __tablename__ = "catalog_parts"
    __table_args__ = (
        ForeignKeyConstraint(
            ["book", "version"], ["catalog_versions.book", "catalog_versions.version"], ondelete="CASCADE"
        ),
        Index("ix_catalog_parts_kind", "kind"),
    )

    book: Mapped[str] = mapped_column(Text, primary_key=True)
    version: Mapped[int] = mapped_column(Integer, primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    sku: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    manufacturer: Mapped[str] = mapped_column(Text)
    attributes: Mapped[dict[str, Any]] = mapped_column(JSONB)
    price_usd: Mapped[float | None] = mapped_column(Float)
    power_watts: Mapped[float | None] = mapped_column(Float)
    weight_kg: Mapped[float | None] = mapped_column(Float)
    sources: Mapped[dict[str, Any]] = mapped_column(JSONB)
