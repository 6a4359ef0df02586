"""Packet captures of runs

Revision: 20261122c
Follows: 20261122b
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261122c"
down_revision = "20261122b"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "run_captures",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, server_default="", nullable=False),
        sa.Column("max_bytes", sa.Integer, nullable=False),
        sa.Column("max_secs", sa.Float, nullable=False),
        sa.Column("packets", sa.BigInteger),
        sa.Column("missed", sa.BigInteger),
        sa.Column("size_bytes", sa.Integer),
        sa.Column("end", sa.Text),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("data", sa.LargeBinary),
        sa.PrimaryKeyConstraint("id", name="pk_run_captures"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_captures_run_id_runs", ondelete="CASCADE"),
    )
    op.create_index("ix_run_captures_run", "run_captures", ["run_id", "created_at"])


def downgrade() -> None:
    op.drop_table("run_captures")
