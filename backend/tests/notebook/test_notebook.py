"""The notebook interface for users: errors, files, pictures, Ctrl-C, and a start without the
server's packages."""

from __future__ import annotations

import ast
import builtins
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import cubeyard
from cubeyard.notebook import (
    CubeyardError,
    MissingPackageError,
    Plan,
    Topology,
    catalogs,
    families,
    formats,
    plan,
    predict,
    simulate,
    sweep,
)
from cubeyard.notebook.plans import merged
from cubeyard.notebook.progress import line
from cubeyard.notebook.session import family_documents
from tests.conftest import examples
from tests.processes import environment

SMALL = Topology.bcube(n=4, k=1)
LARGE = Topology.bcube(n=8, k=3)
ROOT = Path(__file__).resolve().parents[3]

MISTAKES: dict[str, tuple[Callable[[], object], str, object, str]] = {
    "parameter": (lambda: Topology.bcube(n=1, k=1), "topology.n", 1, "2"),
    "unknown parameter": (lambda: Topology("bcube", n=4, k=1, q=3), "topology.q", 3, "Remove it"),
    "family": (lambda: Topology("nope"), "topology.family", "nope", "bcube"),
    "no topology": (lambda: plan({}), "topology", None, "Add one"),
    "enclosure": (lambda: SMALL.plan(site={"enclosure": "x"}), "site.enclosure", "x", "container-40ft"),
    "price book": (lambda: SMALL.plan("nope"), "catalog", "nope", "current-2026"),
    "file": (lambda: plan("no-such-file.json"), "path", "no-such-file.json", "No such file"),
    "format": (lambda: SMALL.plan().export("nope"), "format", "nope", "xlsx"),
    "option of another format": (lambda: SMALL.plan().export("csv", paper="a4"), "paper", "a4", "no options"),
    "option's value": (lambda: SMALL.plan().export("pdf", paper="a3"), "paper", "a3", "letter"),
    "folder": (
        lambda: SMALL.plan().export("csv", "no-such-folder/x.csv"),
        "path",
        "no-such-folder/x.csv",
        "No such file",
    ),
    "workload": (lambda: predict(SMALL, "nope"), "workload.kind", "nope", "all-to-all"),
    "routing": (lambda: predict(SMALL, routing="nope"), "routing", "nope", "bsr"),
    "rate": (lambda: predict(SMALL, failures={"switches": 2}), "failures.switches", 2, "0 to 1"),
    "kind": (lambda: predict(SMALL, failures={"cats": 0.1}), "failures", "cats", "switches"),
    "selector": (lambda: predict(SMALL, failures="some cats"), "failures.0.target.selector", "some cats", "rack R03"),
    "fault": (
        lambda: predict(SMALL, failures=["link-rate=all links"]),
        "failures",
        "link-rate=all links",
        "link-rate:10M",
    ),
    "kind of fault": (
        lambda: predict(SMALL, failures="cable-eaten=00/<0,0>"),
        "failures",
        "cable-eaten=00/<0,0>",
        "link-rate",
    ),
    "seeds": (lambda: predict(SMALL, seeds=0), "seeds", 0, "1 to 1000"),
    "link rate": (lambda: predict(SMALL, link_gbps=-1), "link_gbps", -1, "more than 0"),
    "setting": (lambda: simulate(SMALL, mtu=3), "packet.mtu", 3, "mtu_bytes"),
    "faults of a sweep": (
        lambda: sweep(SMALL, failures=[{"links": [0, 0.1]}, "some cats"]),
        "failures.0.target.selector",
        "some cats",
        "rack R03",
    ),
    "rates of two axes": (
        lambda: sweep(SMALL, failures=[{"links": [0]}, {"links": [0.1]}]),
        "failures.links",
        [0.1],
        "Give one list",
    ),
    "a matrix without a matrix": (lambda: predict(SMALL, "matrix"), "workload", 0, "no flow"),
    "suffix of a picture": (lambda: SMALL.plan().floor.save("x.gif"), "path", "x.gif", "Name it x.png"),
    "folder of a picture": (lambda: SMALL.plan().floor.save("no/x.svg"), "path", "no/x.svg", "No such file"),
    "engine": (lambda: sweep(SMALL, engine="emulation"), "engine", "emulation", "flow"),
    "one topology of several": (
        lambda: sweep([SMALL, Topology.dcell(4, 1)], routing="bsr"),
        "routing",
        "bsr",
        "On DCell(4,1)",
    ),
    "points": (
        lambda: sweep(SMALL, failures={"links": [at / 100 for at in range(100)]}, seeds=1000),
        "failures",
        100_000,
        "20,000",
    ),
    "rates": (lambda: sweep(SMALL, failures={"links": [0.1, 0, 0.1]}), "failures.links", 0.1, "twice"),
    "nothing": (lambda: sweep([]), "what", [], "Give a topology"),
    "column": (lambda: SMALL.edges()["z"], "z", "z", "level"),
    "times that were not kept": (lambda: simulate(SMALL, bytes=1).flow_times(), "flow_times", None, "flow_times=True"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_names_the_field_the_value_and_what_to_do(name: str) -> None:
    call, field, value, message = MISTAKES[name]
    with pytest.raises(CubeyardError) as caught:
        call()
    error = caught.value
    assert (error.field, error.value) == (field, value)
    assert f"{field}: " in str(error)
    assert message in str(error)
    assert "body" not in str(error)
    assert error.__suppress_context__ or error.__context__ is None, "one error, not a chain of ours"


def test_an_unknown_family_is_an_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="bcube"):
        getattr(Topology, "nope")  # noqa: B009 - type checkers refuse it


def test_a_fix_repairs_the_plan() -> None:
    with pytest.raises(CubeyardError) as caught:
        plan({"topology": {"family": "bcube", "n": 1, "k": 1}})
    assert plan(merged({"topology": {"family": "bcube", "n": 1, "k": 1}}, caught.value.fix)).topology.spec["n"] == 2
    hot = Topology.bcube(n=8, k=3, servers=2048).plan()
    over = next(finding for finding in hot.findings if finding.fix)
    assert over.message not in [finding.message for finding in hot.repaired(over).findings]


@given(
    st.recursive(
        st.integers() | st.text(max_size=3) | st.none(),
        lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    )
)
@settings(max_examples=examples(25))
def test_a_merge_patch_of_nothing_changes_nothing_and_is_idempotent(patch: Any) -> None:
    document = {"a": {"b": 1}, "c": "x"}
    assert merged(document, {}) == document
    assert merged(merged(document, patch), patch) == merged(document, patch)


def test_a_plan_comes_back_from_its_spec_its_file_and_itself(tmp_path: Path) -> None:
    made = SMALL.plan("paper-2009", name="Lab", site={"paper": "letter"})
    saved = made.export("json", tmp_path)
    again = (plan(made.spec), plan(saved), plan(saved, name="Lab"), plan(made), made.changed())
    assert {item.plan_hash for item in again} == {made.plan_hash}
    answers = (predict(made, seeds=2), simulate(made, bytes=1), sweep(made, failures={"links": [0, 0.1]}))
    for answer in (made, made.topology, *answers, made.cables(), made.floor):
        assert repr(pickle.loads(pickle.dumps(answer))) == repr(answer)
    assert pickle.loads(pickle.dumps(answers[0])).document == answers[0].document
    assert pickle.loads(pickle.dumps(made)) == made
    assert Topology.from_file(saved) == Topology(made.spec) == made.topology
    assert made.changed(site={"paper": "a4"}).plan_hash != made.plan_hash
    book = next(catalog for catalog in catalogs() if catalog["book"] == "paper-2009")
    assert made.summary.book.title == book["title"]


def test_an_export_is_whole_or_not_there(tmp_path: Path) -> None:
    made = SMALL.plan(name="Lab")
    path = made.export("csv", tmp_path)
    assert path.name.startswith("Lab-")
    assert path.read_bytes() == made.exported("csv")

    def stop(_share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.export("xlsx", tmp_path / "late.xlsx", progress=stop)
    assert list(tmp_path.iterdir()) == [path]
    assert {item["name"] for item in formats()} >= {"csv", "pdf", "netbox"}


def test_pictures_are_documents_of_their_own(tmp_path: Path) -> None:
    made = SMALL.plan(name="<Lab & co>")
    result = sweep(SMALL, failures={"switches": [0, 0.25]}, seeds=2)
    for picture in (made.drawing, made.floor, *result.charts):
        root = ET.fromstring(picture.svg)
        assert root.tag.endswith("svg")
        assert picture.save(tmp_path / "x.svg").read_text() == picture.svg
        assert "data:image/svg+xml;base64," in picture.html()
        assert "var(" not in picture.svg  # other programs draw what it fills black
    for picture in (made.floor, result.chart()):
        assert picture.save(tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")
        drawn = Image.open(picture.save(tmp_path / "x.png")).convert("L")
        assert drawn.getpixel((1, 1)) == 255
        assert drawn.resize((1, 1)).getpixel((0, 0)) > 128  # type: ignore[operator]
    assert made.drawing.svg.encode() == made.exported("svg")
    assert len(result.charts) == 2
    for shown in (made, SMALL, result, predict(SMALL), simulate(SMALL, bytes=1), families(), made.cables()):
        html = getattr(shown, "_repr_html_")()  # noqa: B009 - the protocol's name is private
        assert "<Lab" not in html
        assert repr(shown).startswith("<")
    with pytest.raises(CubeyardError, match="failure"):
        sweep(SMALL).chart()


def test_a_table_has_slices_and_arrows_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = SMALL.edges()
    assert edges.head(2).to_dicts() == edges[:2].to_dicts() == edges.to_dicts()[:2]
    assert edges[::-1].row(0) == edges.row(len(edges) - 1)
    made = SMALL.plan()
    tables = (edges, made.cables(), made.racks(), made.devices(), made.bill_of_materials(), families(), formats())
    for table in tables:
        assert pa.table(table).to_pylist() == table.to_dicts()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert pl.DataFrame(edges).to_dicts() == edges.to_dicts()


def test_a_sweep_varies_lists_of_rates_and_keeps_other_failures() -> None:
    result = sweep(SMALL, failures=[{"links": [0, 0.25], "switches": 0.25}])
    assert [point["failure_ratio"] for point in result.points] == [0, 0.25]
    assert result.points[0]["result"]["failures"] == predict(SMALL, failures={"switches": 0.25}).document["failures"]


def test_type_checkers_see_every_familys_parameters() -> None:
    source = ast.parse((ROOT / "backend/cubeyard/notebook/constructors.py").read_text())
    options = next(
        node for node in ast.walk(source) if isinstance(node, ast.ClassDef) and node.name == "PredictOptions"
    )
    named = [
        str(item.target.id)
        for item in options.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]
    assert set(named) == {
        name for name, item in signature(predict).parameters.items() if item.kind is item.KEYWORD_ONLY
    }
    seen = {
        node.name: [arg.arg for arg in (*node.args.args[1:], *node.args.kwonlyargs)]
        for node in ast.walk(source)
        if isinstance(node, ast.FunctionDef)
    }
    assert seen == {
        family: [parameter["name"] for parameter in described["parameters"]]
        for family, described in family_documents().items()
    }


SCRIPT = """from cubeyard import Topology, predict, sweep
network: Topology = Topology.bcube(8, k=3, servers=2048)
built = network.plan("paper-2009", name="Paper container")
metres: float = built.summary.cable_metres
rows: list[dict[str, object]] = built.cables().to_dicts()
throughput: float | None = predict(built, failures={"switches": 0.1}).abt_gbps
points: list[object] = list(sweep(network, failures={"switches": [0, 0.1]}, seeds=5).points)
Topology.bcube(n="8", k=3)
Topology.nope(1)
network.predict(link_gbps="x")
"""
WRONG = {8, 9, 10}
"""Lines of the script."""


def _mistakes(checker: str, *options: str, at: Path, pattern: str) -> set[int]:
    command = [str(Path(sys.executable).with_name(checker)), *options, str(at)]
    variables = {**os.environ, "MYPYPATH": str(ROOT / "backend")}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, cwd=ROOT / "backend")
    return {int(line) for line in re.findall(pattern, done.stdout, re.MULTILINE)}


@pytest.mark.long
def test_type_checkers_find_the_mistakes_of_a_script_and_nothing_else(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    options = (
        f"--python-executable={sys.executable}",
        f"--cache-dir={tmp_path}",
        "--strict",
        "--follow-imports=silent",
    )
    assert _mistakes("mypy", *options, at=script, pattern=r"^.*script\.py:(\d+): error") == WRONG
    options = ("--pythonpath", sys.executable, "--level", "error")
    assert _mistakes("basedpyright", *options, at=script, pattern=r"script\.py:(\d+):\d+ - error") == WRONG


def test_ctrl_c_ends_a_computation_and_leaves_no_thread() -> None:
    before = set(threading.enumerate())
    reported = threading.Event()

    def interrupt(_share: float) -> None:
        if not reported.is_set():
            reported.set()
            os.kill(os.getpid(), signal.SIGINT)

    for work in (
        lambda: predict(LARGE, progress=interrupt),
        lambda: simulate(LARGE, bytes=10**8, progress=interrupt),
        lambda: sweep(LARGE, failures={"links": [0, 0.1]}, seeds=20, progress=interrupt),
    ):
        reported.clear()
        with pytest.raises(KeyboardInterrupt):
            work()
        assert set(threading.enumerate()) == before


def test_progress_is_one_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    shares: list[float] = []
    sweep(SMALL, seeds=3, progress=shares.append)
    assert shares == sorted(shares)
    assert shown.getvalue() == ""
    with line("Sweep", True) as reported:
        reported(0.5)
    assert "Sweep [###############...............] 50%" in shown.getvalue()
    assert shown.getvalue().rsplit("\r", 2)[1].strip() == ""
    with line("Sweep", None) as reported:  # output to a file shows no progress
        reported(1.0)
    assert shown.getvalue().count("Sweep") == 1


def test_missing_packages_are_named_with_what_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name in ("networkx", "pandas", "polars"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return usual(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    for call, extra in (
        (SMALL.to_networkx, "notebook"),
        (SMALL.edges().to_pandas, "notebook"),
        (SMALL.edges().to_polars, "polars"),
    ):
        with pytest.raises(MissingPackageError, match=rf"pip install 'cubeyard\[{extra}\]'"):
            call()
    assert SMALL.edges().frame() == SMALL.edges().to_dicts()


WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""
NOTEBOOK = """
import cubeyard
assert "cubeyard.notebook" not in sys.modules and "numpy" not in sys.modules
plan = cubeyard.Topology.bcube(n=4, k=1).plan()
plan.predict(), plan.simulate(bytes=1000), cubeyard.sweep(plan, failures={"links": [0.1]}).charts
plan.cables(), plan.exported("csv"), plan.exported("xlsx"), plan._repr_html_()
from cubeyard.cli.command import run
sys.argv = ["cubeyard", "--help"]
try:
    run()
except SystemExit as ended:
    assert ended.code == 0
sys.argv = ["cubeyard", "run"]
run()
"""


def test_it_works_without_the_servers_packages(tmp_path: Path) -> None:
    """`pip install cubeyard` installs the first list of pyproject.toml only."""
    project = tomllib.loads((ROOT / "backend/pyproject.toml").read_text())["project"]
    extras = [item for group in project["optional-dependencies"].values() for item in group]
    absent = {re.split(r"[\[>]", extra)[0].replace("-", "_") for extra in extras}
    assert {"networkx", "pandas", "polars", "fastapi", "sqlalchemy", "psycopg", "docker", "structlog"} <= absent
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(absent=absent) + NOTEBOOK], capture_output=True, text=True, cwd=tmp_path,
        env=environment(tmp_path / "home", DATABASE_URL="postgresql://nobody@127.0.0.1:9/nothing"), check=False,
    )  # fmt: skip
    assert " predict " in done.stdout, done.stderr
    assert " worker " not in done.stdout
    assert done.returncode == 1
    assert done.stderr.startswith("error: This command needs the package ")
    assert done.stderr.endswith("Run: pip install 'cubeyard[server]'\n")
    assert list(tmp_path.iterdir()) == []


def test_the_required_engine_has_this_version() -> None:
    project = tomllib.loads((ROOT / "backend/pyproject.toml").read_text())["project"]
    assert f"cubeyard-engine=={project['version']}" in project["dependencies"]
    assert project["version"] == cubeyard.__version__ == engine_version()


def engine_version() -> str:
    """The version in the engine's manifest."""
    return tomllib.loads((ROOT / "emulator/Cargo.toml").read_text())["workspace"]["package"]["version"]


def test_the_lazy_names_are_the_notebooks() -> None:
    import cubeyard.notebook

    assert all(getattr(cubeyard, name) is getattr(cubeyard.notebook, name) for name in cubeyard.__all__)
    assert set(cubeyard.__all__) <= set(dir(cubeyard))
    with pytest.raises(AttributeError, match="nothing"):
        _ = cubeyard.nothing
    assert isinstance(cubeyard.plan(json.loads(json.dumps(SMALL.spec))), Plan)
