"""`cubeyard simulate`: a workload packet by packet, with queues and TCP. No database."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

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
    size,
    write,
)
from cubeyard.cli.faults import print_empty, read_fault
from cubeyard.cli.latency import add_latency
from cubeyard.cli.workload import WORKLOADS, read_workload
from cubeyard.engine import Engine, Json
from cubeyard.experiments.flow_times import as_csv, as_parquet
from cubeyard.experiments.short import MAX_SEED
from cubeyard.kit.json_text import loads
from cubeyard.kit.whole_file import whole_file


def simulate(
    spec: SpecOption,
    workload: Annotated[
        str,
        typer.Option(
            help=f"{WORKLOADS}; or a workload as JSON, with `bytes`; or a CSV, XLSX or Parquet file: "
            "source,destination,bytes,start_secs for flows, source,destination,weight for a matrix."
        ),
    ] = "permutation",
    bytes_: Annotated[
        int | None,
        typer.Option(
            "--bytes",
            parser=size,
            metavar="SIZE",
            help="The size of each flow, like 64kB or 1MiB; 1,000,000 by default.",
        ),
    ] = None,
    routing: Annotated[str | None, typer.Option(help="Routing scheme; default: the paper's.")] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            help="Faults with their times, as `emulate` takes them: KIND=TARGET@FROM-UNTIL, like 'down=00/<0,0>@0.1-0.5', "
            "'switch-silent=1 level-0 switch@0.1' or 'link-loss:1%=10% of links'; or a fault as JSON. Can be repeated."
        ),
    ] = None,
    link_gbps: Annotated[float | None, typer.Option(help="The rate of every link, instead of the plan's.")] = None,
    seed: Annotated[
        list[int] | None, typer.Option(min=0, max=MAX_SEED, help="Seed of every random choice. Can be repeated.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A setting, like rto_min_secs=0.001, recovery=sack, congestion=cubic, subflows=8, coupling=lia, "
            "transport=udp, mtu_bytes=9000, queue_bytes=37500, congestion_notices=qcn or path_hash=addresses. Can be repeated.",
        ),
    ] = None,
    flows: Annotated[
        Path | None,
        typer.Option(
            "--flows",
            help="Write each flow's times to this file, .csv or .parquet. A CSV file has the completed flows while the "
            "simulation runs; more than 20,000 are in the order in which they end.",
        ),
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Print packet-hops and memory as JSON instead of running.")
    ] = False,
    timing: Annotated[bool, typer.Option("--timing", help="Add packet_hops_per_cpu_sec of this run.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the document as JSON.")] = False,
) -> None:
    """Simulate a workload packet by packet: completion times, drops, timeouts and queues."""
    with explained():
        settings = _settings(setting or [])
        if flows is not None:
            if flows.suffix not in {".csv", ".parquet"}:
                refuse(f"--flows {flows} is not valid. Give a name that ends in .csv or .parquet.")
            settings["flow_times"] = True
        experiment = {
            "engine": "packet",
            "workload": _with_bytes(read_workload(workload), bytes_),
            "routing": routing,
            "faults": [read_fault(text) for text in fault or []],
            "link_gbps": link_gbps,
            "seeds": distinct_seeds(seed or [7]),
            "packet": settings,
        }
        engine = Engine(settings_of())
        read = read_spec(spec)
        if estimate:
            write(engine.outline_json(read, experiment) + b"\n")
            return
        began = time.process_time()
        with progress("Simulating packets") as reported:
            document: Json = orjson.loads(engine.predict_json(read, experiment, reported, growing(flows)))
        print_empty(engine, read, experiment["faults"], fault or [], experiment["seeds"][0])
        if timing:
            runs = document.get("by_seed") or [document]
            hops = sum(run["packet_hops"] for run in runs)
            document["packet_hops_per_cpu_sec"] = round(hops / max(time.process_time() - began, 1e-9))
        if flows is not None:
            _write_flows(flows, document.pop("flow_times"))
        if as_json:
            write(orjson.dumps(document) + b"\n")
        else:
            _print_simulation(Console(), document)


def _settings(texts: list[str]) -> Json:
    """The `--set` options. A value that is valid JSON is read as JSON, any other as a word."""
    result: Json = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            refuse(f"--set {text} is not valid. Give NAME=VALUE, like rto_min_secs=0.001.")
        result[name.strip()] = _value(value.strip())
    return result


def _value(text: str) -> Any:
    try:
        return loads(text)
    except ValueError:
        return text


def _with_bytes(workload: Json | str, size: int | None) -> Json:
    named = {"kind": workload} if isinstance(workload, str) else workload
    if size is not None and named.get("kind") == "listed":
        refuse("--bytes has no effect on flows from a file, where each flow has a size. Leave it out.")
    if size is not None and named.get("kind") == "requests":
        refuse("--bytes has no effect on requests: give request_bytes and response_bytes in --workload.")
    return named if size is None else {**named, "bytes": size}


def growing(flows: Path | None) -> Callable[[str], None] | None:
    """Writes the completed flows, each time the engine reports some. A Parquet file cannot be
    read before its end."""
    if flows is None or flows.suffix != ".csv":
        return None

    def show(frame: str) -> None:
        document = orjson.loads(frame)
        if (columns := document.get("flow_times")) is None:
            return
        if document["kind"] == "flows" and document["part"] > 0:
            _append_flows(flows, columns)
        else:
            _write_flows(flows, columns)

    return show


def _append_flows(path: Path, columns: Json) -> None:
    """Adds lines to those of flows that ended before."""
    _, *lines = as_csv([({}, columns)])
    try:
        with path.open("ab") as file:
            file.writelines(lines)
    except OSError as error:
        refuse(f"--flows cannot be written: {error.strerror or error}: {path}")


def _write_flows(path: Path, columns: Json) -> None:
    """A reader sees the former file or this one, never a part of it."""
    tables = [({}, columns)]
    content = as_parquet(tables) if path.suffix == ".parquet" else b"".join(as_csv(tables))
    try:
        with whole_file(path) as file:
            file.write(content)
    except OSError as error:
        refuse(f"--flows cannot be written: {error.strerror or error}: {path}")


def _print_simulation(console: Console, document: Json) -> None:
    workload, times, sizes = document["workload"]["kind"], document["completion_secs"], document["bytes"]
    console.print(
        f"[bold]{escape(document['topology'])}[/bold], {workload}, routing {document['routing']}, seed {document['seed']}",
        highlight=False,
    )
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    table.add_column()
    table.add_row("Flows", f"{document['flows']:,}", f"{times['unfinished']:,} not complete at the end")
    if document["dropped_flows"]:
        table.add_row("Flows without a path", f"{document['dropped_flows']:,}", "")
    for name, title in (("median", "Completion time, median"), ("p99", "  99th percentile"), ("max", "  longest")):
        if times[name] is not None:
            table.add_row(title, f"{times[name]:.6g}", "s")
    if document.get("latency_secs") is not None:
        add_latency(table, document["latency_secs"])
    if document["goodput_gbps"] is not None:
        table.add_row("Goodput of all flows", f"{document['goodput_gbps']:,.4g}", "Gb/s")
    table.add_row("Bytes sent", f"{sizes['sent']:,}", f"{sizes['received']:,} received, {sizes['dropped']:,} dropped")
    table.add_row("Packets dropped", f"{document['drops']:,}", f"{document['retransmits']:,} sent again")
    table.add_row("Timeouts", f"{document['timeouts']:,}", "")
    if "notices" in document:
        table.add_row("Congestion notices", f"{document['notices']:,}", "")
    if "controllers" in document:
        done = document["controllers"]
        table.add_row("Routes moved by controllers", f"{done['moves']:,}", f"in {done['rounds']:,} rounds")
    table.add_row("Packet-hops", f"{document['packet_hops']:,}", f"{document['simulated_secs']:.6g} s simulated")
    if "packet_hops_per_cpu_sec" in document:
        table.add_row("  per CPU second", f"{document['packet_hops_per_cpu_sec']:,}", "")
    console.print(table)
    fields = {"Flows": "flows", "Goodput, Gb/s": "goodput_gbps", "Drops": "drops", "Timeouts": "timeouts"}
    print_seeds(console, document, fields)
    choices = {
        name: value for name, value in document["choices"].items() if name != "assumptions" and value is not None
    }
    console.print()
    console.print(escape(", ".join(f"{name} {value}" for name, value in choices.items())), style="dim")
