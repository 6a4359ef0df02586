"""The command `cubeyard`: its options, and which function does which subcommand.

The file of a subcommand is imported when that subcommand runs, or when the help lists them all: a plan starts without the web
server, the database and the emulator.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from cubeyard import __version__

SUBCOMMANDS = {
    "run": "server:run",
    "worker": "server:work",
    "plan": "plan:plan",
    "export": "plan:export",
    "formats": "plan:formats",
    "prices": "prices:prices",
    "netbox": "netbox:netbox_app",
    "topology": "plan:topology",
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
    "clean": "clean:clean",
    "token": "admin:token_app",
    "db": "admin:db_app",
}
"""Module and function (or group of further subcommands) of each, in the order of the help."""


class Subcommands(TyperGroup):
    """Imports a subcommand's module when the subcommand is needed."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.suggest_commands = False  # it would look among the commands that are loaded

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click calls it with its context
        return list(SUBCOMMANDS)

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
    try:
        app()
    except BrokenPipeError:
        # The reader has closed (`| head`). Python would complain once more at exit.
        sys.stderr.close()
        raise SystemExit(1) from None


def _version(wanted: bool) -> None:
    if wanted:
        from cubeyard.engine import Engine
        from cubeyard.settings import Settings

        print(f"cubeyard {__version__}, engine {Engine(Settings()).version}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print versions.")
    ] = False,
) -> None:
    _ = version
