"""Orders to sessions that run: faults, recoveries, stop-all

Revision: 20261121d
Follows: 20261121c
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261121d"
down_revision = "20261121c"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "run_orders",
        sa.Column("id", sa.BigInteger, sa.Identity(), nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("fault_id", sa.Text, server_default="", nullable=False),
        sa.Column("payload", sa.JSON, nullable=False),
        sa.Column("outcome", sa.JSON),
        sa.Column("created_at", MOMENT, server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("obeyed_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_run_orders"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_orders_run_id_runs", ondelete="CASCADE"),
    )
    op.create_index("ix_run_orders_run", "run_orders", ["run_id", "id"])


def downgrade() -> None:
    op.drop_table("run_orders")
