"""`cubeyard predict`: a plan's throughput, intact or with failures. No database."""

from __future__ import annotations

from typing import Annotated

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.common import (
    SpecOption,
    distinct_seeds,
    explained,
    print_seeds,
    progress,
    read_spec,
    refuse,
    settings_of,
    write,
)
from cubeyard.cli.faults import print_empty, read_fault
from cubeyard.cli.workload import WORKLOADS, read_workload
from cubeyard.engine import Engine, Json
from cubeyard.experiments.short import FAILURE_KINDS, MAX_SEED, selector_fault, share_fault, share_of


def predict(
    spec: SpecOption,
    workload: Annotated[
        str, typer.Option(help=f"{WORKLOADS}; or a workload as JSON, or the CSV file of a matrix.")
    ] = "all-to-all",
    routing: Annotated[str | None, typer.Option(help="Routing scheme; default: the paper's.")] = None,
    fail: Annotated[
        list[str] | None,
        typer.Option(
            help="Failures: servers=0.1, switches=0.1, links=0.1, racks=0.1, or words like '10% of level-1 switches' or 'rack R03'. Can be repeated."
        ),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            help="Faults, as `emulate` takes them: KIND=TARGET@FROM-UNTIL, like 'cable-pulled=00/<0,0>', "
            "'link-rate:10M=00/<0,0>' or 'link-loss:5%=10% of links'; or a fault as JSON. Can be repeated."
        ),
    ] = None,
    link_gbps: Annotated[float | None, typer.Option(help="The rate of every link, instead of the plan's.")] = None,
    seed: Annotated[
        list[int] | None, typer.Option(min=0, max=MAX_SEED, help="Seed of every random choice. Can be repeated.")
    ] = None,
    rates: Annotated[
        bool | None, typer.Option("--rates/--no-rates", help="Compute max-min fair rates, or skip them.")
    ] = None,
    flow_gigabits: Annotated[
        float | None, typer.Option(help="Size of each flow in gigabits; adds completion times.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the document as JSON.")] = False,
) -> None:
    """Predict a plan's throughput, load and paths, with or without failures."""
    with explained():
        experiment = {
            "workload": read_workload(workload),
            "routing": routing,
            "faults": [
                *(_fault(text) for text in fail or []),
                *(read_fault(text) for text in fault or []),
            ],
            "link_gbps": link_gbps,
            "seeds": distinct_seeds(seed or [7]),
            "max_min": rates,
            "flow_gigabits": flow_gigabits,
        }
        engine, network = Engine(settings_of()), read_spec(spec)
        with progress("Routing flows") as reported:
            document = engine.predict_json(network, experiment, reported)
        print_empty(engine, network, experiment["faults"], [*(fail or []), *(fault or [])], experiment["seeds"][0])
        if as_json:
            write(document + b"\n")
        else:
            _print_prediction(Console(), orjson.loads(document))


def _amount(gbps: float) -> str:
    """With enough decimals: the throughput of a slow network is not shown as 0.00."""
    return f"{gbps:,.2f}" if gbps == 0 or abs(gbps) >= 0.1 else f"{gbps:.3g}"


def _fault(text: str) -> Json:
    """One `--fail` option."""
    if "=" not in text:
        return selector_fault(text)
    if (share := share_of(text)) is None:
        refuse(f"--fail {text} is not valid. Give {', '.join(FAILURE_KINDS)} = a share from 0 to 1, like switches=0.1.")
    return share_fault(*share)


def _print_prediction(console: Console, document: Json) -> None:
    workload, failures, hops = document["workload"]["kind"], document["failures"], document["path_hops"]
    console.print(
        f"[bold]{escape(document['topology'])}[/bold], {workload}, routing {document['routing']}, seed {document['seed']}",
        highlight=False,
    )
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    table.add_column()
    table.add_row("Aggregate bottleneck throughput", _amount(document["abt_gbps"]), "Gb/s")
    table.add_row("Flows carried", f"{document['flows']:,}", "")
    dropped = document["dropped"]
    table.add_row(
        "Flows dropped",
        f"{document['dropped_flows']:,}",
        f"{dropped['end_failed']:,} with a failed end, {dropped['no_path']:,} without a path"
        if document["dropped_flows"]
        else "",
    )
    table.add_row("Flows on the fullest link", f"{document['max_link_flows']:,}", "")
    if hops["mean"] is not None:
        table.add_row("Path length", f"{hops['mean']:.3f}", f"{hops['unit']} on average, {hops['max']} at most")
    if any(failures[kind] for kind in ("servers", "switches", "links")):
        what = ", ".join(f"{failures[kind]:,} {kind}" for kind in ("servers", "switches", "links") if failures[kind])
        table.add_row("Failed", what, "")
    if failures["degraded_links"]:
        table.add_row("Carrying less", f"{failures['degraded_links']:,} links", "")
    if rates := document.get("maxmin"):
        table.add_row("Max-min fair rates", _amount(rates["total_gbps"]), "Gb/s in all")
        if rates["flows"]:
            table.add_row(
                "  of one flow",
                f"{rates['median_gbps']:.4g}",
                f"{rates['min_gbps']:.4g} to {rates['max_gbps']:.4g} Gb/s",
            )
    if (completion := document.get("completion")) and completion["flows"]:
        table.add_row(
            "Flows end", f"{completion['last_secs']:,.3f}", f"s; the first after {completion['first_secs']:,.3f} s"
        )
    console.print(table)
    levels = Table("Links of level", "", "least", "mean", "most", box=None, title_justify="left")
    for level, flows in document["link_flows_by_level"].items():
        values = ("least", flows["min"]), ("mean", flows["mean"]), ("most", flows["max"])
        cells = (
            "–" if value is None else f"{value:,.1f}" if name == "mean" else f"{value:,}" for name, value in values
        )
        levels.add_row(level, escape(flows["label"]), *cells)
    console.print()
    console.print("Flows on a directed link", style="dim")
    console.print(levels)
    fields = {"ABT, Gb/s": "abt_gbps", "Flows": "flows", "Dropped": "dropped_flows", "Fullest link": "max_link_flows"}
    print_seeds(console, document, fields)
