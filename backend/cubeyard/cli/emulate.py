"""`cubeyard emulate`: a plan with real packets, from the command line. No database; nothing is left
when it ends."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from pydantic import ValidationError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cubeyard.cli.common import (
    EXIT_INTERRUPTED,
    SpecOption,
    explained,
    quiet_logs,
    read_json,
    read_spec,
    read_text,
    refuse,
    settings_of,
    write,
)
from cubeyard.cli.faults import read_fault
from cubeyard.cli.fitting import Taken
from cubeyard.cli.images import print_images, read_image
from cubeyard.cli.latency import add_latency
from cubeyard.cli.modules import print_answers, read_messages, read_services, send_messages
from cubeyard.cli.output import kept, save
from cubeyard.cli.place import clear_left_alone, command_place, stoppable
from cubeyard.cli.processes import ServiceFile, ServiceProcesses
from cubeyard.engine import Engine, Json
from cubeyard.experiments.hypotheses import METRICS
from cubeyard.experiments.scenario.verdict import (
    EXIT_STATUS,
    missing_in_words,
    off_schedule_in_words,
    unfinished_in_words,
)
from cubeyard.experiments.short import MAX_SEED
from cubeyard.reading.units import NoAmountError, Unit, amount, stated

HYPOTHESIS = re.compile(r"^(?P<metric>[a-z-]+)\s*(?:>=|<=)\s*(?P<bound>.+?)(?:\s+for\s+(?P<secs>.+))?$")
BOUNDS: dict[str, Unit] = {"bit/s": "bit/s", "s": "s", "of baseline": ""}
"""How to read a bound, by the unit of its metric; other units are plain numbers."""
WHOLE = ("none", "machine")
"""With other causes, a faithful measurement below the prediction is not shown in green."""
STYLES = {"faithful": "green", "host-limited": "yellow", "unknown": "yellow"}
OUTCOMES = {
    "held": ("green", "Hypothesis met"),
    "broken": ("bold red", "Hypothesis not met"),
    "inconclusive": ("yellow", "Inconclusive"),
    "not-tested": ("yellow", "Not tested"),
}


class StoppedError(Exception):
    """The process got a signal to end."""


def emulate(
    spec: SpecOption,
    workload: Annotated[
        str,
        typer.Option(
            help="all-to-all, one-to-one, one-to-several, one-to-all, permutation, incast, requests; or one as JSON."
        ),
    ] = "all-to-all",
    link_rate: Annotated[str, typer.Option(help="Rate of every link, like 100M or 1G.")] = "100M",
    seconds: Annotated[float, typer.Option(help="Seconds of measurement.")] = 30.0,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            help="KIND=TARGET@FROM-UNTIL, like 'cable-pulled=00/<0,0>@10-20', 'link-rate:10M=00/<0,0>@10' or "
            "'server-killed=10% of servers@5'; or a fault as JSON. Can be repeated."
        ),
    ] = None,
    hypothesis: Annotated[
        str | None, typer.Option(help="Like 'goodput-share>=0.6 for 2s': if it is not met for this time, the run ends.")
    ] = None,
    mode: Annotated[
        str, typer.Option(help="containers, or namespaces where there is no Docker engine.")
    ] = "containers",
    dataplane: Annotated[
        str,
        typer.Option(
            help="kernel (eBPF), software, or a chip's tables: serverswitch (eBPF; of a fat-tree of 4 ports the switches'), "
            "serverswitch-software."
        ),
    ] = "kernel",
    chip_program: Annotated[
        str | None,
        typer.Option(
            help="With a chip's dataplane: a file with the program that every server's chip runs. See `chip bcube`."
        ),
    ] = None,
    routing: Annotated[str | None, typer.Option(help="Routing scheme of the prediction.")] = None,
    mtu: Annotated[
        int | None, typer.Option(help="MTU of the servers' ports, in bytes; chosen by the link rate if left out.")
    ] = None,
    settle: Annotated[float, typer.Option(help="Seconds of traffic before the measurement.")] = 3.0,
    calibrate: Annotated[
        float, typer.Option(help="Seconds of the single-pair baseline before the workload; less than 0.3 skips it.")
    ] = 2.0,
    protocol: Annotated[
        str,
        typer.Option(help="tcp; udp; or mptcp where switches are routers: connections of several subflows, uncoupled."),
    ] = "tcp",
    subflows: Annotated[
        int | None,
        typer.Option(help="With mptcp: the most subflows of a connection; one for each pair of ports if left out."),
    ] = None,
    connections: Annotated[int, typer.Option(help="TCP or MPTCP connections per flow.")] = 1,
    delivery: Annotated[
        str,
        typer.Option(help="unicast; or complete-graph, spanning-trees, pipeline for one-to-several and one-to-all."),
    ] = "unicast",
    queues: Annotated[
        str, typer.Option(help="Queues at the ends of links: shared by all flows, or fair, with a queue for each flow.")
    ] = "shared",
    balance: Annotated[
        str,
        typer.Option(
            help="Where switches are routers: ecmp; wcmp to spread flows in proportion to link rates; lb, with Subways of types "
            "1 and 2, by the load that controllers measure; detour, the same and around hot racks through other racks' ToRs."
        ),
    ] = "ecmp",
    upgrade_to: Annotated[
        str | None,
        typer.Option(
            help="SPEC@SECONDS: a topology with more cables, with faster ports, or of type 2 after type 1, which the network becomes under traffic from that second on."
        ),
    ] = None,
    within: Annotated[
        str | None, typer.Option("--slice", help="Run only the BCube_1 around this server of a larger plan.")
    ] = None,
    service_file: Annotated[
        list[str] | None,
        typer.Option(
            "--service-file",
            help="A service of yours on every server of a torus: a WebAssembly or Python file, or NAME=FILE. Can be repeated.",
        ),
    ] = None,
    service_message: Annotated[
        list[str] | None,
        typer.Option(
            "--service-message",
            help="Message to each server's instance once packets flow, as NAME=TEXT; {key} is another key for each. Can be repeated.",
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(
            help="A program of yours in an image: a second container of servers, with their network. Not with namespaces."
        ),
    ] = None,
    image_command: Annotated[
        str | None,
        typer.Option(help="The command in each container, quoted as in a shell. Default: the image's command."),
    ] = None,
    image_env: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE for it, in addition to the image's. Can be repeated.")
    ] = None,
    image_servers: Annotated[str | None, typer.Option(help="Servers that get it, like 00,01; default: all.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any further field of `emulation`, as NAME=JSON. Can be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Seed of every random choice.")] = 7,
    fit: Annotated[
        bool,
        typer.Option("--fit", help="If the plan is too large, run a part of it, and print the part."),
    ] = False,
    servers: Annotated[
        int | None, typer.Option(min=2, max=1024, help="With --fit: the most servers of the part.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --fit: leave out settings that name devices outside, without a prompt.")
    ] = False,
    series: Annotated[
        Path | None,
        typer.Option(help="Also write goodput and ABT over time, in bits per second, to this file as CSV."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Run a plan with real packets: containers or namespaces, TCP, MPTCP or UDP, and faults. Prints
    the report.

    Exit status: 0 measured, and the hypothesis held, 1 it is broken, 2 a request that is not
    possible, 3 inconclusive, 4 not tested: a fault or a step of the upgrade did not happen, or no
    fault was planned for a hypothesis about the baseline; 130 interrupted: with --json, the report
    is of the time until then.
    """
    request: Json = {
        "mode": mode, "dataplane": dataplane, "seconds": seconds, "settle_secs": settle, "calibrate_secs": calibrate,
        "mtu": mtu, "connections": connections, "delivery": delivery, "queues": queues, "balance": balance,
        "protocol": protocol,
    }  # fmt: skip
    optional: Json = {
        "subflows": subflows,
        "upgrade": _upgrade(upgrade_to) if upgrade_to is not None else None,
        "slice": {"within": within} if within is not None else None,
    }
    request |= {name: value for name, value in optional.items() if value is not None}
    if chip_program is not None:
        request["chip_program"] = read_text(chip_program)
    if hypothesis is not None:
        request["hypothesis"] = _hypothesis(hypothesis)
    if images := read_image(image, image_command, image_env or [], image_servers):
        request["images"] = images
    for text in option or []:
        name, _, value = text.partition("=")
        request[name] = read_json(value, f"--set {name}")
    modules, files = read_services(service_file or [])
    if modules:
        request["services"] = modules
    messages = read_messages(
        service_message or [], [*(module["name"] for module in modules), *(file.name for file in files)]
    )
    question: Json = {
        "plan": read_spec(spec),
        "workload": read_json(workload, "--workload") if workload.startswith("{") else {"kind": workload},
        "routing": routing,
        "faults": [read_fault(text) for text in fault or []],
        "engine": "emulation",
        "emulation": request,
        "link_gbps": _rate(link_rate) / 1e9,
        "seeds": [seed],
    }
    taken = Taken(servers, yes=yes) if fit or servers is not None else None
    with explained(), stoppable() as interrupted:
        try:
            document = run_session(question, interrupted, messages, files, taken, partial=as_json)
        except StoppedError:
            Console(stderr=True).print("Stopped; everything was removed.")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    with kept(f"cubeyard-run-{document['run']}.json", lambda: orjson.dumps(document)):
        if series is not None:
            save(series, "--series", _as_csv(document["series"]))
        if as_json:
            write(orjson.dumps(document) + b"\n")
        else:
            print_report(Console(), document)
            print_answers(Console(), document["events"])
    if document.get("ended") == "stopped":
        print(f"Stopped after {document['total']['secs']:.1f} s; everything was removed.", file=sys.stderr)
        raise typer.Exit(EXIT_INTERRUPTED)
    raise typer.Exit(_exit_status(document))


def _as_csv(columns: Json) -> bytes:
    """A line with the names of the columns, then a line for each time."""
    rows = [columns.keys(), *zip(*columns.values(), strict=True)]
    return "".join(f"{','.join(map(str, row))}\n" for row in rows).encode()


def _exit_status(document: Json) -> int:
    """As in `scenario run`. A run without a hypothesis is judged by its faults alone, and with an
    upgrade only if the upgrade was finished."""
    outcome = document["verdict"]["outcome"]
    if outcome != "none":
        return EXIT_STATUS[outcome]
    if document["not_injected"] or unfinished_in_words(document.get("upgrade")):
        return EXIT_STATUS["not-tested"]
    wrong = {"lasted_secs", "overran_secs"}
    return EXIT_STATUS["inconclusive" if any(wrong & fault.keys() for fault in document["faults"]) else "held"]


def _upgrade(text: str) -> Json:
    """`--upgrade-to SPEC@SECONDS` as the experiment's field."""
    target, _, secs = text.rpartition("@")
    try:
        at_secs = amount(secs, "s") if target else None
    except NoAmountError:
        at_secs = None
    if at_secs is None:
        refuse('--upgrade-to is SPEC@SECONDS, for example \'{"family":"subways",...}@10\'.')
    return {"to": read_spec(target), "at_secs": at_secs}


class _Sink:
    """Keeps the events; prints phases and faults on a terminal."""

    def __init__(self, interrupted: Callable[[], bool], shell: str, *, partial: bool) -> None:
        """`shell` is a server and the command for a shell in it. With `partial`, a signal ends the
        measurement, and not the session."""
        self.events: list[Json] = []
        self.ended: Json = {}
        """The report's field, if a signal ended the measurement."""
        self._partial, self._measures = partial, False
        self.on_up: Callable[[], None] | None = None
        """Called once, when the servers are up."""
        self.on_flow: Callable[[], None] | None = None
        """Called once, when the measured workload begins."""
        self._shell = shell
        self._interrupted = interrupted
        self._console = Console(stderr=True) if sys.stderr.isatty() else None

    def frame(self, kind: str, payload: Json) -> None:
        if kind == "phase" and payload["phase"] == "up" and self.on_up is not None:
            self.on_up()
        if kind == "phase" and payload["phase"] == "measuring":
            self._measures = True
            if self.on_flow is not None:
                self.on_flow()
        if kind == "tick":
            self.events += payload.get("events", [])
        elif kind in ("fault", "stop-all", "upgrade"):
            self.events.append({**payload, "kind": payload.get("kind", kind), "of": kind})
        if self._console is not None and kind == "phase" and payload["phase"] == "up":
            self._console.print(f"[dim]A shell in server {escape(self._shell)}[/dim]", highlight=False, soft_wrap=True)
        if self._console is not None and kind in ("phase", "fault", "stop-all", "upgrade"):
            shown = {name: value for name, value in payload.items() if value not in (None, [], "")}
            self._console.print(f"[dim]{kind}[/dim] {escape(str(shown))}", highlight=False, soft_wrap=True)

    def progress(self, share: float) -> None:
        _ = share

    def check(self) -> None:
        if self._interrupted() and not (self._partial and self._measures):
            raise StoppedError

    def over(self) -> bool:
        if self._interrupted():
            self.ended = {"ended": "stopped"}
        return bool(self.ended)

    def orders(self) -> list[Any]:
        return []

    def done(self, order: Any, outcome: Json) -> None:
        _ = order, outcome


def run_session(
    question: Json,
    interrupted: Callable[[], bool],
    messages: Sequence[tuple[str, str]] = (),
    files: Sequence[ServiceFile] = (),
    taken: Taken | None = None,
    *,
    partial: bool = False,
) -> Json:
    """One session from start to end, in a place of this process's own, with services in processes
    next to its servers; with `taken`, of the part of the plan that this machine runs. Raises
    StoppedError, ProblemError; with `partial`, a session that is interrupted while it measures has
    a report."""
    from cubeyard.emulation.deploy.names import shell_command
    from cubeyard.emulation.deploy.probe import refuse_impossible
    from cubeyard.emulation.fabric.process import FabricProcess
    from cubeyard.emulation.faults.impossible import kinds_of
    from cubeyard.emulation.network.services import with_processes
    from cubeyard.emulation.session.session import Session
    from cubeyard.emulation.setup.question import read
    from cubeyard.experiments.question import ExperimentCreate
    from cubeyard.kit.ids import new_id
    from cubeyard.plans.spec import normal_spec

    settings = settings_of()
    quiet_logs(settings)
    try:
        request = ExperimentCreate.model_validate(question)
    except ValidationError as error:
        first = error.errors()[0]
        refuse(f"{'.'.join(str(part) for part in first['loc'] if not isinstance(part, type))}: {first['msg']}")
    document = {**request.model_dump(mode="json"), "plan": {"spec": normal_spec(question["plan"])}}
    engine = Engine(settings)
    if taken is not None:
        document = taken.of(engine, document)
    ready = read(engine, document)
    refuse_impossible(settings, kinds_of(document))
    if files:
        if settings.spread:
            refuse(
                f"{files[0].path} runs in processes on this machine, and servers run on others: write it as a module."
            )
        ready = replace(ready, network=with_processes(ready.network, [(file.name, file.id) for file in files]))
    clear_left_alone(settings)
    with command_place(settings) as place:
        fabric = FabricProcess(settings, place)
        run_id = new_id()
        server, name = next(iter(ready.network.servers.items()))
        sink = _Sink(
            interrupted,
            f"{name}: {shell_command(run_id, server, name, ready.settings.mode, settings.cluster)}",
            partial=partial,
        )
        processes = ServiceProcesses(place, run_id, list(ready.network.servers), files)

        def on_flow() -> None:
            processes.wait()
            if messages:
                send_messages(place.socket, run_id, ready.network, messages, seed=ready.seed)

        sink.on_up, sink.on_flow = processes.begin, on_flow
        try:
            if settings.fabric_start:
                fabric.ensure()
            report = Session(settings, place, run_id, ready, sink).run()
        finally:
            processes.end()
            fabric.stop()
    events = sorted(sink.events, key=lambda event: event["at_secs"])
    return {
        "run": run_id,
        "plan": document["plan"],
        "engine_version": engine.version,
        **report,
        **sink.ended,
        "events": events,
    }


def _rate(text: str) -> float:
    """Bits per second of `100M`, `1G`, `250k`."""
    try:
        value = stated(text, "bit/s")
    except NoAmountError as error:
        refuse(f"--link-rate {text} is not a rate: {error}")
    if value <= 0:
        refuse(f"--link-rate {text} is not more than 0. Give bits per second, like 100M or 1G.")
    return value


def _hypothesis(text: str) -> Json:
    if text.lstrip().startswith("{"):
        return read_json(text, "--hypothesis")
    matched = HYPOTHESIS.match(text.strip())
    metric = METRICS.get(matched["metric"]) if matched else None
    if matched is None or metric is None:
        refuse(
            f"--hypothesis {text} is not valid. Write METRIC>=BOUND for SECONDSs, like goodput-share>=0.6 for 2s, with one "
            f"of {', '.join(METRICS)}."
        )
    try:
        unit = BOUNDS.get(metric.unit)
        bound = float(matched["bound"]) if unit is None else stated(matched["bound"], unit)
        secs = {"for_secs": amount(matched["secs"], "s")} if matched["secs"] else {}
    except ValueError as error:
        refuse(f"--hypothesis {text} is not valid: {error}")
    return {"metric": matched["metric"], "bound": bound, **secs}


def print_report(console: Console, document: Json) -> None:
    fidelity, verdict = document["fidelity"], document["verdict"]
    console.print(
        f"[bold]{_mega(document['aggregate_goodput_bits_per_sec'])}[/bold] goodput of "
        f"{_mega(document['ideal_bits_per_sec'] * document['header_efficiency'])} ideal without headers",
        highlight=False,
    )
    style = STYLES[fidelity["verdict"]] if fidelity["cause"] in WHOLE else "yellow"
    console.print(f"[{style}]{fidelity['verdict']}[/]: {escape(fidelity['reason'])}", highlight=False)
    if verdict["outcome"] == "none":
        # The sentence of a hypothesis names them.
        for fault in document["not_injected"]:
            console.print(f"[yellow]missing[/]: {escape(missing_in_words(fault))}", highlight=False)
        for sentence in off_schedule_in_words(document["faults"]):
            console.print(f"[yellow]off schedule[/]: {escape(sentence)}", highlight=False)
    else:
        style, title = OUTCOMES[verdict["outcome"]]
        console.print(f"[{style}]{title}[/]: {escape(verdict['sentence'])}")
    table = Table("", "s", "goodput", "least", "ABT", "stalled flows", "CPU", box=None)
    for name, window in document["windows"].items():
        table.add_row(
            name,
            f"{window['secs']:g}",
            _mega(window["goodput_bits_per_sec"]),
            _mega(window["least_goodput_bits_per_sec"]),
            _mega(window["abt_bits_per_sec"]),
            f"{window['stalled_flows']}",
            f"{window['cpu']:.0%}",
        )
    console.print(table)
    if upgrade := document.get("upgrade"):
        if unfinished := unfinished_in_words(upgrade):
            console.print(f"[yellow]missing[/]: {unfinished}", highlight=False)
        console.print(
            f"  upgrade {escape(upgrade['title'])}: {upgrade['steps_done']} of {upgrade['steps']} steps, "
            f"{upgrade['connections_lost']} connections lost",
            highlight=False,
        )
    if (reported := document.get("latency_secs")) is not None:
        latencies = Table(box=None, show_header=False)
        add_latency(latencies, reported)
        console.print(latencies)
    print_images(console, document.get("images", []))
    for fault in document["faults"]:
        noticed = (
            ("it was down already" if fault.get("already_down") else "not detected")
            if fault["detected_secs"] is None
            else f"detected after {fault['detected_secs'] * 1e3:.0f} ms"
        )
        moved = (
            "" if fault["last_move_secs"] is None else f", flows moved within {fault['last_move_secs'] * 1e3:.0f} ms"
        )
        console.print(
            f"  {fault['injected_at_secs']:.1f} s  {fault['kind']} {escape(', '.join(fault['targets']))}: {noticed}{moved}",
            highlight=False,
        )


def _mega(bits_per_sec: float | None) -> str:
    return "–" if bits_per_sec is None else f"{bits_per_sec / 1e6:,.1f} Mb/s"
