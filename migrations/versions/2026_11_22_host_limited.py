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
    UPDATE run_frames SET payload = replace(payload::text, '"{old}"', '"{new}"')::json,
        size_bytes = size_bytes + octet_length(replace(payload::text, '"{old}"', '"{new}"')) - octet_length(payload::text)
    WHERE kind NOT IN ('tick', 'second') AND payload::text LIKE '%"{old}"%'
"""


def rename(old: str, new: str) -> None:
    """Frames never change but for this word: their trigger is disabled for this
    transaction."""
    op.execute("ALTER TABLE run_frames DISABLE TRIGGER run_frames_immutable")
    op.execute(RENAME.format(old=old, new=new))
    op.execute("ALTER TABLE run_frames ENABLE TRIGGER run_frames_immutable")


def upgrade() -> None:
    rename("emulator-limited", "host-limited")


def downgrade() -> None:
    rename("host-limited", "emulator-limited")
