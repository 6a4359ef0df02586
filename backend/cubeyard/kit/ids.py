"""Identifiers that are short enough to read out and random enough not to be guessed."""

from __future__ import annotations

import secrets
from typing import Annotated

from pydantic import Field

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's base 32: no letter that looks like another or like a digit."""
LENGTH = 14
PATTERN = f"^[{ALPHABET}]{{{LENGTH}}}$"


def new_id() -> str:
    """70 random bits as 14 letters."""
    return "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))


Id = Annotated[
    str, Field(pattern=PATTERN, description="The identifier that the server gave.", examples=["0a1b2c3d4e5f6g"])
]
