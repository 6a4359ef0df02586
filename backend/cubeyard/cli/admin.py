"""`cubeyard token` and `cubeyard db`: API tokens, and the database's tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from cubeyard.cli.common import confirmed, errors, explained, open_database, refuse, settings_of
from cubeyard.kit import logs
from cubeyard.settings import Settings, secret

token_app = typer.Typer(help="API tokens, for servers that others can reach.", no_args_is_help=True)
db_app = typer.Typer(help="The database's tables.", no_args_is_help=True)


@token_app.command("create")
def token_create(
    name: Annotated[str, typer.Argument(help="The purpose of the token.")] = "from the command line",
    read_only: Annotated[
        bool, typer.Option("--read-only", help="The token may compute and read, but change nothing.")
    ] = False,
    days: Annotated[
        int | None, typer.Option(min=1, max=3650, help="The token expires after this number of days; default: never.")
    ] = None,
) -> None:
    """Create a token and print it; it cannot be read again."""
    with explained(), _auth() as service:
        row, secret = service.create_token(name, read_only=read_only, expires_in_days=days)
    errors.print(f"Token {row.id} ({name}). Keep it now: it is not stored.")
    print(secret)


@token_app.command("list")
def token_list() -> None:
    """List the tokens, without the tokens themselves."""
    table = Table("Id", "Name", "Made", "Last used", "Rights", "Expires", box=None)
    with explained(), _auth() as service:
        for row in service.tokens():
            used = row.last_used_at.isoformat(timespec="minutes") if row.last_used_at else "never"
            expires = row.expires_at.isoformat(timespec="minutes") if row.expires_at else "never"
            made = row.created_at.isoformat(timespec="minutes")
            table.add_row(row.id, row.name, made, used, "read" if row.read_only else "all", expires)
    Console().print(table)


@token_app.command("revoke")
def token_revoke(token_id: Annotated[str, typer.Argument(help="The id, as `token list` shows it.")]) -> None:
    """Revoke a token and end its sessions."""
    with explained(), _auth() as service:
        service.revoke(token_id)
    errors.print(f"Token {token_id} is revoked.")


@db_app.command("upgrade")
def db_upgrade(revision: Annotated[str, typer.Argument()] = "head") -> None:
    """Migrate the tables to the newest revision. Servers do this for the embedded database only."""
    from cubeyard.kit import schema

    with explained(), open_database(check=False) as database:
        schema.upgrade(database.engine, revision)
        print(schema.current(database.engine) or "empty")


@db_app.command("downgrade")
def db_downgrade(
    revision: Annotated[str, typer.Argument(help="The revision to go back to; `base` for an empty database.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Migrate the tables back. Data of later revisions is lost."""
    from cubeyard.kit import schema

    lost = (
        "All plans, experiments, runs and tokens" if revision == "base" else f"All data that is newer than {revision}"
    )
    if not yes and not confirmed(f"{lost} will be lost (`cubeyard backup` keeps a copy). Continue?"):
        refuse("Nothing was changed. Without a terminal, --yes answers.")
    with explained(), open_database(check=False) as database:
        schema.downgrade(database.engine, revision)
        print(schema.current(database.engine) or "empty")


@db_app.command("roles")
def db_roles(
    *,
    logins: Annotated[
        bool,
        typer.Option(
            "--logins",
            help="Also the logins server and worker, with the passwords in SERVER_PASSWORD and WORKER_PASSWORD:"
            " variables, or files in CUBEYARD_SECRETS_DIR.",
        ),
    ] = False,
) -> None:
    """Make the roles cubeyard_server and cubeyard_worker, as the owner of the tables. Logins that
    are members of the latter can change runs and exports, but no tokens, plans or changes."""
    from cubeyard.kit import roles

    passwords = {name: secret(f"{name.upper()}_PASSWORD") for name in roles.LOGINS if logins}
    for name, password in passwords.items():
        if not password:
            refuse(f"{name.upper()}_PASSWORD is not set. It is the password of the login {name}: openssl rand -hex 24")
    with explained(), open_database() as database:
        with database.engine.begin() as connection:
            roles.make(connection)
            for name, password in passwords.items():
                roles.log_in(connection, name, password, roles.LOGINS[name])
        print(f"{roles.SERVER} {roles.WORKER}")


@db_app.command("current")
def db_current() -> None:
    """Print the revision of the tables, and the newest one."""
    from cubeyard.kit import schema

    with explained(), open_database(check=False) as database:
        print(f"{schema.current(database.engine) or 'empty'} (newest: {schema.head()})")


@contextmanager
def _auth() -> Iterator[Any]:
    settings = settings_of(log_level="warning")
    logs.configure(settings.log_level, "console")
    with open_database(settings) as database, auth_of(database, settings) as service:
        yield service


@contextmanager
def auth_of(database: Any, settings: Settings) -> Iterator[Any]:
    from cubeyard.kit.auth.guard import configured_token
    from cubeyard.kit.auth.service import AuthService
    from cubeyard.kit.auth.who import COMMAND_LINE, Actor
    from cubeyard.kit.db import CALLER

    with database.session() as session:
        session.info[CALLER] = Actor(COMMAND_LINE)
        yield AuthService(session, configured_token(settings))
