"""A figure's run may have all of the paper's data

Revision: 20261124w
Follows: 20261123p
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261124w"
down_revision = "20261123p"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("whole", sa.Boolean, nullable=False, server_default="false"))


def downgrade() -> None:
    op.drop_column("runs", "whole")
