"""Rights of the database's three roles: the owner migrates, servers read and write, workers write
only runs, exports and deliveries of webhooks.

`db upgrade` grants them to the two roles below where these exist; a login gets them by membership
(`CREATE ROLE worker1 LOGIN PASSWORD '...' IN ROLE cubeyard_worker`). Nobody but the owner can turn
off a trigger, so the rows that never change are safe from servers, too. [ours]
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, text

SERVER, WORKER = "cubeyard_server", "cubeyard_worker"
APPENDED = frozenset({"changes"})
"""Tables that servers only read and append to."""
OF_WORKERS = frozenset(
    {
        "runs",
        "run_chunks",
        "run_frames",
        "run_orders",
        "run_captures",
        "export_jobs",
        "export_chunks",
        "webhook_deliveries",
    }
)
LOGINS = {"server": SERVER, "worker": WORKER}
"""Names of the logins that `db roles --logins` makes."""
READ_BY_WORKERS = frozenset(
    {
        "plans",
        "plan_revisions",
        "catalog_books",
        "catalog_versions",
        "catalog_parts",
        "experiments",
        "webhooks",
        "alembic_version",
    }
)
HIDDEN_FROM_WORKERS = frozenset({"tokens", "sessions", "changes", "notes", "cable_marks", "idempotency_keys"})
QUEUE = "procrastinate_"
"""Prefix of the queue's own tables."""
WRITE = "SELECT, INSERT, UPDATE, DELETE"


def make(connection: Connection) -> None:
    """Makes the two roles, which cannot log in themselves, and grants them their rights."""
    for role in (SERVER, WORKER):
        if role not in _existing(connection):
            connection.execute(text(f"CREATE ROLE {role} NOLOGIN"))
    grant(connection)


def grant(connection: Connection) -> None:
    """To those of the roles that exist. Earlier rights are revoked first."""
    tables = list(connection.scalars(text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")))
    existing = sorted(_existing(connection))
    if existing:
        _refuse_new_tables(connection)
    for role in existing:
        statements = [
            f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}",
            f"REVOKE ALL ON SCHEMA public FROM {role}",
            f"GRANT USAGE ON SCHEMA public TO {role}",
            f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {role}",
            *(f"GRANT {rights} ON {table} TO {role}" for table in tables if (rights := _rights(role, table))),
        ]
        for statement in statements:
            connection.execute(text(statement))


def _refuse_new_tables(connection: Connection) -> None:
    """Up to PostgreSQL 14, everybody may make tables and functions in this schema. The tables'
    owner still may."""
    owners = "SELECT DISTINCT quote_ident(tableowner) FROM pg_tables WHERE schemaname = 'public'"
    for owner in connection.scalars(text(owners)).all():
        connection.execute(text(f"GRANT CREATE ON SCHEMA public TO {owner}"))
    connection.execute(text("REVOKE CREATE ON SCHEMA public FROM PUBLIC"))


def log_in(connection: Connection, name: str, password: str, role: str) -> None:
    """Makes a login of a role, or gives it this password, which leaves this process as a digest."""
    driver: Any = connection.connection.dbapi_connection
    digest = driver.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256").decode()
    exists = connection.scalar(text("SELECT 1 FROM pg_roles WHERE rolname = :name"), {"name": name})
    # Not `text`, which takes the digest's colons for parameters.
    connection.exec_driver_sql(f"{'ALTER' if exists else 'CREATE'} ROLE {name} LOGIN PASSWORD '{digest}'")
    connection.execute(text(f"GRANT {role} TO {name}"))


def _rights(role: str, table: str) -> str:
    if table.startswith(QUEUE):
        return WRITE
    if table == "alembic_version":
        return "SELECT"
    if role == SERVER:
        return "SELECT, INSERT" if table in APPENDED else WRITE
    if table in OF_WORKERS:
        return WRITE
    return "SELECT" if table in READ_BY_WORKERS else ""


def _existing(connection: Connection) -> set[str]:
    names = {"server": SERVER, "worker": WORKER}
    return set(connection.scalars(text("SELECT rolname FROM pg_roles WHERE rolname IN (:server, :worker)"), names))
