"""The verdict of a run that this machine limited is called host-limited everywhere

Revision: 20261122b
Follows: 20261122a
"""

from __future__ import annotations

from alembic import op

revision = "20261122b"
down_revision = "20261122a"
branch_labels = None
depends_on = None

RENAME = """
    UPDATE run_frames SET payload = replace(payload::text, '"{old}"', '"{new}"')::json
    WHERE kind NOT IN ('tick', 'second') AND payload::text LIKE '%"{old}"%'
"""


def upgrade() -> None:
    op.execute(RENAME.format(old="emulator-limited", new="host-limited"))


def downgrade() -> None:
    op.execute(RENAME.format(old="host-limited", new="emulator-limited"))
