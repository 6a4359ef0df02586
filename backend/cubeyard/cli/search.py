"""`cubeyard search`: the cheapest plan that meets constraints, or the front between objectives. No
database."""

from __future__ import annotations

import re
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.common import distinct_seeds, errors, explained, progress, read_spec, refuse, settings_of, write
from cubeyard.engine import Engine, Json
from cubeyard.experiments.short import MAX_SEED, share_of
from cubeyard.plans.building import book_named
from cubeyard.plans.spec import DEFAULT_BOOK, book_of

CONSTRAINT = re.compile(r"\s*([a-z_]+)\s*(>=|<=|=)\s*(.+?)\s*")
LIMITS = {">=": ("at_least",), "<=": ("at_most",), "=": ("at_least", "at_most")}


def search(
    constraints: Annotated[
        list[str] | None,
        typer.Argument(help="Like 'servers>=1500', 'power<=450 kW', 'abt_degraded>=1 Tb/s'; see --metrics."),
    ] = None,
    minimise: Annotated[
        list[str] | None, typer.Option(help="A metric to make small; cost if no objective is given.")
    ] = None,
    maximise: Annotated[list[str] | None, typer.Option(help="A metric to make large. Both can be repeated.")] = None,
    fail: Annotated[
        str, typer.Option(help="Failures for the metrics after failures, like switches=0.1.")
    ] = "switches=0.1",
    seed: Annotated[
        list[int] | None,
        typer.Option(min=0, max=MAX_SEED, help="Seed of the failures; can be repeated, and the worst result counts."),
    ] = None,
    family: Annotated[list[str] | None, typer.Option(help="Try this family only; can be repeated.")] = None,
    most_servers: Annotated[
        int | None, typer.Option(help="The most servers of a plan; default: twice the least.")
    ] = None,
    evaluations: Annotated[int, typer.Option(help="The most candidates whose throughput is computed.")] = 300,
    plan: Annotated[
        str | None, typer.Option(help="Fields of all plans: a plan spec without topology, as JSON or a file.")
    ] = None,
    catalog: Annotated[str | None, typer.Option(help="A price book: a builtin one or a JSON file.")] = None,
    question: Annotated[
        str | None, typer.Option(help="The complete request as JSON or a file, instead of the options.")
    ] = None,
    metrics: Annotated[bool, typer.Option("--metrics", help="List the metrics of plans.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the document as JSON.")] = False,
) -> None:
    """Search for the best plans. Exits with 1 if no plan meets the constraints."""
    engine = Engine(settings_of())
    if metrics:
        _print_metrics(engine, as_json)
        return
    if question is not None:
        if constraints or plan is not None:
            refuse("--question has everything: give it alone.")
        request = read_spec(question)
    else:
        request = {
            "constraints": [_constraint(text) for text in constraints or []],
            "objectives": [{"metric": item, "goal": "minimise"} for item in minimise or ([] if maximise else ["cost"])]
            + [{"metric": item, "goal": "maximise"} for item in maximise or []],
            "failures": {**_failures(fail), "seeds": distinct_seeds(seed or [7])},
            "space": {
                **({} if family is None else {"families": family}),
                **({} if most_servers is None else {"most_servers": most_servers}),
            },
            "plan": {"site": {"enclosure": "container-40ft"}} if plan is None else read_spec(plan),
            "evaluations": evaluations,
        }
    with explained(), progress("Searching") as reported:

        def seen(frame: str) -> None:
            item = orjson.loads(frame)
            if item["kind"] == "progress":
                reported(item["done"], item["of"])

        base = request.get("plan") or {}
        book = book_named(engine, catalog or (book_of(base) if "catalog" in base else DEFAULT_BOOK))
        document = engine.search({**request, "plan": {**base, "catalog": book["book"]}}, book, seen)
    if as_json:
        write(orjson.dumps(document) + b"\n")
    else:
        _print(Console(), engine, document)
    if not document["front"]:
        raise typer.Exit(1)


def _constraint(text: str) -> Json:
    matched = CONSTRAINT.fullmatch(text)
    if matched is None:
        refuse(f"{text!r} is no constraint: write a metric, >=, <= or =, and a value, like 'power<=450 kW'.")
    metric, relation, value = matched.groups()
    return {"metric": metric, **dict.fromkeys(LIMITS[relation], value)}


def _failures(text: str) -> Json:
    share = share_of(text)
    if share is None or share[0] == "rack":
        refuse(f"{text!r} is no share of switches, servers or links: write one like switches=0.1.")
    return {"kind": share[0], "ratio": share[1]}


def _print_metrics(engine: Engine, as_json: bool) -> None:
    if as_json:
        write(orjson.dumps(engine.search_metrics) + b"\n")
        return
    table = Table("Metric", "Title", "Units", "What it says", box=None, pad_edge=False)
    for search_metric in engine.search_metrics:
        table.add_row(
            search_metric["name"],
            search_metric["title"],
            ", ".join(filter(None, search_metric["units"])),
            escape(search_metric["doc"]),
        )
    Console().print(table)


def _print(console: Console, engine: Engine, document: Json) -> None:
    shown: list[Json] = [search_metric for search_metric in engine.search_metrics if _is_shown(search_metric, document)]
    if document["front"]:
        table = Table(
            "Plan",
            *(_heading(search_metric, document["book"]["currency"]) for search_metric in shown),
            box=None,
            pad_edge=False,
        )
        for point in document["front"]:
            values = point["values"]
            table.add_row(
                escape(point["title"]), *(_value(values.get(search_metric["name"])) for search_metric in shown)
            )
        console.print(table)
    else:
        console.print("No plan meets the constraints.")
    for constraint in document["constraints"]:
        if constraint["left_out"] and not document["front"]:
            nearest = "" if constraint["nearest"] is None else f"; nearest: {constraint['nearest']:,.6g}"
            console.print(f"{constraint['metric']}: {constraint['left_out']:,} left out{nearest}", highlight=False)
    console.print(
        f"{document['candidates']:,} candidates, {document['priced']:,} priced, {document['feasible']:,} feasible; throughput "
        f"of {document['evaluated']:,} begun, {document['passed_over']:,} passed over by bounds. Modelled.",
        highlight=False,
        soft_wrap=True,
    )
    if not document["complete"]:
        errors.print(
            f"[yellow]{document['unexplored']:,} candidates were not examined: raise --evaluations.[/yellow]",
            highlight=False,
        )


def _is_shown(metric: Json, document: Json) -> bool:
    question: dict[str, Any] = document["question"]
    named = {constraint["metric"] for constraint in [*question["constraints"], *question["objectives"]]}
    return metric["name"] in named | {"servers", "cost"}


def _heading(metric: Json, currency: str) -> str:
    unit = currency if metric["unit"] == "money" else metric["unit"]
    return f"{metric['title']} ({unit})" if unit else metric["title"]


def _value(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
