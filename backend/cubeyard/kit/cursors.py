"""Cursors: where a page of a list ended, as one word that a client sends back."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime

from cubeyard.kit.errors import field_error


def encode_cursor(moment: datetime, row_id: str) -> str:
    return base64.urlsafe_b64encode(f"{moment.isoformat()} {row_id}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> tuple[datetime, str]:
    """Raises a 422 for what `encode_cursor` did not make."""
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
        moment, _, row_id = text.partition(" ")
        parsed = datetime.fromisoformat(moment)
        if parsed.tzinfo is None or not row_id.isalnum():
            raise ValueError
    except (ValueError, binascii.Error):
        raise field_error(
            "query.cursor", cursor, "The cursor is not one that this server gave.", hint="Start again without a cursor."
        ) from None
    return parsed, row_id
