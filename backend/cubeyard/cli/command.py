"""The command `cubeyard`: its options, and the function of each subcommand.

The file of a subcommand is imported when that subcommand runs: a plan starts without the web
server, the database and the emulator, and the list of subcommands without any of them.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from functools import wraps
from importlib import import_module
from importlib.util import find_spec
from math import isfinite
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from cubeyard import __version__
from cubeyard.cli import output
from cubeyard.cli.subcommands import SUBCOMMANDS


def _unwrapped(text: str) -> str:
    """Help without the line breaks of the source: a terminal has other widths."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(part if "\n " in part else " ".join(part.split()) for part in paragraphs)


def _refusing(command: Any) -> None:
    """Makes a command and its subcommands reject values that are never meant: nan and inf, which
    JSON does not have, and an option in place of a value. Lists of subcommands show the first
    paragraph of each one's help, which the default cuts."""
    work = command.callback
    command.help = command.help and _unwrapped(command.help)
    command.short_help = command.help and command.help.partition("\n\n")[0]

    def checked(**options: Any) -> Any:
        for parameter in command.params:
            value, name = options.get(parameter.name), parameter.opts[0]
            for given in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(given, float) and not isfinite(given):
                    print(f"error: {name} is {given}. Give a finite number.", file=sys.stderr)
                    raise typer.Exit(2)
                if str(given).startswith("--") and parameter.param_type_name == "option":
                    print(f"error: {name} has no value: {given} is an option. Give {name} a value.", file=sys.stderr)
                    raise typer.Exit(2)
        return work(**options)

    if work is not None:
        command.callback = wraps(work)(checked)
    for item in getattr(command, "commands", {}).values():
        _refusing(item)


def _installed(name: str) -> bool:
    """Whether the packages of a subcommand are installed: an installation for notebooks lacks those
    of the server."""
    with suppress(ModuleNotFoundError):
        if find_spec("uvicorn") is not None:
            return True  # the server's packages come together; to import every command would take a second
    try:
        import_module(f"cubeyard.cli.{SUBCOMMANDS[name][0].split(':')[0]}")
    except ModuleNotFoundError as error:
        if _missing_package(error) is None:
            raise
        return False
    return True


def _missing_package(error: ModuleNotFoundError) -> str | None:
    """The package that is not installed; None for a module of Cubeyard."""
    package = (error.name or "cubeyard").partition(".")[0]
    return None if package == "cubeyard" else package


class Subcommands(TyperGroup):
    """Imports a subcommand's module when the subcommand is needed."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.suggest_commands = False  # the default looks only among loaded commands
        self.lists = False

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        from difflib import get_close_matches

        name = args[0]
        if name not in SUBCOMMANDS and (near := get_close_matches(name, SUBCOMMANDS)):
            ctx.fail(f"No such command {name!r}. Did you mean {', '.join(map(repr, near))}?")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.lists = True
        super().format_help(ctx, formatter)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click calls it with its context
        return [name for name in SUBCOMMANDS if _installed(name)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        if cmd_name not in SUBCOMMANDS:
            return None
        where, summary = SUBCOMMANDS[cmd_name]
        if self.lists:
            return TyperCommand(cmd_name, help=summary)
        module, attribute = where.split(":")
        result = getattr(import_module(f"cubeyard.cli.{module}"), attribute)
        if not isinstance(result, typer.Typer):
            item = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            item.command(cmd_name)(result)
            result = item
        command = typer.main.get_command(result)
        command.name = cmd_name
        _refusing(command)
        command.short_help = summary
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
    """Read the arguments and run the subcommand. Exits with its code."""
    output.prepare()
    try:
        try:
            if "_CUBEYARD_COMPLETE" in os.environ:
                from typer._completion_classes import completion_init

                completion_init()
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
        # The reader has closed (`| head`). Otherwise Python prints another error at exit.
        sys.stderr.close()
        raise SystemExit(1) from None
    except OSError as error:
        # A file or folder is missing, full or not accessible. Other errors keep their traceback.
        if error.filename is None and error.errno not in output.DISK:
            raise
        where = f": {error.filename}" if error.filename is not None else ""
        print(f"error: {error.strerror}{where}", file=sys.stderr)
        raise SystemExit(1) from None


def _version(wanted: bool) -> None:
    if wanted:
        # Not imported from `cubeyard.engine`, which takes ten times as long as all other imports
        # here.
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
