"""Tables of runs, of the chunks of points that workers hold, and of frames. A frame never changes
and has its number in the run: that is what streams resume by."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    func,
)
from sqlalchemy.orm import Mapped, mapped_column

from cubeyard.kit.db import Base
from cubeyard.runs.queue import Lane


class RunRow(Base):
    __tablename__ = "runs"
    __table_args__ = (
        Index("ix_runs_created", "created_at", "id"),
        Index("ix_runs_experiment", "experiment_id", "created_at"),
        Index("ix_runs_figure", "figure", "created_at"),
        Index("ix_runs_state", "state", "heartbeat_at"),
    )

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    kind: Mapped[str] = mapped_column(Text)
    """The experiment's kind, or `figure`."""
    title: Mapped[str] = mapped_column(Text)
    experiment_id: Mapped[str | None] = mapped_column(ForeignKey("experiments.id", ondelete="CASCADE"))
    figure: Mapped[str | None] = mapped_column(Text)
    seeds: Mapped[int | None] = mapped_column(Integer)
    """How many seeds a figure takes; null for its own choice."""
    whole: Mapped[bool] = mapped_column(Boolean, server_default="false")
    """A figure with all of the paper's data, which simulates one of several parts of it
    otherwise."""
    state: Mapped[str] = mapped_column(Text)
    reason: Mapped[str] = mapped_column(Text, server_default="")
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    """How often a worker started the run, not counting workers that joined. It is also a fence:
    only the latest attempt can write."""
    deaths: Mapped[int] = mapped_column(Integer, server_default="0")
    """Consecutive workers that died at the run without progress."""
    progress: Mapped[float] = mapped_column(Float, server_default="0")
    progress_at_start: Mapped[float] = mapped_column(Float, server_default="0")
    """Progress of earlier attempts when the latest began: the estimate counts from there."""
    points_total: Mapped[int] = mapped_column(Integer)
    points_done: Mapped[int] = mapped_column(Integer, server_default="0")
    last_seq: Mapped[int] = mapped_column(Integer, server_default="0")
    next_point: Mapped[int] = mapped_column(Integer, server_default="0")
    """From this point on none was taken by a worker yet."""
    work_secs: Mapped[float] = mapped_column(Float, server_default="0")
    """The total time of all workers for the points written in the latest attempt."""
    queue_id: Mapped[int | None] = mapped_column(BigInteger)
    """Where the queue has it: waiting or, once it runs, asking for more workers."""
    lane: Mapped[Lane] = mapped_column(Text, server_default="long")
    """The queue that it waits in, or was taken from last."""
    expected_secs: Mapped[float | None] = mapped_column(Float)
    """Duration of the same run the last time; null if unknown."""
    engine_version: Mapped[str] = mapped_column(Text, server_default="")
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
    started_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    heartbeat_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    """The last heartbeat of its worker. The lease ends if it is too old."""
    finished_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))


class RunChunkRow(Base):
    """Points of a run that a worker holds, or that a worker left unfinished. Points that no worker
    took, and finished points, have no row.

    Rows change under the lock of their run's row, except for the values of heartbeats.
    """

    __tablename__ = "run_chunks"
    __table_args__ = (UniqueConstraint("run_id", "holder", name="uq_run_chunks_run_id_holder"),)

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    first: Mapped[int] = mapped_column(Integer, primary_key=True)
    until: Mapped[int] = mapped_column(Integer)
    """The first point after the chunk. The frames show which of its points are written."""
    holder: Mapped[str | None] = mapped_column(Text)
    """The fence: a worker that lost it writes nothing. Null: free to be taken."""
    heartbeat_at: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    since: Mapped[datetime | None] = mapped_column(DateTime(timezone=True))
    """The time since when its holder works on points that are not written yet."""
    part: Mapped[float] = mapped_column(Float, server_default="0")
    """Points computed and not written yet, a part of one included."""
    written: Mapped[int] = mapped_column(Integer, server_default="0")
    """Points that the holder wrote."""
    deaths: Mapped[int] = mapped_column(Integer, server_default="0")
    """Consecutive workers that died at the chunk without writing a point."""


class FrameRow(Base):
    __tablename__ = "run_frames"
    __table_args__ = (UniqueConstraint("run_id", "point", name="uq_run_frames_run_id_point"),)

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(Integer, primary_key=True)
    """1, 2, 3, ... without a gap, in the order in which the transactions ended."""
    kind: Mapped[str] = mapped_column(Text)
    """`state`: the run entered a state. `point`: a point's result. `figure`: a figure's."""
    point: Mapped[int | None] = mapped_column(Integer)
    payload: Mapped[dict[str, Any]] = mapped_column(JSON)
    size_bytes: Mapped[int] = mapped_column(Integer)
    created_at: Mapped[datetime] = mapped_column(DateTime(timezone=True), server_default=func.clock_timestamp())
