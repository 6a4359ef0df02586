"""What is cabled: one mark a cable and revision

Revision: 20261122e
Follows: 20261122d
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261122e"
down_revision = "20261122d"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "cable_marks",
        sa.Column("plan_id", sa.Text, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("cable", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("note", sa.Text, server_default="", nullable=False),
        sa.Column("marked_by", sa.Text),
        sa.Column("marked_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.PrimaryKeyConstraint("plan_id", "revision", "cable", name="pk_cable_marks"),
        sa.ForeignKeyConstraint(
            ["plan_id", "revision"],
            ["plan_revisions.plan_id", "plan_revisions.revision"],
            name="fk_cable_marks_plan_id_revision_plan_revisions",
            ondelete="CASCADE",
        ),
    )


def downgrade() -> None:
    op.drop_table("cable_marks")
