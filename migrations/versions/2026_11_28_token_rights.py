"""Tokens that only read, and tokens that expire

Revision: 20261128t
Follows: 20261124w
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261128t"
down_revision = "20261124w"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tokens", sa.Column("read_only", sa.Boolean, nullable=False, server_default="false"))
    op.add_column("tokens", sa.Column("expires_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    # Without the columns these tokens would gain rights.
    op.execute("DELETE FROM tokens WHERE read_only OR expires_at IS NOT NULL")
    op.drop_column("tokens", "expires_at")
    op.drop_column("tokens", "read_only")
