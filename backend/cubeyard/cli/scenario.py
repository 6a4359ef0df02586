"""`cubeyard scenario`: saved scenarios, for git and CI. No server and no database, but for
`export`.

`cubeyard run` already serves the page and the API: scenarios are run by `cubeyard scenario run`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.markup import escape

from cubeyard.cli.common import (
    EXIT_IMPOSSIBLE,
    EXIT_INTERRUPTED,
    errors,
    explained,
    open_database,
    print_finding,
    progress,
    refuse,
    settings_of,
    write,
)
from cubeyard.cli.output import kept, save
from cubeyard.engine import Engine, Json, OnProgress
from cubeyard.experiments.scenario import reading
from cubeyard.experiments.scenario.reading import Read
from cubeyard.experiments.scenario.verdict import EXIT_STATUS, HypothesisVerdict, RunVerdict
from cubeyard.kit.errors import FieldError, ProblemError
from cubeyard.kit.json_text import loads

MAX_FILE_BYTES = 64 * 2**20
"""The path of a plan's file."""
MARKS = {
    "held": ("green", "held"),
    "broken": ("bold red", "broken"),
    "inconclusive": ("yellow", "inconclusive"),
    "not-tested": ("yellow", "not tested"),
}
ENGINES = {"flow": "flow", "packet": "packet", "emulation": "emulation", "emulated": "emulation"}
MODES = ("containers", "namespaces")

scenario_app = typer.Typer(
    help="Saved scenarios: plan, traffic, faults and hypotheses in one YAML file.", no_args_is_help=True
)
File = Annotated[str, typer.Argument(help="The scenario's YAML file, or - for standard input.", show_default=False)]
Out = Annotated[str, typer.Option("--output", "-o", help="The file to write, or - for standard output.")]


@scenario_app.command("run")
def run(
    file: File,
    engine: Annotated[
        str | None,
        typer.Option(help="flow, packet or emulation, instead of the file's. Settings of other engines are left out."),
    ] = None,
    mode: Annotated[
        str | None, typer.Option(help="For emulations: containers or namespaces, instead of the file's.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(help="Write JUnit XML here: each hypothesis is a test case.", show_default=False)
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the verdict and all results here, as JSON.", show_default=False)
    ] = None,
) -> None:
    """Run a scenario here and judge its hypotheses.

    Exit status: 0 all held, 1 one is broken, 2 the file or an option is not valid, 3 inconclusive:
    a hypothesis could not be judged, or this machine could not run it; 4 not tested: there are no
    hypotheses, or a fault did not happen; 130 interrupted.
    """
    for path, option in ((junit, "--junit"), (json_file, "--json")):
        if path is not None and not path.absolute().parent.is_dir():
            refuse(f"{option} {path} cannot be written: there is no folder {path.absolute().parent}. Make it first.")
    with told(file):
        source = _read(file)
        chosen, left_out = _override(source, engine, mode)
        began = time.monotonic()
        result, document = _answered(chosen, source)
    result = _with_left_out(result, left_out)
    name = chosen.scenario.name
    secs = time.monotonic() - began
    whole = {
        "scenario": name,
        "engine": chosen.request.engine,
        "verdict": result.model_dump(mode="json"),
        **document,
    }
    as_json = orjson.dumps(whole, option=orjson.OPT_APPEND_NEWLINE)
    with kept(f"cubeyard-scenario-{_file_name(name)}.json", lambda: as_json):
        if junit is not None:
            from cubeyard.experiments.scenario.junit import junit as as_junit

            properties = {"file": file, "engine": chosen.request.engine, "seeds": str(chosen.request.seeds)}
            save(junit, "--junit", as_junit(name, result, secs, properties))
        if json_file is not None:
            save(json_file, "--json", as_json)
        _print(Console(soft_wrap=True), name, chosen.request.engine, result)
    raise typer.Exit(EXIT_STATUS[result.outcome])


@scenario_app.command("check")
def check(file: File) -> None:
    """Check a scenario without running it: the file, its plan, names of devices, and the support of
    the engine."""
    with told(file):
        source = _read(file)
        with source.by_line():
            document = _document(source)
            engine = Engine(settings_of())
            flows = sum(outline["flows"] for outline in _outlines(engine, document, here=False))
        count = len(source.request.hypotheses)
    _print_drawn(Console(soft_wrap=True), document["faults"][len(source.request.faults) :])
    Console().print(
        f"{source.scenario.name}: valid; engine {source.request.engine}, {flows:,} flows, {count} hypotheses.",
        highlight=False,
        markup=False,
    )


@scenario_app.command("schema")
def schema(output: Out = "-") -> None:
    """Write the JSON schema of scenario files, for checks and completion in editors."""
    from cubeyard.experiments.scenario.model import schema as found

    _put(output, orjson.dumps(found(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


@scenario_app.command("export")
def export(
    id: Annotated[str, typer.Argument(help="The id of a run, or of a saved experiment.", show_default=False)],
    output: Out = "-",
) -> None:
    """Write a run's or a saved experiment's scenario, from the server's database."""
    from cubeyard.experiments.scenario.document import write as as_yaml
    from cubeyard.experiments.service import ExperimentService
    from cubeyard.runs.repository import RunRepository

    settings = settings_of()
    with explained(), open_database(settings) as database, database.session() as session:
        row = RunRepository(session).run(id)
        if row is not None and row.experiment_id is None:
            refuse(f"Run {id} computes figure {row.figure}: it has no experiment.")
        request = id if row is None else row.experiment_id or id
        result = ExperimentService(session, Engine(settings)).scenario(request)
    _put(output, as_yaml(result.document()).encode())


@contextmanager
def told(file: str) -> Iterator[None]:
    """Prints a file's errors with line, path, value, limit and fix, and exits with 2; exits with 3
    for a problem of this machine."""
    try:
        yield
    except ProblemError as error:
        for item in error.errors:
            _print_error(file, item)
        if not error.errors:
            for finding in error.findings:
                print_finding(errors, finding)
            if not error.findings:
                errors.print(f"[bold red]error:[/bold red] {escape(error.detail)}", highlight=False)
        raise typer.Exit(EXIT_STATUS["inconclusive"] if error.status >= 500 else EXIT_IMPOSSIBLE) from None


def _print_error(file: str, error: FieldError) -> None:
    where = f"{file}:{error.line}" if error.line is not None else file
    value = "" if error.value is None else f" The value is {orjson.dumps(error.value, default=str).decode()}."
    limit = "" if error.limit is None else f" It must be {error.limit}."
    hint = f" {error.hint}" if error.hint and not (error.limit and error.limit in error.hint) else ""
    message = error.message if error.message.endswith((".", "!", "?")) else f"{error.message}."
    errors.print(
        f"[bold red]error:[/bold red] {escape(f'{where}: {error.field}: {message}{value}{limit}{hint}')}",
        highlight=False,
    )


def _read(file: str) -> Read:
    """The scenario of a file. Paths of plans are relative to its folder."""
    import sys

    folder = Path.cwd() if file == "-" else Path(file).parent

    def read_plan(path: str) -> Json:
        whole = folder / path
        if whole.stat().st_size > MAX_FILE_BYTES:
            raise ValueError(f"it has more than {MAX_FILE_BYTES // 2**20} MiB")
        result = loads(whole.read_bytes())
        if not isinstance(result, dict):
            raise ValueError("it is JSON, but not an object")
        return result

    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        refuse(f"{file} cannot be read: {error.strerror or error}.")
    return reading.read(data, read_plan)


def _override(source: Read, engine: str | None, mode: str | None) -> tuple[Read, list[HypothesisVerdict]]:
    """The scenario with another engine or mode, and the hypotheses that this engine cannot
    answer."""
    from cubeyard.experiments.question import ExperimentCreate
    from cubeyard.experiments.scenario.verdict import inconclusive

    if engine is not None and engine not in ENGINES:
        refuse(f"--engine {engine} is not an engine. Give flow, packet or emulation.")
    if mode is not None and mode not in MODES:
        refuse(f"--mode {mode} is not a mode. Give {' or '.join(MODES)}.")
    body = source.scenario.body()
    name = source.request.engine if engine is None else ENGINES[engine]
    body["engine"] = name
    for settings in ("emulation", "packet"):
        if settings != name:
            body.pop(settings, None)
    if mode is not None:
        if name != "emulation":
            refuse(f"--mode {mode} has no effect on engine {name}. Leave it out, or add --engine emulation.")
        body["emulation"] = {**body.get("emulation", {}), "mode": mode}
    left_out = [hypothesis for hypothesis in source.request.hypotheses if name not in hypothesis.kind.engines]
    body["hypotheses"] = [
        hypothesis.model_dump(mode="json")
        for hypothesis in source.request.hypotheses
        if name in hypothesis.kind.engines
    ]
    request = reading.checked(source.source, ExperimentCreate, body)
    reason = f"Engine {name} does not answer this metric."
    return Read(source.scenario, request, source.source), [inconclusive(hypothesis, reason) for hypothesis in left_out]


def _with_left_out(judged: RunVerdict, left_out: list[HypothesisVerdict]) -> RunVerdict:
    from cubeyard.experiments.scenario.verdict import whole

    return whole([*judged.hypotheses, *left_out], judged.not_injected, judged.off_schedule)


def _document(source: Read) -> Json:
    """The experiments of a scenario, for the engines."""
    from cubeyard.experiments.fault_schedules import drawn
    from cubeyard.experiments.points import QUESTION_FIELDS

    body = source.request.model_dump(mode="json")
    document = {
        "plan": {"id": None, "revision": None, "spec": body["plan"]},
        **{field: body[field] for field in QUESTION_FIELDS if field in body},
        "seeds": body["seeds"],
        "axes": body["axes"],
    }
    with source.by_line():
        faults = drawn(Engine(settings_of()), body["plan"], document)
    return {**document, "faults": [*document["faults"], *faults], "drawn_faults": len(faults)}


def _outlines(engine: Engine, document: Json, *, here: bool) -> list[Json]:
    """Checks the experiment of each topology by its engine and, with `here`, by this machine."""
    from cubeyard.experiments.checks import outlines, refused_by_field
    from cubeyard.experiments.points import specs_of

    axes = (document["axes"] or {}).get("topologies") or []
    fields = [f"body.axes.topologies.{index}" for index in range(len(axes))] or ["body.plan"]
    titles = []
    for spec, field in zip(specs_of(document), fields, strict=True):
        with refused_by_field(f"{field}.topology"):
            engine.topology(spec.get("topology") or {})
        titles.append(str(spec["topology"]["family"]))
    if document["engine"] == "emulation":
        from cubeyard.emulation.live.service import Outliner

        outliner = Outliner(engine, settings_of())
        if here:
            outliner.refuse_impossible(document)
        return [outliner.outline(document)]
    return outlines(engine, document, titles)


def _answered(chosen: Read, source: Read) -> tuple[RunVerdict, Json]:
    """The verdict, and the results behind it."""
    document = _document(chosen)
    with source.by_line():
        engine = Engine(settings_of())
        _outlines(engine, document, here=True)
    _print_drawn(errors, document["faults"][len(chosen.request.faults) :])
    if document["engine"] == "emulation":
        return _emulated(chosen, document["faults"])
    with progress(f"Running {chosen.scenario.name}") as bar:
        return _computed(engine, chosen, document, bar)


def _computed(engine: Engine, chosen: Read, document: Json, bar: OnProgress | None) -> tuple[RunVerdict, Json]:
    """Point by point, and the network without faults if a share is relative to it."""
    from cubeyard.experiments.points import Point, count, points
    from cubeyard.experiments.scenario import verdict as verdicts

    results: list[Json] = []
    known: dict[tuple[int, int], Json] = {}
    total = count(document)

    def each() -> Iterator[tuple[Point, Json]]:
        for point in points(document):
            result = orjson.loads(engine.predict_json(point.spec, point.experiment))
            results.append({**point.described(), "result": result})
            if bar is not None:
                bar(len(results), total)
            yield point, result

    def baseline(point: Point) -> Json:
        key = (point.topology, point.seed)
        if key not in known:
            healthy = verdicts.without_faults(point)
            known[key] = orjson.loads(engine.predict_json(healthy.spec, healthy.experiment))
        return known[key]

    matches = verdicts.of_points(chosen.request.hypotheses, each(), baseline)
    return verdicts.whole(matches), {"engine_version": engine.version, "points": results}


def _emulated(chosen: Read, faults: list[Json]) -> tuple[RunVerdict, Json]:
    """With real packets, and everything removed at the end."""
    from cubeyard.cli.emulate import StoppedError, run_session
    from cubeyard.cli.place import stoppable
    from cubeyard.experiments.scenario import verdict as verdicts

    # The command's run has no schedules: their faults are drawn already.
    body: Any = {**chosen.request.model_dump(mode="json"), "faults": faults}
    body.pop("fault_schedules", None)
    with chosen.by_line(), stoppable() as interrupted:
        try:
            report = run_session(body, interrupted)
        except StoppedError:
            errors.print("Stopped; everything was removed.")
            raise typer.Exit(EXIT_INTERRUPTED) from None
    return verdicts.of_emulation(chosen.request.hypotheses, report), {
        "engine_version": report["engine_version"],
        "report": report,
    }


def _print(console: Console, name: str, engine: str, found: RunVerdict) -> None:
    style, title = MARKS[found.outcome]
    console.print(f"[bold]{escape(name)}[/bold], engine {engine}: [{style}]{title}[/]", highlight=False)
    for hypothesis in found.hypotheses:
        style, title = MARKS[hypothesis.outcome]
        console.print(
            f"  [{style}]{title}[/]: {escape(hypothesis.title)}. {escape(hypothesis.sentence)}", highlight=False
        )
    if not found.hypotheses:
        console.print("  It has no hypotheses.", style="dim")
    for missing in found.not_injected:
        console.print(f"  [yellow]missing[/]: {escape(missing)}", highlight=False)
    for fault in found.off_schedule:
        console.print(f"  [yellow]off schedule[/]: {escape(fault)}", highlight=False)


def _print_drawn(console: Console, faults: list[Json]) -> None:
    """The faults that schedules have drawn, before anything runs."""
    from cubeyard.experiments.fault_kinds import KINDS

    for fault in faults:
        until = "permanently" if fault["until_secs"] is None else f"until {fault['until_secs']:g} s"
        names = ", ".join(fault["target"]["names"])
        console.print(
            f"  {fault['at_secs']:g} s, {until}: {KINDS[fault['kind']].title}, {names}", highlight=False, markup=False
        )


def _file_name(name: str) -> str:
    return re.sub(r"\W", "-", name)[:60]


def _put(output: str, data: bytes) -> None:
    if output == "-":
        write(data)
    else:
        _save(Path(output), "--output", data)


def _save(path: Path, option: str, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        refuse(f"{option} cannot be written: {error.strerror or error}: {path}")
