"""`cubeyard import-topology`: a file with a network as a topology that `plan`, `predict` and the
other commands take."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar, get_args

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.common import errors, print_finding, refuse, write
from cubeyard.cli.files import DecimalOption, decimal_mark
from cubeyard.kit.errors import ProblemError
from cubeyard.topologies.network import Format
from cubeyard.topologies.rates import Unit

if TYPE_CHECKING:
    from cubeyard.topologies.schemas import ImportedTopology

_FORMATS: tuple[Format, ...] = get_args(Format)
_UNITS: tuple[Unit, ...] = get_args(Unit)
Name = TypeVar("Name", bound=str)


def import_topology(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="GraphML, GEXF, Graphviz DOT, an edge list (CSV, XLSX), containerlab (YAML), NetBox's cables or lldpctl's JSON; - is "
            "standard input.",
        ),
    ],
    format: Annotated[
        str | None,
        typer.Option("--format", "-f", help=f"One of {', '.join(_FORMATS)}. Default: detected from the file."),
    ] = None,
    servers: Annotated[
        str | None, typer.Option(help="Patterns of names that are servers, with commas between them: 'web*,db*'.")
    ] = None,
    switches: Annotated[str | None, typer.Option(help="The same for switches; if both match, it is a switch.")] = None,
    link_gbps: Annotated[
        float | None, typer.Option(help="Rate of links that have none in the file. Default: 10.")
    ] = None,
    rate_unit: Annotated[
        str | None, typer.Option(help=f"The unit of rates without a unit: {', '.join(_UNITS)}.")
    ] = None,
    decimal: DecimalOption = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The file to write the spec to, or - for standard output.")
    ] = "-",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything: the spec, and the contents read, assumed and left out.")
    ] = False,
) -> None:
    """Read a network from a file and write it as a topology's spec: cubeyard plan --spec takes it.

    Standard error reports the contents that were read, assumed and left out. Exits with 2 for a
    file that cannot be read.
    """
    from cubeyard.topologies.importing import ImportOptions, patterns_of
    from cubeyard.topologies.importing import import_topology as import_file

    kind: Format | None = _one_of(_FORMATS, format, "--format")
    unit: Unit | None = _one_of(_UNITS, rate_unit, "--rate-unit")
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        refuse(f"{file} cannot be read: {error.strerror or error}.")
    options = ImportOptions(kind, patterns_of(servers), patterns_of(switches), link_gbps, unit, decimal_mark(decimal))
    try:
        result = import_file(data, "" if file == "-" else Path(file).name, options)
    except ProblemError as error:
        reported = [f"{file}: {_words(item.field, item.message, item.limit, item.hint)}" for item in error.errors]
        for item in reported[:-1]:
            errors.print(f"[bold red]error:[/bold red] {escape(item)}", highlight=False)
        refuse(reported[-1])
    document = orjson.dumps(result.model_dump() if as_json else result.spec) + b"\n"
    if output == "-":
        write(document)
    else:
        try:
            Path(output).write_bytes(document)
        except OSError as error:
            refuse(f"{output} cannot be written: {error.strerror or error}.")
    _tell(errors, result)


def _one_of(values: tuple[Name, ...], given: str | None, option: str) -> Name | None:
    """The value that was given. Exits with 2 for an unknown value."""
    result = next((value for value in values if value == given), None)
    if given is not None and result is None:
        refuse(f"{option} is {given}. Give one of {', '.join(values)}.")
    return result


def _words(field: str, message: str, limit: str | None, hint: str | None) -> str:
    where = field.removeprefix("body.")
    if where.startswith("query."):
        where = f"--{where.removeprefix('query.').replace('_', '-')}"
    reported = f"{where[:1].upper()}{where[1:]}: {message}"
    return " ".join(filter(None, [reported, f"It must be {limit}." if limit else None, hint]))


def _tell(console: Console, found: ImportedTopology) -> None:
    """To standard error, so that the spec can be piped on."""
    counts = found.counts
    console.print(
        f"{found.format_title}: {counts.servers:,} servers, {counts.switches:,} switches, {counts.links:,} links",
        highlight=False,
    )
    table = Table(box=None, show_header=False, pad_edge=False)
    for role in found.roles:
        named = ", ".join(role.examples[:4])
        table.add_row(
            "  roles", f"{role.servers:,} servers, {role.switches:,} switches", escape(f"{role.title}: {named}")
        )
    for rate in found.rates:
        table.add_row("  rates", f"{rate.links:,} links", f"{rate.gbps:g} Gb/s{'' if rate.told else ', assumed'}")
    console.print(table, highlight=False)
    for title, sentences in (("assumed", found.assumed), ("left out", found.left_out)):
        for sentence in sentences:
            console.print(f"{title}: {escape(sentence)}", highlight=False)
    for finding in found.findings:
        print_finding(console, finding.model_dump())
