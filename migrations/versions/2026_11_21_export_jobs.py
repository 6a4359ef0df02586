"""Export jobs with their results, and the queue's own tables (procrastinate 3.10.0, as it ships
them)

Revision: 20261121b
Follows: 20261121a
"""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "20261121b"
down_revision = "20261121a"
branch_labels = None
depends_on = None

QUEUE_SQL = Path(__file__).resolve().parents[1] / "sql" / "procrastinate-3.10.0.sql"
MOMENT = sa.DateTime(timezone=True)

DROP_QUEUE = """
DO $$
DECLARE thing record;
BEGIN
    FOR thing IN SELECT c.oid::regclass AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND c.relname LIKE 'procrastinate\\_%'
    LOOP EXECUTE format('DROP TABLE IF EXISTS %s CASCADE', thing.name); END LOOP;
    FOR thing IN SELECT p.oid::regprocedure AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = current_schema() AND p.proname LIKE 'procrastinate\\_%'
    LOOP EXECUTE format('DROP FUNCTION IF EXISTS %s CASCADE', thing.name); END LOOP;
    FOR thing IN SELECT t.oid::regtype AS name FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
        WHERE n.nspname = current_schema() AND t.typtype IN ('e', 'c') AND t.typname LIKE 'procrastinate\\_%'
    LOOP EXECUTE format('DROP TYPE IF EXISTS %s CASCADE', thing.name); END LOOP;
END $$;
"""


def upgrade() -> None:
    # Straight to the driver: the script's percent signs and colons are its own.
    connection = op.get_bind().connection.driver_connection
    assert connection is not None
    connection.execute(QUEUE_SQL.read_text())
    op.create_table(
        "export_jobs",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("plan_id", sa.Text, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("format", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("progress", sa.Float, server_default="0", nullable=False),
        sa.Column("doing", sa.Text, server_default="", nullable=False),
        sa.Column("attempts", sa.Integer, server_default="0", nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("filename", sa.Text, nullable=False),
        sa.Column("media_type", sa.Text, nullable=False),
        sa.Column("size_bytes", sa.BigInteger),
        sa.Column("queue_id", sa.BigInteger),
        sa.Column("created_at", MOMENT, server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("started_at", MOMENT),
        sa.Column("finished_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_export_jobs"),
        sa.ForeignKeyConstraint(["plan_id"], ["plans.id"], name="fk_export_jobs_plan_id_plans", ondelete="CASCADE"),
    )
    op.create_index("ix_export_jobs_plan", "export_jobs", ["plan_id", "created_at"])
    op.create_index("ix_export_jobs_finished", "export_jobs", ["finished_at"])
    op.create_table(
        "export_chunks",
        sa.Column("job_id", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("job_id", "position", name="pk_export_chunks"),
        sa.ForeignKeyConstraint(
            ["job_id"], ["export_jobs.id"], name="fk_export_chunks_job_id_export_jobs", ondelete="CASCADE"
        ),
    )


def downgrade() -> None:
    op.drop_table("export_chunks")
    op.drop_table("export_jobs")
    op.execute(sa.text(DROP_QUEUE.replace(":", "\\:")))
