"""The external PostgreSQL of the installation: on this machine, with an address on the cluster's
network and a password."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from cubeyard.kit.embedded import EmbeddedPostgres
from tests.cluster.machines import OUTSIDE

NETWORKS = ("10.88.0.0/16", "10.99.0.0/16")
NAME = "cubeyard"


@contextmanager
def a_database() -> Iterator[str]:
    """Its URL, for pods and for this machine."""
    home = Path(tempfile.mkdtemp(prefix="cubeyard-tests-"))
    home.chmod(0o755)
    password = secrets.token_hex(12)
    server = EmbeddedPostgres(home, options=("-c", f"listen_addresses={OUTSIDE}", "-c", "fsync=off"))
    server.start()
    try:
        with (server.data / "pg_hba.conf").open("a") as rules:
            rules.writelines(f"host all all {network} scram-sha-256\n" for network in NETWORKS)
        with psycopg.connect(server.conninfo("postgres"), autocommit=True) as connection:
            role = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(NAME), sql.Literal(password))
            connection.execute(role)
            connection.execute("SELECT pg_reload_conf()")
            connection.execute(f"ALTER DATABASE {NAME} OWNER TO {NAME}")
        yield f"postgresql://{NAME}:{password}@{OUTSIDE}:5432/{NAME}"
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)
