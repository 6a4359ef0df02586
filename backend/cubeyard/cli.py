"""`cubeyard`, the command. Planning needs no database: the builtin price books come with the engine.

Exit codes: 0 done, 1 something went wrong here, 2 what was asked for is not possible (findings on standard error).
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

from cubeyard import __version__, cli_emulate, cli_predict
from cubeyard.engine import BuiltPlan, Engine, Json, PlanRejectedError
from cubeyard.kit import logs
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings

app = typer.Typer(
    help="Plan, price and wire container data centers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
token_app = typer.Typer(help="API tokens, for servers that others can reach.", no_args_is_help=True)
db_app = typer.Typer(help="The database's tables.", no_args_is_help=True)
app.add_typer(token_app, name="token")
app.add_typer(db_app, name="db")

errors = Console(stderr=True, soft_wrap=True)

EDGES_A_WRITE = 200_000
EXIT_IMPOSSIBLE = 2

SpecOption = Annotated[
    str, typer.Option("--spec", help="A spec as JSON, a file that holds one, or - for standard input.")
]
CatalogOption = Annotated[
    str | None, typer.Option("--catalog", help="A builtin price book, like paper-2009 or current-2026.")
]


def main() -> None:
    try:
        app()
    except BrokenPipeError:
        # Whoever read us has had enough (`| head`). Python would complain once more at exit.
        sys.stderr.close()
        raise SystemExit(1) from None


def _version(wanted: bool) -> None:
    if wanted:
        print(f"cubeyard {__version__}, engine {Engine(Settings()).version}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print versions.")
    ] = False,
) -> None:
    _ = version


@app.command()
def run(
    host: Annotated[
        str | None, typer.Option(help="The address to listen on. Other than loopback needs a token.")
    ] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="The port to listen on.")] = None,
    worker: Annotated[bool, typer.Option(help="Do background exports and runs in this process too.")] = True,
) -> None:
    """Serve the page and the API."""
    from cubeyard.app import create_app
    from cubeyard.serve import serve

    settings = _settings(host=host, port=port)
    logs.configure(settings.log_level, settings.log_format)
    with _explained():
        _require_token(settings)
        serve(create_app(settings, worker=worker), settings)


@app.command("worker")
def work() -> None:
    """Do background exports and runs, from the same database as the server's."""
    from cubeyard.app import prepare
    from cubeyard.kit.db import Database
    from cubeyard.worker import supervise

    settings = _settings()
    logs.configure(settings.log_level, settings.log_format)

    async def until_told() -> None:
        stopping = asyncio.Event()
        for one in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(one, stopping.set)
        await supervise(settings, database, engine, stopping)

    with _explained():
        database, engine = Database(settings), Engine(settings)
        try:
            prepare(database, engine)
            asyncio.run(until_told())
        finally:
            database.close()


@app.command()
def plan(
    spec: SpecOption,
    catalog: CatalogOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Compute a plan and print its numbers."""
    with _explained():
        built = _built(spec, catalog)
        if as_json:
            _write(built.summary_json + b"\n")
        else:
            _print_summary(built.summary)


@app.command()
def export(
    spec: SpecOption,
    format: Annotated[str, typer.Option("--format", "-f", help="One of the formats that `cubeyard formats` lists.")],
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write, or - for standard output.")] = "-",
    catalog: CatalogOption = None,
    name: Annotated[str | None, typer.Option(help="What to call the plan in the file.")] = None,
) -> None:
    """Write a plan as a file: a workbook, a PDF, NetBox tables and more."""
    from cubeyard.exports import FORMATS, render
    from cubeyard.plans.view import PlanView

    if format not in FORMATS:
        _refuse(f"There is no format {format}. There are: {', '.join(FORMATS)}.")
    with _explained():
        pieces = render(format, PlanView.of(_built(spec, catalog), name), None)
        if output == "-":
            for piece in pieces:
                _write(piece)
            return
        target = Path(output)
        # Beside its place first: a failure leaves no half a file.
        partial = target.with_name(f".{target.name}.partial")
        try:
            with partial.open("wb") as file:
                for piece in pieces:
                    file.write(piece)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    errors.print(f"Wrote {output}, {target.stat().st_size:,} bytes.")


@app.command()
def formats() -> None:
    """List the export formats."""
    from cubeyard.exports import FORMATS

    table = Table("Format", "File", "What it is", box=None)
    for one in FORMATS.values():
        table.add_row(one.name, f".{one.extension}", one.description)
    Console().print(table)


@app.command()
def topology(
    spec: SpecOption,
    edges: Annotated[bool, typer.Option("--edges", help="Stream `a b level`, one line a link.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print counts, certificate and metrics as JSON.")] = False,
) -> None:
    """A topology alone: its links, or its counts and its wiring certificate. Any size."""
    with _explained():
        built = Engine(_settings()).topology(_read_spec(spec))
        if edges:
            for start in range(0, built.link_count, EDGES_A_WRITE):
                _write(built.edge_lines(start, start + EDGES_A_WRITE))
            return
        document = {
            "counts": orjson.loads(built.counts_json()),
            "certificate": orjson.loads(built.certificate_json()),
            "metrics": orjson.loads(built.metrics_json()),
        }
        if as_json:
            _write(orjson.dumps(document) + b"\n")
            return
        console, counts = Console(), document["counts"]
        console.print(
            f"[bold]{counts['title']}[/bold]: {counts['servers']:,} servers, {counts['switches']:,} switches, {counts['links']:,} links"
        )
        _print_certificate(console, document["certificate"])


@app.command()
def openapi(
    output: Annotated[str, typer.Option("--output", "-o", help="The file to write, or - for standard output.")] = "-",
) -> None:
    """The API's description, as OpenAPI JSON."""
    from cubeyard.app import create_app, openapi_text

    text = openapi_text(create_app(Settings()))
    if output == "-":
        _write(text)
    else:
        Path(output).write_bytes(text)


@token_app.command("create")
def token_create(name: Annotated[str, typer.Argument(help="What the token is for.")] = "from the command line") -> None:
    """Make a token and print it; it cannot be read again."""
    with _explained(), _auth() as service:
        row, secret = service.create_token(name)
    errors.print(f"Token {row.id} ({name}). Keep it now: it is not stored.")
    print(secret)


@token_app.command("list")
def token_list() -> None:
    """List the tokens, without the tokens themselves."""
    table = Table("Id", "Name", "Made", "Last used", box=None)
    with _explained(), _auth() as service:
        for row in service.tokens():
            used = row.last_used_at.isoformat(timespec="minutes") if row.last_used_at else "never"
            table.add_row(row.id, row.name, row.created_at.isoformat(timespec="minutes"), used)
    Console().print(table)


@token_app.command("revoke")
def token_revoke(token_id: Annotated[str, typer.Argument(help="The id that `token list` shows.")]) -> None:
    """Revoke a token and end its sessions."""
    with _explained(), _auth() as service:
        service.revoke(token_id)
    errors.print(f"Token {token_id} is revoked.")


@db_app.command("upgrade")
def db_upgrade(revision: Annotated[str, typer.Argument()] = "head") -> None:
    """Bring the tables up to date (a server does it by itself when it starts)."""
    from cubeyard.kit import schema

    with _explained(), _database() as database:
        schema.upgrade(database.engine, revision)
        print(schema.current(database.engine) or "empty")


@db_app.command("downgrade")
def db_downgrade(
    revision: Annotated[str, typer.Argument(help="The revision to go back to; `base` for nothing at all.")],
) -> None:
    """Take the tables back. What later revisions brought is lost."""
    from cubeyard.kit import schema

    with _explained(), _database() as database:
        schema.downgrade(database.engine, revision)
        print(schema.current(database.engine) or "empty")


@db_app.command("current")
def db_current() -> None:
    """Print the revision the tables are at, and the newest there is."""
    from cubeyard.kit import schema

    with _explained(), _database() as database:
        print(f"{schema.current(database.engine) or 'empty'} (newest: {schema.head()})")


def _settings(**given: Any) -> Settings:
    try:
        return Settings(**{key: value for key, value in given.items() if value is not None})
    except ValueError as error:
        _refuse(f"The configuration is not valid. {error}")
        raise AssertionError from error


def _require_token(settings: Settings) -> None:
    """A server that others can reach does not start without a token."""
    from cubeyard.kit import schema
    from cubeyard.kit.auth.guard import configured_token

    if not settings.exposed or configured_token(settings):
        return
    with _database(settings) as database:
        schema.upgrade(database.engine)
        with _auth_of(database, settings) as service:
            if service.any_token():
                return
    _refuse(
        f"Listening on {settings.host} lets others in, and there is no token for them to show. "
        "Make one with `cubeyard token create`, or set CUBEYARD_TOKEN, or listen on 127.0.0.1."
    )


def _read_spec(text: str) -> Json:
    """The `--spec` option: JSON itself, a file, or standard input."""
    where = "--spec"
    if text == "-":
        raw, where = sys.stdin.buffer.read(), "standard input"
    elif text.lstrip().startswith(("{", "[")):
        raw = text.encode("utf-8", "surrogateescape")
    else:
        where = text
        try:
            raw = Path(text).read_bytes()
        except OSError as error:
            _refuse(f"--spec is neither JSON nor a file that can be read: {error.strerror or error}: {text}")
            raise AssertionError from error
    try:
        spec = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        _refuse(f"{where} is not JSON: {error}.")
        raise AssertionError from error
    if not isinstance(spec, dict):
        _refuse(f'{where} is JSON, but not an object like {{"family": "bcube", "n": 8, "k": 3}}.')
    return spec


def _built(spec_text: str, catalog: str | None) -> BuiltPlan:
    from cubeyard.catalog.service import DEFAULT_BOOK
    from cubeyard.plans.service import book_of, normal_spec

    spec = normal_spec(_read_spec(spec_text))
    engine = Engine(_settings())
    name = catalog or (book_of(spec) if "catalog" in spec else DEFAULT_BOOK)
    books = {book["book"]: book for book in engine.builtin_books}
    if name not in books:
        _refuse(f"There is no builtin price book {name}. There are: {', '.join(books)}.")
    return engine.plan({**spec, "catalog": name}, books[name])


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _refuse(message: str) -> None:
    errors.print(f"[bold red]error:[/bold red] {_escaped(message)}", highlight=False)
    raise typer.Exit(EXIT_IMPOSSIBLE)


@contextmanager
def _explained() -> Iterator[None]:
    """What went wrong, as words instead of a stack trace."""
    from sqlalchemy.exc import OperationalError

    from cubeyard.kit.embedded import EmbeddedPostgresError

    try:
        yield
    except PlanRejectedError as error:
        for one in error.findings:
            _print_finding(errors, one)
        raise typer.Exit(EXIT_IMPOSSIBLE) from None
    except ProblemError as error:
        _refuse(error.detail)
    except (EmbeddedPostgresError, OperationalError) as error:
        errors.print(
            f"[bold red]error:[/bold red] The database cannot be used. {_escaped(str(error))}", highlight=False
        )
        raise typer.Exit(1) from None


@contextmanager
def _database(settings: Settings | None = None) -> Iterator[Any]:
    from cubeyard.kit.db import Database

    database = Database(settings or _settings())
    try:
        yield database
    finally:
        database.close()


@contextmanager
def _auth() -> Iterator[Any]:
    from cubeyard.kit import schema

    settings = _settings(log_level="warning")
    logs.configure(settings.log_level, "console")
    with _database(settings) as database:
        schema.upgrade(database.engine)
        with _auth_of(database, settings) as service:
            yield service


@contextmanager
def _auth_of(database: Any, settings: Settings) -> Iterator[Any]:
    from cubeyard.kit.auth.guard import configured_token
    from cubeyard.kit.auth.service import AuthService

    with database.session() as session:
        yield AuthService(session, configured_token(settings))


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def _print_summary(summary: Json) -> None:
    console = Console()
    counts, cost, power = summary["counts"], summary["cost_usd"], summary["power_watts"]
    at_least = "at least " if cost["at_least"] else ""
    console.print(f"[bold]{_escaped(summary['title'])}[/bold]  plan {summary['plan_hash'][:12]}", highlight=False)
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    table.add_column()
    table.add_row("servers", f"{counts['servers']:,}")
    table.add_row("switches", f"{counts['switches']:,}")
    table.add_row(
        "cables",
        f"{counts['cables']:,}",
        f"{summary['cable_metres']:,.1f} m, longest {summary['longest_cable_metres']:,.1f} m",
    )
    table.add_row("racks", f"{counts['racks']:,}")
    table.add_row("cost", f"{at_least}${cost['total']:,.2f}", f"network ${cost['network']:,.2f}")
    table.add_row("power", f"{power['total'] / 1000:,.2f} kW", f"switches {power['switches'] / 1000:,.2f} kW")
    console.print(table, highlight=False)
    _print_certificate(console, summary["certificate"])
    for one in summary["findings"]:
        _print_finding(console, one)


def _print_certificate(console: Console, certificate: Json) -> None:
    passed = sum(check["passed"] for check in certificate["checks"])
    style = "green" if certificate["passed"] else "bold red"
    console.print(
        f"[{style}]wiring certificate: {passed} of {len(certificate['checks'])} checks pass[/{style}]", highlight=False
    )
    for check in certificate["checks"]:
        mark = "[green]pass[/green]" if check["passed"] else "[bold red]FAIL[/bold red]"
        console.print(f"  {mark}  {_escaped(check['statement'])} ({check['checked']:,} checked)", highlight=False)


_STYLES = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def _print_finding(console: Console, one: Mapping[str, Any]) -> None:
    style = _STYLES.get(one["severity"], "bold")
    hint = f" {one['hint']}" if one.get("hint") else ""
    console.print(
        f"[{style}]{one['severity']}:[/{style}] {_escaped(one['where'])}: {_escaped(one['message'])}{_escaped(hint)}",
        highlight=False,
    )
    if one.get("fix") is not None:
        console.print(f"  fix: {_escaped(orjson.dumps(one['fix']).decode())}", highlight=False)


cli_predict.register(app, _read_spec, _explained, _refuse)
cli_emulate.register(app, _read_spec, _explained, _refuse)

if __name__ == "__main__":
    main()
