"""Orders keep the fault they inject with its targets resolved

Revision: 20261122a
Follows: 20261121d
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261122a"
down_revision = "20261121d"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("run_orders", sa.Column("fault", sa.JSON))


def downgrade() -> None:
    op.drop_column("run_orders", "fault")
