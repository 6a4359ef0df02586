"""The external PostgreSQL of the installation: on this machine, with an address on the cluster's
network, a password, and TLS where this PostgreSQL has it."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from psycopg import errors, sql

from cubeyard.kit.embedded import EmbeddedPostgres
from tests.cluster.machines import OUTSIDE

NETWORKS = ("10.88.0.0/16", "10.99.0.0/16")
NAME = "cubeyard"


@contextmanager
def a_database() -> Iterator[tuple[str, Path]]:
    """Its URL, for pods and for this machine, and its certificate, which has signed itself."""
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
            certificate = _certify(server.data)
            with suppress(errors.InvalidParameterValue):  # a PostgreSQL that was built without TLS
                connection.execute("ALTER SYSTEM SET ssl = on")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute(f"ALTER DATABASE {NAME} OWNER TO {NAME}")
        yield f"postgresql://{NAME}:{password}@{OUTSIDE}:5432/{NAME}", certificate
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def _certify(data: Path) -> Path:
    """Makes the server's certificate and key where it looks for them."""
    certificate, key = data / "server.crt", data / "server.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={OUTSIDE}",
         "-addext", f"subjectAltName=IP:{OUTSIDE}", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    key.chmod(0o600)
    for path in (certificate, key):
        os.chown(path, data.stat().st_uid, data.stat().st_gid)
    return certificate
