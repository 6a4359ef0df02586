"""The SQL of tokens and sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from cubeyard.kit.auth.models import SessionRow, TokenRow


class AuthRepository:
    def __init__(self, session: Session) -> None:
        self._session = session

    def count_tokens(self) -> int:
        return self._session.scalar(select(func.count()).select_from(TokenRow)) or 0

    def tokens(self) -> Sequence[TokenRow]:
        return self._session.scalars(select(TokenRow).order_by(TokenRow.created_at, TokenRow.id)).all()

    def token(self, token_id: str) -> TokenRow | None:
        return self._session.get(TokenRow, token_id)

    def token_by_hash(self, digest: str) -> TokenRow | None:
        return self._session.scalars(select(TokenRow).where(TokenRow.hash == digest)).one_or_none()

    def add_token(self, row: TokenRow) -> TokenRow:
        self._session.add(row)
        self._session.flush()
        self._session.refresh(row)
        return row

    def delete_token(self, token_id: str) -> bool:
        return (
            self._session.execute(delete(TokenRow).where(TokenRow.id == token_id).returning(TokenRow.id)).first()
            is not None
        )

    def session_by_hash(self, digest: str) -> SessionRow | None:
        return self._session.get(SessionRow, digest)

    def add_session(self, row: SessionRow) -> None:
        self._session.add(row)
        self._session.flush()

    def delete_session(self, digest: str) -> None:
        self._session.execute(delete(SessionRow).where(SessionRow.hash == digest))

    def delete_expired_sessions(self, now: datetime) -> None:
        self._session.execute(delete(SessionRow).where(SessionRow.expires_at <= now))
