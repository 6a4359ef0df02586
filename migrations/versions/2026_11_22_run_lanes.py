"""Runs wait in one of two lanes, and know what the same run took the last time

Revision: 20261122d
Follows: 20261122c
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261122d"
down_revision = "20261122c"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("lane", sa.Text, nullable=False, server_default="long"))
    op.add_column("runs", sa.Column("expected_secs", sa.Float))


def downgrade() -> None:
    op.drop_column("runs", "expected_secs")
    op.drop_column("runs", "lane")
