"""`cubeyard emulate`: a plan with real packets, from the command line. No database; nothing is left when it ends."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Annotated, Any

import orjson
import typer
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli_faults import NUMBER, read_amount, read_fault, read_json
from cubeyard.cli_place import command_place, quiet_logs, stoppable
from cubeyard.engine import Engine, Json
from cubeyard.settings import Settings

Explained = Callable[[], AbstractContextManager[None]]
Refuse = Callable[[str], None]

EXIT_INTERRUPTED = 130
HYPOTHESIS = re.compile(
    rf"^(?P<metric>[a-z-]+)\s*(?:>=|<=)\s*(?P<bound>{NUMBER})(?:\s+for\s+(?P<secs>{NUMBER})\s*s?)?$"
)
STYLES = {"faithful": "green", "emulator-limited": "yellow", "unknown": "yellow", "held": "green", "broken": "bold red"}


class StoppedError(Exception):
    """Somebody pressed Ctrl-C, or the process was told to end."""


def register(app: typer.Typer, read_spec: Callable[[str], Json], explained: Explained, refuse: Refuse) -> None:
    """Add the command to `cubeyard`."""

    @app.command()
    def emulate(
        spec: Annotated[
            str, typer.Option("--spec", help="A spec as JSON, a file that holds one, or - for standard input.")
        ],
        workload: Annotated[
            str,
            typer.Option(
                help="all-to-all, one-to-one, one-to-several, one-to-all, permutation, incast; or one as JSON."
            ),
        ] = "all-to-all",
        link_rate: Annotated[str, typer.Option(help="Of every link, like 100M or 1G.")] = "100M",
        seconds: Annotated[float, typer.Option(help="How long the workload is measured.")] = 30.0,
        fault: Annotated[
            list[str] | None,
            typer.Option(
                help="KIND=TARGET@FROM-UNTIL, like 'cable-pulled=00/<0,0>@10-20', 'link-rate:10M=00/<0,0>@10' or "
                "'server-killed=10% of servers@5'; or a fault as JSON. Can be repeated."
            ),
        ] = None,
        hypothesis: Annotated[
            str | None, typer.Option(help="Like 'goodput-share>=0.6 for 2s': broken for that long, the run is aborted.")
        ] = None,
        mode: Annotated[
            str, typer.Option(help="containers, or namespaces where there is no Docker engine.")
        ] = "containers",
        dataplane: Annotated[str, typer.Option(help="kernel (eBPF), or software.")] = "kernel",
        routing: Annotated[str | None, typer.Option(help="The scheme of the prediction beside it.")] = None,
        mtu: Annotated[
            int | None, typer.Option(help="Of the servers' ports, in bytes; by the links' rate if left out.")
        ] = None,
        settle: Annotated[float, typer.Option(help="Seconds sent before the measurement.")] = 3.0,
        calibrate: Annotated[
            float, typer.Option(help="Seconds that one pair is measured alone first; 0 for not.")
        ] = 2.0,
        connections: Annotated[int, typer.Option(help="TCP connections a flow is made of.")] = 1,
        delivery: Annotated[
            str,
            typer.Option(
                help="unicast; or complete-graph, spanning-trees, pipeline for one-to-several and one-to-all."
            ),
        ] = "unicast",
        within: Annotated[
            str | None, typer.Option("--slice", help="Only the BCube_1 around this server, of a larger plan.")
        ] = None,
        option: Annotated[
            list[str] | None,
            typer.Option("--set", help="Any further field of `emulation`, as NAME=JSON. Can be repeated."),
        ] = None,
        seed: Annotated[int, typer.Option(min=0, help="Seeds all that is drawn.")] = 7,
        as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    ) -> None:
        """Run a plan with real packets: containers, TCP, faults, and what came of it."""
        asked: Json = {
            "mode": mode, "dataplane": dataplane, "seconds": seconds, "settle_secs": settle, "calibrate_secs": calibrate,
            "mtu": mtu, "connections": connections, "delivery": delivery,
        }  # fmt: skip
        if within is not None:
            asked["slice"] = {"within": within}
        if hypothesis is not None:
            asked["hypothesis"] = _hypothesis(hypothesis, refuse)
        for text in option or []:
            name, _, value = text.partition("=")
            asked[name] = read_json(value, f"--set {name}", refuse)
        question: Json = {
            "plan": read_spec(spec),
            "workload": read_json(workload, "--workload", refuse) if workload.startswith("{") else {"kind": workload},
            "routing": routing,
            "faults": [read_fault(text, refuse) for text in fault or []],
            "engine": "emulation",
            "emulation": asked,
            "link_gbps": _rate(link_rate, refuse) / 1e9,
            "seeds": [seed],
        }
        with explained(), stoppable() as interrupted:
            try:
                document = _run(question, interrupted, refuse)
            except StoppedError:
                Console(stderr=True).print("Stopped; everything was removed.")
                raise typer.Exit(EXIT_INTERRUPTED) from None
        if as_json:
            sys.stdout.buffer.write(orjson.dumps(document) + b"\n")
            sys.stdout.buffer.flush()
        else:
            _print(Console(), document)
        if document["verdict"]["outcome"] == "broken":
            raise typer.Exit(1)


class _Sink:
    """Keeps the events; shows the phases while somebody watches."""

    def __init__(self, interrupted: Callable[[], bool]) -> None:
        self.events: list[Json] = []
        self._interrupted = interrupted
        self._console = Console(stderr=True) if sys.stderr.isatty() else None

    def frame(self, kind: str, payload: Json) -> None:
        if kind == "tick":
            self.events += payload.get("events", [])
        elif kind in ("fault", "stop-all"):
            self.events.append({**payload, "kind": payload.get("kind", kind), "of": kind})
        if self._console is not None and kind in ("phase", "fault", "stop-all"):
            shown = {name: value for name, value in payload.items() if value not in (None, [], "")}
            self._console.print(f"[dim]{kind}[/dim] {escape(str(shown))}", highlight=False, soft_wrap=True)

    def progress(self, share: float) -> None:
        _ = share

    def check(self) -> None:
        if self._interrupted():
            raise StoppedError

    def orders(self) -> list[Any]:
        return []

    def done(self, order: Any, outcome: Json) -> None:
        _ = order, outcome


def _run(question: Json, interrupted: Callable[[], bool], refuse: Refuse) -> Json:
    """The whole life of a session that belongs to this process alone."""
    from cubeyard.emulation.fabric_process import FabricProcess
    from cubeyard.emulation.question import read
    from cubeyard.emulation.reaper import reap_left_alone
    from cubeyard.emulation.session import Session
    from cubeyard.experiments.schemas import ExperimentCreate
    from cubeyard.kit.ids import new_id
    from cubeyard.plans.service import normal_spec

    settings = Settings()
    quiet_logs(settings)
    try:
        asked = ExperimentCreate.model_validate(question)
    except ValidationError as error:
        first = error.errors()[0]
        refuse(f"{'.'.join(str(part) for part in first['loc'] if not isinstance(part, type))}: {first['msg']}")
        raise AssertionError from error
    document = {**asked.model_dump(mode="json"), "plan": {"spec": normal_spec(question["plan"])}}
    engine = Engine(settings)
    ready = read(engine, document)
    reap_left_alone(settings)
    with command_place(settings) as place:
        fabric = FabricProcess(settings, place)
        run_id, sink = new_id(), _Sink(interrupted)
        try:
            if settings.fabric_start:
                fabric.ensure()
            report = Session(settings, place, run_id, ready, sink).run()
        finally:
            fabric.stop()
    return {"run": run_id, "plan": document["plan"], "engine_version": engine.version, **report, "events": sink.events}


def _rate(text: str, refuse: Refuse) -> float:
    """Bits per second of `100M`, `1G`, `250k`."""
    value = read_amount(text, "rate_bits_per_sec") or 0.0
    if value <= 0:
        refuse(f"--link-rate {text} is not a rate. Give bits per second, like 100M or 1G.")
    return value


def _hypothesis(text: str, refuse: Refuse) -> Json:
    if text.lstrip().startswith("{"):
        return read_json(text, "--hypothesis", refuse)
    found = HYPOTHESIS.match(text.strip())
    if found is None:
        refuse(
            f"--hypothesis {text} is not understood. Write METRIC>=BOUND for SECONDSs, like goodput-share>=0.6 for 2s."
        )
        raise AssertionError
    return {
        "metric": found["metric"],
        "bound": float(found["bound"]),
        **({"for_secs": float(found["secs"])} if found["secs"] else {}),
    }


def _print(console: Console, document: Json) -> None:
    fidelity, verdict = document["fidelity"], document["verdict"]
    console.print(
        f"[bold]{_mega(document['aggregate_goodput_bits_per_sec'])}[/bold] goodput of "
        f"{_mega(document['ideal_bits_per_sec'])} ideal",
        highlight=False,
    )
    console.print(
        f"[{STYLES[fidelity['verdict']]}]{fidelity['verdict']}[/]: {escape(fidelity['reason'])}", highlight=False
    )
    if verdict["outcome"] != "none":
        console.print(
            f"hypothesis [{STYLES[verdict['outcome']]}]{verdict['outcome']}[/]: {escape(verdict['sentence'])}"
        )
    table = Table("", "s", "goodput", "least", "ABT", "stalled flows", "CPU", box=None)
    for name, one in document["windows"].items():
        table.add_row(
            name,
            f"{one['secs']:g}",
            _mega(one["goodput_bits_per_sec"]),
            _mega(one["least_goodput_bits_per_sec"]),
            _mega(one["abt_bits_per_sec"]),
            f"{one['stalled_flows']}",
            f"{one['cpu']:.0%}",
        )
    console.print(table)
    for fault in document["faults"]:
        noticed = (
            "not noticed" if fault["detected_secs"] is None else f"noticed after {fault['detected_secs'] * 1e3:.0f} ms"
        )
        moved = (
            "" if fault["last_move_secs"] is None else f", flows moved within {fault['last_move_secs'] * 1e3:.0f} ms"
        )
        console.print(
            f"  {fault['injected_at_secs']:.1f} s  {fault['kind']} {escape(', '.join(fault['targets']))}: {noticed}{moved}",
            highlight=False,
        )


def _mega(bits_per_sec: float) -> str:
    return f"{bits_per_sec / 1e6:,.1f} Mb/s"
