"""The databases of tests: nothing of one test reaches the next."""

from __future__ import annotations

import psycopg
import pytest

from cubeyard.kit.embedded import EmbeddedPostgres
from tests.databases import Databases

ROWS = (
    "SELECT (SELECT count(*) FROM plans), (SELECT count(*) FROM catalog_parts), (SELECT count(*) FROM catalog_books),"
    " (SELECT last_value FROM procrastinate_jobs_id_seq), (SELECT oid FROM pg_database WHERE datname = current_database())"
)


@pytest.fixture
def own(server: EmbeddedPostgres) -> Databases:
    """With none that is in use elsewhere."""
    made = Databases(server)
    made._numbers = iter(range(1_000_000, 1_000_100))  # type: ignore[assignment]
    return made


def asked(server: EmbeddedPostgres, name: str, *statements: str) -> tuple[object, ...]:
    with psycopg.connect(server.conninfo(name), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())
        row = connection.execute(ROWS.encode()).fetchone()
    assert row is not None
    return row


def test_what_a_test_left_is_gone_and_so_are_its_connections(
    server: EmbeddedPostgres, own: Databases, template: str
) -> None:
    first = own.take(template)
    before = asked(server, first)
    left = psycopg.connect(server.conninfo(first))
    after = asked(
        server,
        first,
        "DELETE FROM catalog_parts",
        "DELETE FROM catalog_books",
        "SELECT nextval('procrastinate_jobs_id_seq')",
    )
    assert after != before
    own.give_back(first)
    second = own.take(template)
    assert second != first
    assert asked(server, second) == before, "the same one, as it was"
    with pytest.raises(psycopg.Error):
        left.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(server.conninfo(first))
    own.drop(second)


def test_one_whose_schema_changed_is_not_used_again(server: EmbeddedPostgres, own: Databases, template: str) -> None:
    first = own.take(template)
    *_, oid = asked(server, first, "ALTER TABLE notes ADD COLUMN extra text")
    own.give_back(first)
    second = own.take(template)
    assert asked(server, second)[-1] != oid
    own.drop(second)
