"""Making, checking and revoking tokens and sessions."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy.orm import Session

from cubeyard.kit.auth.models import SessionRow, TokenRow
from cubeyard.kit.auth.repository import AuthRepository
from cubeyard.kit.auth.who import RESERVED
from cubeyard.kit.changes.service import ChangeLog
from cubeyard.kit.errors import field_error, not_found
from cubeyard.kit.ids import new_id

PREFIX = "cby_"
USED_PRECISION = timedelta(minutes=1)
"""`last_used_at` is not written more often than this."""


class Identity(NamedTuple):
    """Whose token it was: a row's id, or None for the configured token."""

    token_id: str | None
    read_only: bool = False


def hash_of(secret: str) -> str:
    """Plain SHA-256 will do: there is nothing to guess in 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class AuthService:
    def __init__(self, session: Session, configured_token: str | None) -> None:
        self._repository = AuthRepository(session)
        self._log = ChangeLog(session)
        self._configured_hash = hash_of(configured_token) if configured_token else None

    def any_token(self) -> bool:
        return self._configured_hash is not None or self._repository.count_tokens() > 0

    def create_token(
        self, name: str, *, read_only: bool = False, expires_in_days: int | None = None
    ) -> tuple[TokenRow, str]:
        """The row, and the token itself, which is shown this once."""
        if unicodedata.normalize("NFKC", name).casefold().strip() in RESERVED:
            message = f"The change log calls others {name!r}, who come without a token."
            limit = f"none of {', '.join(sorted(RESERVED))}"
            raise field_error("body.name", name, message, limit=limit, hint="Give another name.")
        secret = PREFIX + secrets.token_urlsafe(32)
        expires_at = datetime.now(UTC) + timedelta(days=expires_in_days) if expires_in_days is not None else None
        row = self._repository.add_token(
            TokenRow(id=new_id(), name=name, hash=hash_of(secret), read_only=read_only, expires_at=expires_at)
        )
        self._log.record("token", "created", row.id, row.name)
        return row, secret

    def tokens(self) -> Sequence[TokenRow]:
        return self._repository.tokens()

    def revoke(self, token_id: str) -> None:
        row = self._repository.token(token_id)
        if row is None:
            raise not_found(f"token {token_id}")
        # Before the token is gone: it may be the one that the request came with.
        self._log.record("token", "revoked", row.id, row.name)
        if not self._repository.delete_token(token_id):
            raise not_found(f"token {token_id}")

    def name_of(self, identity: Identity) -> str | None:
        """What the token is called; None for the configured one, which has no name."""
        row = self._repository.token(identity.token_id) if identity.token_id is not None else None
        return row.name if row is not None else None

    def check_token(self, secret: str) -> Identity | None:
        digest = hash_of(secret)
        if self._configured_hash is not None and hmac.compare_digest(digest, self._configured_hash):
            return Identity(None)
        row = self._repository.token_by_hash(digest)
        now = datetime.now(UTC)
        if row is None or _is_expired(row, now):
            return None
        if row.last_used_at is None or now - row.last_used_at > USED_PRECISION:
            row.last_used_at = now
        return Identity(row.id, row.read_only)

    def open_session(self, secret: str, hours: float) -> str | None:
        """A new session's secret for the cookie, if the token is good."""
        identity = self.check_token(secret)
        if identity is None:
            return None
        now = datetime.now(UTC)
        self._repository.delete_expired_sessions(now)
        session_secret = secrets.token_urlsafe(32)
        self._repository.add_session(
            SessionRow(
                hash=hash_of(session_secret),
                token_id=identity.token_id,
                configured_hash=self._configured_hash if identity.token_id is None else None,
                expires_at=now + timedelta(hours=hours),
            )
        )
        return session_secret

    def check_session(self, secret: str) -> Identity | None:
        row = self._repository.session_by_hash(hash_of(secret))
        if row is None or row.expires_at <= datetime.now(UTC):
            return None
        if row.token_id is None and row.configured_hash != self._configured_hash:
            return None
        if row.token_id is None:
            return Identity(None)
        token = self._repository.token(row.token_id)
        if token is None or _is_expired(token, datetime.now(UTC)):
            return None
        return Identity(token.id, token.read_only)

    def close_session(self, secret: str) -> None:
        self._repository.delete_session(hash_of(secret))


def _is_expired(token: TokenRow, now: datetime) -> bool:
    return token.expires_at is not None and token.expires_at <= now
