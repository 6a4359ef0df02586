"""A start waits for its database, as long as the setting allows."""

from __future__ import annotations

import socket
import time

import pytest
from sqlalchemy.exc import OperationalError

from cubeyard.kit import db
from cubeyard.kit.db import Database
from cubeyard.settings import Settings


@pytest.fixture
def nobody() -> str:
    """The URL of a database that refuses connections."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"postgresql://a@127.0.0.1:{unused.getsockname()[1]}/x"


def test_a_start_does_not_wait_by_default(nobody: str) -> None:
    database = Database(Settings(database_url=nobody))
    with pytest.raises(OperationalError):
        database.ping()


def test_a_start_ends_when_its_time_is_up(nobody: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db, "WAIT_SECS", 0.05)
    began = time.monotonic()
    with pytest.raises(OperationalError):
        Database(Settings(database_url=nobody, database_wait_secs=0.2))
    assert time.monotonic() - began >= 0.2


def test_a_start_waits_until_the_database_answers(nobody: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([OperationalError("", None, Exception("no")), OperationalError("", None, Exception("no")), None])

    def ping(_: Database) -> None:
        if error := next(answers):
            raise error

    monkeypatch.setattr(Database, "ping", ping)
    monkeypatch.setattr(db, "WAIT_SECS", 0.0)
    Database(Settings(database_url=nobody, database_wait_secs=60))
    assert list(answers) == []
