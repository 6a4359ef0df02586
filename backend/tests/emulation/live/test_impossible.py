"""Faults that the kernel cannot inject are refused before anything starts, over REST and on the
command line, with field, reason and fix. The fabric is scripted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from cubeyard.cli.emulate import run_session
from cubeyard.cli.scenario import scenario_app
from cubeyard.emulation.fabric.place import Place
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings
from tests.emulation.live.test_services import API, fabric
from tests.emulation.scripted import Scripted

__all__ = ["fabric"]

Json = dict[str, Any]
REASON = "this kernel has no netem"
DELAY = {"kind": "link-delay", "delay_secs": 0.01, "target": {"names": ["00/<0,0>"]}, "at_secs": 1}
LOSS = {"kind": "link-loss", "loss_ratio": 0.1, "target": {"names": ["00/<0,0>"]}, "at_secs": 1}
SCHEDULE = {"kinds": ["link-loss", "link-delay"], "mean_interval_secs": 1, "count": 3, "until_secs": 5}
FIELD = "body.faults.1.kind"
SCENARIO = """scenario: 1
name: Delayed
plan:
  topology: {family: bcube, n: 2, k: 1}
workload: {kind: permutation}
settings:
  engine: emulation
  emulation: {mode: namespaces, seconds: 9}
faults:
  - {kind: link-loss, loss_ratio: 0.1, target: {names: ["00/<0,0>"]}, at_secs: 1}
  - {kind: link-delay, delay_secs: 0.01, target: {names: ["00/<0,0>"]}, at_secs: 1}
"""


def question(*faults: Json, **more: Any) -> Json:
    plan = {"family": "bcube", "n": 2, "k": 1}
    emulation = {"mode": "namespaces", "seconds": 9}
    return {
        "plan": plan, "workload": {"kind": "permutation"}, "engine": "emulation", "emulation": emulation,
        "faults": list(faults), **more,
    }  # fmt: skip


@pytest.fixture
def without_netem(fabric: Scripted) -> Scripted:
    fabric.probed = {"netem": False, "reasons": {"netem": REASON}}
    return fabric


@pytest.fixture
def command_line(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes commands use the fabric of the tests."""
    monkeypatch.setenv("CUBEYARD_FABRIC_DIR", str(Place.of(settings).folder))


def refusal(response: Any, field: str) -> None:
    assert response.status_code == 422, response.text
    (error,) = response.json()["errors"]
    assert error["field"] == field
    assert REASON in error["message"]
    assert "sch_netem" in error["hint"]


def test_an_experiment_is_refused_by_the_field_of_its_fault(client: TestClient, without_netem: Scripted) -> None:
    for address in ("experiments", "experiments/estimate"):
        refusal(client.post(f"{API}/{address}", json=question(LOSS, DELAY)), FIELD)
        scheduled = client.post(f"{API}/{address}", json=question(fault_schedules=[SCHEDULE]))
        refusal(scheduled, "body.fault_schedules.0.kinds.1")
        assert client.post(f"{API}/{address}", json=question(LOSS)).status_code < 300


def test_a_run_of_an_experiment_that_was_saved_before_is_refused(client: TestClient, fabric: Scripted) -> None:
    fabric.probed = {"netem": True}
    made = client.post(f"{API}/experiments", json=question(LOSS, DELAY))
    assert made.status_code == 201, made.text
    fabric.probed = {"netem": False, "reasons": {"netem": REASON}}
    runs = f"{API}/experiments/{made.json()['id']}/runs"
    refusal(client.post(runs), FIELD)
    fabric.probed = {"netem": True}
    assert client.post(runs).status_code == 202


def test_a_fault_of_a_run_under_way_is_refused(client: TestClient, without_netem: Scripted) -> None:
    made = client.post(f"{API}/experiments", json=question())
    run = client.post(f"{API}/experiments/{made.json()['id']}/runs").json()["id"]
    for address in ("faults", "faults/preview"):
        refusal(client.post(f"{API}/runs/{run}/{address}", json={**DELAY, "at_secs": 0}), "body.kind")
        assert client.post(f"{API}/runs/{run}/{address}", json={**LOSS, "at_secs": 0}).status_code < 300
    assert [fault["kind"] for fault in client.get(f"{API}/runs/{run}/faults").json()["items"]] == ["link-loss"]


def test_the_machine_names_the_kinds_that_it_lacks(client: TestClient, fabric: Scripted) -> None:
    for probed, kinds in (
        ({"netem": False, "reasons": {"netem": REASON}}, ["link-delay"]),
        ({"netem": True}, []),
    ):
        fabric.probed = probed
        missing = client.get(f"{API}/emulation").json()["missing_kinds"]
        assert [fault["kind"] for fault in missing] == kinds
        assert all(fault["reason"] == REASON and "sch_netem" in fault["fix"] for fault in missing)


def test_the_command_is_refused_before_the_start(command_line: None, without_netem: Scripted) -> None:
    with pytest.raises(ProblemError) as refused:
        run_session(question(LOSS, DELAY), lambda: False)
    (error,) = refused.value.errors
    assert (error.field, REASON in error.message) == (FIELD, True)
    assert {name for name, _ in without_netem.calls} == {"probe"}


def test_a_scenario_is_refused_by_its_line_and_checked_for_other_machines(
    command_line: None, without_netem: Scripted, tmp_path: Path
) -> None:
    file = tmp_path / "delayed.yaml"
    file.write_text(SCENARIO)
    done = CliRunner().invoke(scenario_app, ["run", str(file)])
    assert done.exit_code == 2, done.output
    line = next(number for number, text in enumerate(SCENARIO.splitlines(), 1) if "link-delay" in text)
    printed = " ".join(done.output.split())
    assert f"{file.name}:{line}" in printed
    assert REASON in printed
    assert CliRunner().invoke(scenario_app, ["check", str(file)]).exit_code == 0
