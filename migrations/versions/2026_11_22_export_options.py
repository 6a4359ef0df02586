"""An export job knows what was chosen for it: paper, labels, codes

Revision: 20261122f
Follows: 20261122e
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "20261122f"
down_revision = "20261122e"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("export_jobs", sa.Column("options", JSONB, nullable=False, server_default="{}"))


def downgrade() -> None:
    op.drop_column("export_jobs", "options")
