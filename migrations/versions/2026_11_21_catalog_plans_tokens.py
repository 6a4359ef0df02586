"""Price books in versions, plans in revisions, tokens and sessions

Revision: 20261121a
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "20261121a"
down_revision = None
branch_labels = None
depends_on = None

NOW = sa.text("now()")
CLOCK = sa.text("clock_timestamp()")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "catalog_books",
        sa.Column("book", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("currency", sa.Text, nullable=False),
        sa.Column("created_at", MOMENT, server_default=NOW, nullable=False),
        sa.PrimaryKeyConstraint("book", name="pk_catalog_books"),
    )
    op.create_table(
        "catalog_versions",
        sa.Column("book", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("content_hash", sa.Text, nullable=False),
        sa.Column("content", sa.JSON, nullable=False),
        sa.Column("builtin", sa.Boolean, nullable=False),
        sa.Column("builtin_hash", sa.Text),
        sa.Column("note", sa.Text, server_default="", nullable=False),
        sa.Column("created_at", MOMENT, server_default=NOW, nullable=False),
        sa.PrimaryKeyConstraint("book", "version", name="pk_catalog_versions"),
        sa.ForeignKeyConstraint(
            ["book"], ["catalog_books.book"], name="fk_catalog_versions_book_catalog_books", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "catalog_parts",
        sa.Column("book", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("sku", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("manufacturer", sa.Text, nullable=False),
        sa.Column("attributes", JSONB, nullable=False),
        sa.Column("price_usd", sa.Float),
        sa.Column("power_watts", sa.Float),
        sa.Column("weight_kg", sa.Float),
        sa.Column("sources", JSONB, nullable=False),
        sa.PrimaryKeyConstraint("book", "version", "position", name="pk_catalog_parts"),
        sa.ForeignKeyConstraint(
            ["book", "version"],
            ["catalog_versions.book", "catalog_versions.version"],
            name="fk_catalog_parts_book_catalog_versions",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_catalog_parts_kind", "catalog_parts", ["kind"])
    op.create_table(
        "plans",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("head_revision", sa.Integer, nullable=False),
        sa.Column("created_at", MOMENT, server_default=CLOCK, nullable=False),
        sa.Column("updated_at", MOMENT, server_default=CLOCK, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_plans"),
    )
    op.create_index("ix_plans_updated", "plans", ["updated_at", "id"])
    op.create_table(
        "plan_revisions",
        sa.Column("plan_id", sa.Text, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("reverted_from", sa.Integer),
        sa.Column("content_hash", sa.Text, nullable=False),
        sa.Column("spec", sa.JSON, nullable=False),
        sa.Column("book", sa.Text, nullable=False),
        sa.Column("book_version", sa.Integer, nullable=False),
        sa.Column("plan_hash", sa.Text, nullable=False),
        sa.Column("engine_version", sa.Text, nullable=False),
        sa.Column("summary", sa.JSON, nullable=False),
        sa.Column("note", sa.Text, server_default="", nullable=False),
        sa.Column("created_at", MOMENT, server_default=CLOCK, nullable=False),
        sa.PrimaryKeyConstraint("plan_id", "revision", name="pk_plan_revisions"),
        sa.ForeignKeyConstraint(["plan_id"], ["plans.id"], name="fk_plan_revisions_plan_id_plans", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["book", "book_version"],
            ["catalog_versions.book", "catalog_versions.version"],
            name="fk_plan_revisions_book_catalog_versions",
        ),
    )
    # A revision is never changed, by nobody: what was hashed stays what it was.
    op.execute(
        """
        CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'rows of % are immutable', TG_TABLE_NAME; END $$
        """
    )
    for table in ("plan_revisions", "catalog_versions"):
        op.execute(
            f"CREATE TRIGGER {table}_immutable BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_change()"
        )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("created_at", MOMENT, server_default=NOW, nullable=False),
        sa.Column("last_used_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("hash", name="uq_tokens_hash"),
    )
    op.create_table(
        "sessions",
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("token_id", sa.Text),
        sa.Column("configured_hash", sa.Text),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_sessions"),
        sa.ForeignKeyConstraint(["token_id"], ["tokens.id"], name="fk_sessions_token_id_tokens", ondelete="CASCADE"),
    )


def downgrade() -> None:
    for table in (
        "sessions",
        "tokens",
        "plan_revisions",
        "plans",
        "catalog_parts",
        "catalog_versions",
        "catalog_books",
    ):
        op.drop_table(table)
    op.execute("DROP FUNCTION refuse_change()")
