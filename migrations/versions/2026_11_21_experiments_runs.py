"""Experiments, their runs, and the frames of the runs

Revision: 20261121c
Follows: 20261121b
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261121c"
down_revision = "20261121b"
branch_labels = None
depends_on = None

CLOCK = sa.text("clock_timestamp()")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "experiments",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("plan_id", sa.Text),
        sa.Column("plan_revision", sa.Integer),
        sa.Column("content_hash", sa.Text, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
        sa.Column("topologies", sa.JSON, nullable=False),
        sa.Column("points", sa.Integer, nullable=False),
        sa.Column("created_at", MOMENT, server_default=CLOCK, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_experiments"),
    )
    op.create_index("ix_experiments_created", "experiments", ["created_at", "id"])
    op.create_index("ix_experiments_plan", "experiments", ["plan_id"])
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("experiment_id", sa.Text),
        sa.Column("figure", sa.Text),
        sa.Column("seeds", sa.Integer),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, server_default="", nullable=False),
        sa.Column("attempts", sa.Integer, server_default="0", nullable=False),
        sa.Column("deaths", sa.Integer, server_default="0", nullable=False),
        sa.Column("progress", sa.Float, server_default="0", nullable=False),
        sa.Column("progress_at_start", sa.Float, server_default="0", nullable=False),
        sa.Column("points_total", sa.Integer, nullable=False),
        sa.Column("points_done", sa.Integer, server_default="0", nullable=False),
        sa.Column("last_seq", sa.Integer, server_default="0", nullable=False),
        sa.Column("queue_id", sa.BigInteger),
        sa.Column("engine_version", sa.Text, server_default="", nullable=False),
        sa.Column("created_at", MOMENT, server_default=CLOCK, nullable=False),
        sa.Column("started_at", MOMENT),
        sa.Column("heartbeat_at", MOMENT),
        sa.Column("finished_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiments.id"], name="fk_runs_experiment_id_experiments", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_runs_created", "runs", ["created_at", "id"])
    op.create_index("ix_runs_experiment", "runs", ["experiment_id", "created_at"])
    op.create_index("ix_runs_figure", "runs", ["figure", "created_at"])
    op.create_index("ix_runs_state", "runs", ["state", "heartbeat_at"])
    op.create_table(
        "run_frames",
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("point", sa.Integer),
        sa.Column("payload", sa.JSON, nullable=False),
        sa.Column("size_bytes", sa.Integer, nullable=False),
        sa.Column("created_at", MOMENT, server_default=CLOCK, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "seq", name="pk_run_frames"),
        sa.UniqueConstraint("run_id", "point", name="uq_run_frames_run_id_point"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_frames_run_id_runs", ondelete="CASCADE"),
    )
    # What was asked and what was answered stay as they were.
    for table in ("experiments", "run_frames"):
        op.execute(
            f"CREATE TRIGGER {table}_immutable BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_change()"
        )


def downgrade() -> None:
    for table in ("run_frames", "runs", "experiments"):
        op.drop_table(table)
