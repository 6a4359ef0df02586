"""Notes of plans and runs, and who changed what and when

Revision: 20261123p
Follows: 20261123a
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261123p"
down_revision = "20261123a"
branch_labels = None
depends_on = None

CLOCK = sa.text("clock_timestamp()")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "notes",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("plan_id", sa.Text),
        sa.Column("revision", sa.Integer),
        sa.Column("kept_with_run", sa.Text),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("ends", sa.JSON),
        sa.Column("run_id", sa.Text),
        sa.Column("at_secs", sa.Float),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, server_default="1", nullable=False),
        sa.Column("written_by", sa.Text, nullable=False),
        sa.Column("written_at", MOMENT, server_default=CLOCK, nullable=False),
        sa.Column("edited_by", sa.Text),
        sa.Column("edited_at", MOMENT),
        sa.Column("resolved_by", sa.Text),
        sa.Column("resolved_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_notes"),
        sa.ForeignKeyConstraint(
            ["plan_id", "revision"],
            ["plan_revisions.plan_id", "plan_revisions.revision"],
            name="fk_notes_plan_id_revision_plan_revisions",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["kept_with_run"], ["runs.id"], name="fk_notes_kept_with_run_runs", ondelete="CASCADE"),
        sa.CheckConstraint("(plan_id IS NULL) <> (kept_with_run IS NULL)", name="ck_notes_one_owner"),
        sa.CheckConstraint("(plan_id IS NULL) = (revision IS NULL)", name="ck_notes_at_a_revision"),
    )
    op.create_index("ix_notes_plan", "notes", ["plan_id", "written_at", "id"])
    op.create_index("ix_notes_run", "notes", ["run_id", "written_at", "id"])
    op.create_table(
        "changes",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("at", MOMENT, server_default=CLOCK, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("token_id", sa.Text),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("subject_id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, server_default="", nullable=False),
        sa.Column("plan_id", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_changes"),
    )
    op.create_index("ix_changes_at", "changes", ["at", "id"])
    op.create_index("ix_changes_plan", "changes", ["plan_id", "at"])
    op.create_index("ix_changes_subject", "changes", ["subject_id", "at"])
    # Append-only, whoever writes: the log is worth what nobody can take out of it.
    op.execute(
        "CREATE TRIGGER changes_immutable BEFORE UPDATE OR DELETE ON changes FOR EACH ROW EXECUTE FUNCTION refuse_change()"
    )
    op.execute(
        "CREATE TRIGGER changes_kept BEFORE TRUNCATE ON changes FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
    )


def downgrade() -> None:
    op.drop_table("changes")
    op.drop_table("notes")
