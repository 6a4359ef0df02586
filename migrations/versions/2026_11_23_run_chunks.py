"""A sweep's points are taken in chunks, by as many workers as there are

Revision: 20261123a
Follows: 20261122f
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261123a"
down_revision = "20261122f"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.add_column("runs", sa.Column("next_point", sa.Integer, nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("work_secs", sa.Float, nullable=False, server_default="0"))
    op.create_table(
        "run_chunks",
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("first", sa.Integer, nullable=False),
        sa.Column("until", sa.Integer, nullable=False),
        sa.Column("holder", sa.Text),
        sa.Column("heartbeat_at", MOMENT),
        sa.Column("since", MOMENT),
        sa.Column("part", sa.Float, nullable=False, server_default="0"),
        sa.Column("written", sa.Integer, nullable=False, server_default="0"),
        sa.Column("deaths", sa.Integer, nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("run_id", "first", name="pk_run_chunks"),
        sa.UniqueConstraint("run_id", "holder", name="uq_run_chunks_run_id_holder"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_chunks_run_id_runs", ondelete="CASCADE"),
    )


def downgrade() -> None:
    op.drop_table("run_chunks")
    op.drop_column("runs", "work_secs")
    op.drop_column("runs", "next_point")
