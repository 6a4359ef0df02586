"""`cubeyard scenario`: exit status by the verdict, JUnit XML, and errors by line. No database."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from cubeyard.cli.scenario import scenario_app
from tests.experiments.test_scenarios import EXAMPLES

RUNNER = CliRunner()


def test_a_scenario_that_holds(tmp_path: Path) -> None:
    junit, results = tmp_path / "verdict.xml", tmp_path / "results.json"
    file = str(EXAMPLES / "switches-fail.yaml")
    done = RUNNER.invoke(scenario_app, ["run", file, "--junit", str(junit), "--json", str(results)])
    assert done.exit_code == 0, done.output
    assert "held" in done.output
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "0", "0")
    result = json.loads(results.read_text())
    assert [point["seed"] for point in result["points"]] == [1, 2, 3, 4, 5]
    least = min(point["result"]["abt_gbps"] for point in result["points"])
    shares = result["verdict"]["hypotheses"][1]
    healthy = RUNNER.invoke(scenario_app, ["run", "-"], input=Path(file).read_text().replace("ratio: 0.1", "ratio: 0"))
    assert healthy.exit_code == 4, "two of the hypotheses are shares of the baseline, and nothing fails"
    assert "No fault was injected" in healthy.output
    emptied = Path(file).read_text().partition("hypotheses:")[0]
    assert RUNNER.invoke(scenario_app, ["run", "-"], input=emptied).exit_code == 4, "it has no hypotheses"
    assert 0 < shares["worst"] < 1
    assert least > 0


def test_one_that_breaks_and_one_that_cannot_be_judged(tmp_path: Path) -> None:
    text = (EXAMPLES / "switches-fail.yaml").read_text()
    broken = RUNNER.invoke(scenario_app, ["run", "-"], input=text.replace("bound: 0.4", "bound: 0.99"))
    assert broken.exit_code == 1
    assert "ABT at least 99 % of baseline" in broken.output
    open_ended = text.replace("metric: stalled-flows, bound: 126", "metric: completion-secs, bound: 9")
    assert RUNNER.invoke(scenario_app, ["run", "-"], input=open_ended).exit_code == 3
    # With another engine, hypotheses that it cannot judge are inconclusive, and settings of other
    # engines are ignored.
    real = str(EXAMPLES / "cable-pulled.yaml")
    junit = tmp_path / "verdict.xml"
    incast = tmp_path / "incast.yaml"
    incast.write_text((EXAMPLES / "incast.yaml").read_text().replace("stalled-flows", "timeouts"))
    (tmp_path / "dcell.json").write_bytes((EXAMPLES / "dcell.json").read_bytes())
    other = RUNNER.invoke(scenario_app, ["run", str(incast), "--engine", "flow", "--junit", str(junit)])
    assert other.exit_code == 3, other.output
    assert ElementTree.parse(junit).getroot().get("skipped") == "1"
    assert RUNNER.invoke(scenario_app, ["check", real]).exit_code == 0


@pytest.mark.parametrize("name", ["incast", "background-faults"])
def test_the_packet_engine_answers_its_examples(name: str) -> None:
    done = RUNNER.invoke(scenario_app, ["run", str(EXAMPLES / f"{name}.yaml")])
    assert done.exit_code == 0, done.output


def test_random_faults_are_listed_before_they_are_injected(tmp_path: Path) -> None:
    file, results = str(EXAMPLES / "background-faults.yaml"), tmp_path / "results.json"
    listed = RUNNER.invoke(scenario_app, ["check", file]).stdout.splitlines()[:-1]
    assert len(listed) == 6
    again = RUNNER.invoke(scenario_app, ["run", file, "--json", str(results)])
    assert [line for line in again.stderr.splitlines() if " s, " in line] == listed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("ratio: 0.1", "ratio: 7"), "switches-fail.yaml:13: faults[0].target.ratio: "),
        (("kind: all-to-all", "kind: incast, destination: nobody"), "switches-fail.yaml:7: workload"),
        (("n: 4, k: 2", "n: 4, k: 99"), "switches-fail.yaml:6: plan.topology.k: "),
    ],
)
def test_a_file_that_is_not_valid_is_told_by_line(tmp_path: Path, change: tuple[str, str], told: str) -> None:
    file = tmp_path / "switches-fail.yaml"
    file.write_text((EXAMPLES / "switches-fail.yaml").read_text().replace(*change))
    for command in ("check", "run"):
        refused = RUNNER.invoke(scenario_app, [command, str(file)])
        assert refused.exit_code == 2, refused.output
        assert told in refused.stderr.replace("\n", "")


def test_bad_options_are_refused_before_anything_runs(tmp_path: Path) -> None:
    file = str(EXAMPLES / "switches-fail.yaml")
    for options in (["--engine", "magic"], ["--mode", "namespaces"], ["--junit", str(tmp_path / "no" / "x.xml")]):
        assert RUNNER.invoke(scenario_app, ["run", file, *options]).exit_code == 2
    assert RUNNER.invoke(scenario_app, ["run", str(tmp_path / "missing.yaml")]).exit_code == 2
    assert RUNNER.invoke(scenario_app, ["check", "-"], input="plan: {file: nothing.json}").exit_code == 2
