"""The command `cubeyard`: its options, and which function does which subcommand.

The file of a subcommand is imported when that subcommand runs, or when the help lists them all: a
plan starts without the web server, the database and the emulator.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from math import isfinite
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cubeyard import __version__
from cubeyard.cli import output

SUBCOMMANDS = {
    "run": "server:run",
    "worker": "server:work",
    "plan": "plan:plan",
    "export": "plan:export",
    "formats": "plan:formats",
    "prices": "prices:prices",
    "netbox": "netbox:netbox_app",
    "asbuilt": "asbuilt:asbuilt",
    "topology": "plan:topology",
    "import-topology": "topologies:import_topology",
    "openapi": "server:openapi",
    "paths": "paths:paths",
    "search": "search:search",
    "life": "life:life",
    "predict": "predict:predict",
    "simulate": "simulate:simulate",
    "figures": "figures:figures",
    "figure": "figures:figure",
    "emulate": "emulate:emulate",
    "scenario": "scenario:scenario_app",
    "capture": "capture:capture",
    "shell": "capture:shell",
    "service": "service:service_app",
    "routes": "routes:routes",
    "chip": "chip:chip_app",
    "relay": "relay:relay",
    "clean": "clean:clean",
    "changes": "changes:changes",
    "token": "admin:token_app",
    "db": "admin:db_app",
    "backup": "backup:backup",
    "restore": "backup:restore",
}
"""Module and function (or group of further subcommands) of each, in the order of the help."""


def _only_finite(command: Any) -> None:
    """Has a command and its subcommands refuse nan and inf: JSON has neither, so that they would
    count as left out."""
    work = command.callback

    def checked(**options: Any) -> Any:
        for name, value in options.items():
            values = value if isinstance(value, list) else [value]
            if odd := [one for one in values if isinstance(one, float) and not isfinite(one)]:
                print(f"error: --{name.replace('_', '-')} is {odd[0]}. Give a finite number.", file=sys.stderr)
                raise typer.Exit(2)
        return work(**options)

    if work is not None:
        command.callback = wraps(work)(checked)
    for one in getattr(command, "commands", {}).values():
        _only_finite(one)


def _installed(name: str) -> bool:
    """Whether the packages of a subcommand are here: those of the server are not where Cubeyard was
    installed for notebooks."""
    with suppress(ModuleNotFoundError):
        if find_spec("uvicorn") is not None:
            return True  # the server's packages come together; to import every command would take a second
    try:
        import_module(f"cubeyard.cli.{SUBCOMMANDS[name].split(':')[0]}")
    except ModuleNotFoundError as error:
        if _missing_package(error) is None:
            raise
        return False
    return True


def _missing_package(error: ModuleNotFoundError) -> str | None:
    """The package that is not installed; None for a module of our own."""
    package = (error.name or "cubeyard").partition(".")[0]
    return None if package == "cubeyard" else package


class Subcommands(TyperGroup):
    """Imports a subcommand's module when the subcommand is needed."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.suggest_commands = False  # it would look among the commands that are loaded

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click calls it with its context
        return [name for name in SUBCOMMANDS if _installed(name)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in SUBCOMMANDS:
            return None
        module, attribute = SUBCOMMANDS[cmd_name].split(":")
        found = getattr(import_module(f"cubeyard.cli.{module}"), attribute)
        if not isinstance(found, typer.Typer):
            one = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            one.command(cmd_name)(found)
            found = one
        command = typer.main.get_command(found)
        command.name = cmd_name
        _only_finite(command)
        return command


app = typer.Typer(
    cls=Subcommands,
    help="Plan, price and wire container data centers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> None:
    """Read the arguments and do the subcommand. Exits with its code."""
    output.prepare()
    try:
        try:
            app()
        finally:
            output.finish()
    except output.OutputError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except ModuleNotFoundError as error:
        package = _missing_package(error)
        if package is None:
            raise
        print(
            f"error: This command needs the package {package}, which is not installed. "
            "Run: pip install 'cubeyard[server]'",
            file=sys.stderr,
        )
        raise SystemExit(1) from None
    except BrokenPipeError:
        # The reader has closed (`| head`). Python would complain once more at exit.
        sys.stderr.close()
        raise SystemExit(1) from None


def _version(wanted: bool) -> None:
    if wanted:
        # Not by `cubeyard.engine`, which takes ten times as long to import as all the rest of this.
        import cubeyard_engine

        print(f"cubeyard {__version__}, engine {cubeyard_engine.engine_build()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print versions.")
    ] = False,
) -> None:
    _ = version
