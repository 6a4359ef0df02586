"""`cubeyard life`: servers and throughput of a plan over years of failures, sealed or with visits
and spares. No database."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from cubeyard.cli.common import errors, explained, progress, read_spec, refuse, settings_of, write
from cubeyard.engine import Engine, Json
from cubeyard.kit.json_text import MAX_INTEGER
from cubeyard.plans.building import book_named
from cubeyard.plans.spec import book_of, normal_spec

NAMED_NUMBER = re.compile(r"\s*([a-z_]+)\s*=\s*([0-9.eE+-]+)\s*")


def life(
    spec: Annotated[
        str | None, typer.Option(help="A topology or plan spec: JSON, a file, or - for standard input.")
    ] = None,
    years: Annotated[float, typer.Option(help="How long.")] = 5,
    seeds: Annotated[int, typer.Option(help="How many lives.")] = 200,
    seed: Annotated[int, typer.Option(min=0, max=MAX_INTEGER - 2_000, help="The first life's seed.")] = 1,
    visits: Annotated[
        list[float] | None, typer.Option(help="Compare with visits at this interval in months; can be repeated.")
    ] = None,
    visit_below: Annotated[
        list[float] | None,
        typer.Option(
            help="Compare with a visit a month after the share of servers alive falls below this; can be repeated."
        ),
    ] = None,
    spares: Annotated[
        str | None,
        typer.Option(help="Compare visits with this kit for the whole life too: server=20,switch=10,cable=5,pdu=1."),
    ] = None,
    rate: Annotated[
        list[str] | None, typer.Option(help="An annual failure rate, like disk=0.02; can be repeated. See --rates.")
    ] = None,
    rate_factor: Annotated[
        float, typer.Option(help="Multiplies every hazard: 0.125 was measured in a sealed container of nitrogen.")
    ] = 1,
    shape: Annotated[float, typer.Option(help="Shape of Weibull lifetimes; 1 is exponential.")] = 1,
    floor: Annotated[
        list[str] | None,
        typer.Option(help="The smallest acceptable rest: servers=0.9 or abt=0.5, as shares of the start."),
    ] = None,
    step_months: Annotated[int, typer.Option(help="Months between two points of a curve.")] = 1,
    visit_price: Annotated[
        float | None,
        typer.Option(help="Cost of a visit in addition to parts and labour, in the price book's currency."),
    ] = None,
    routing: Annotated[str | None, typer.Option(help="A routing scheme; default: the family's.")] = None,
    exact_states: Annotated[
        int | None, typer.Option(help="States whose throughput is computed; the others are interpolated.")
    ] = None,
    catalog: Annotated[str | None, typer.Option(help="A price book: a builtin one or a JSON file.")] = None,
    rates: Annotated[bool, typer.Option("--rates", help="List the failure rates of parts, with sources.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the document as JSON.")] = False,
) -> None:
    """Simulate years of failures and repairs of a plan. Exits with 2 for a plan that cannot be
    simulated."""
    engine = Engine(settings_of())
    if rates:
        _print_rates(engine, as_json)
        return
    if spec is None:
        refuse("--spec is missing: give a topology or plan spec, or --rates for the failure rates.")
    question: Json = {
        "plan": normal_spec(read_spec(spec)),
        "years": years,
        "seeds": seeds,
        "first_seed": seed,
        "step_months": step_months,
        "rates": dict(_number(text, "--rate") for text in rate or []),
        "rate_factor": rate_factor,
        "shape": shape,
        "policies": _policies(visits or [], visit_below or [], spares),
        "floors": dict(_number(text, "--floor") for text in floor or []),
        **{
            name: value
            for name, value in (("visit_price", visit_price), ("routing", routing), ("exact_states", exact_states))
            if value is not None
        },
    }
    with explained(), progress("Simulating") as reported:

        def seen(frame: str) -> None:
            item = orjson.loads(frame)
            if item["kind"] == "progress":
                reported(item["done"], item["of"])

        book = book_named(engine, catalog or book_of(question["plan"]))
        question["plan"] = {**question["plan"], "catalog": book["book"]}
        engine.refuse_oversize(orjson.dumps(question["plan"]))
        document = engine.life(question, book, seen)
    if as_json:
        write(orjson.dumps(document) + b"\n")
    else:
        _print(Console(), document)


def _number(text: str, option: str) -> tuple[str, float]:
    matched = NAMED_NUMBER.fullmatch(text)
    try:
        return (matched or [])[1], float((matched or [])[2])
    except (IndexError, ValueError):
        refuse(f"{option} {text!r} is not a name and a number: write it like disk=0.02.")


def _policies(visits: list[float], below: list[float], spares: str | None) -> list[Json]:
    kinds: list[Json] = [{"visit_months": months} for months in visits] + [{"visit_below": share} for share in below]
    if spares is None:
        return [{}, *kinds]
    if not kinds:
        refuse("--spares are used at visits: give --visits or --visit-below too.")
    kit: dict[str, int] = {}
    for text in spares.split(","):
        kind, count = _number(text, "--spares")
        if count != int(count):
            refuse(f"--spares {text!r}: give a whole number of spares.")
        kit[kind] = int(count)
    return [{}, *kinds, *({**item, "spares": kit} for item in kinds)]


def _print_rates(engine: Engine, as_json: bool) -> None:
    if as_json:
        write(orjson.dumps(engine.failure_rates) + b"\n")
        return
    table = Table("Part", "Title", "AFR", "Basis", "Confidence", "Date", "Source", box=None, pad_edge=False)
    for failure_rate in engine.failure_rates:
        afr = f"{100 * failure_rate['afr']:.3g} %"
        cells = (failure_rate[name] for name in ("basis", "confidence", "date", "source"))
        table.add_row(failure_rate["part"], failure_rate["title"], afr, *(escape(cell) for cell in cells))
    Console().print(table)


def _print(console: Console, document: Json) -> None:
    currency, end = document["book"]["currency"], f"{document['years']:g} years"
    policies: list[Json] = document["policies"]
    table = Table(Column("", no_wrap=True), *(escape(policy["title"]) for policy in policies), box=None, pad_edge=False)
    floors = document["floors"]
    rows: list[tuple[str, Callable[[Json], str]]] = [
        (f"Servers after {end}", lambda item: _band(item["curves"]["connected"])),
        ("ABT then, Gb/s", lambda item: _band(item["curves"]["abt_gbps"])),
        (f"Below {100 * floors['servers']:g} % of servers", lambda item: _risk(item["below"]["servers"])),
        (f"Below {100 * floors['abt']:g} % of ABT", lambda item: _risk(item["below"]["abt"])),
        ("Visits", lambda item: f"{item['visits']:.3g}"),
        ("Swaps", lambda item: _counts(item["swaps"])),
        ("No spare for", lambda item: _counts(item["wanting"])),
        (
            f"Cost, {currency}",
            lambda item: f"{'at least ' if item['cost']['at_least'] else ''}{item['cost']['total']:,.0f}",
        ),
    ]
    for title, shown in rows:
        table.add_row(title, *(shown(policy) for policy in policies))
    console.print(table)
    throughput = document["throughput"]
    how = f"ABT of {throughput['computed']:,} of {throughput['states']:,} states computed"
    if throughput["interpolated"]:
        how += f", the others interpolated: off by {100 * throughput['error_mean']:.2g} % in the mean, {100 * throughput['error_max']:.2g} % at most"
    console.print(
        f"{document['title']}: {document['servers']:,} servers, {document['seeds']:,} lives; median and 5 to 95 %. {how}. "
        "Modelled; assumed rates: "
        + ", ".join(rate["part"] for rate in document["rates"] if rate["basis"] == "assumed")
        + ".",
        highlight=False,
        soft_wrap=True,
    )
    if throughput["interpolated"] and throughput["error_max"] > 0.1:
        errors.print("[yellow]Raise --exact-states for a closer ABT.[/yellow]", highlight=False)


def _band(curve: dict[str, Any]) -> str:
    low, median, high = (curve[name][-1] for name in ("p5", "median", "p95"))
    return f"{median:,.0f} ({low:,.0f} to {high:,.0f})"


def _counts(by: dict[str, float]) -> str:
    return ", ".join(f"{count:.3g} {unit}" for unit, count in by.items() if count) or "–"


def _risk(below: Json) -> str:
    month = below["months"]["median"]
    return f"{100 * below['probability']:.3g} %" + ("" if month is None else f", median month {month:g}")
