"""Workers as jobs of a real Slurm, by `deploy/slurm/workers.sbatch` as it is: arrays share sweeps;
cancelled, timed out and killed jobs lose no point; nothing stays."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cubeyard.settings import Settings
from tests.cluster.machines import wait
from tests.cluster.slurm import NODES, Slurm, a_slurm, missing, workers_of
from tests.processes import Server

Json = dict[str, Any]
LEASE_SECS = 30
"""The default lease of jobs: anything that ends sooner did not wait for the lease."""
RATIOS = (0, 0.05, 0.1, 0.15)

pytestmark = pytest.mark.skipif(missing() is not None, reason=f"without Slurm: {missing()}")


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    with a_slurm() as result:
        yield result


@pytest.fixture
def api(settings: Settings, tmp_path: Path) -> Iterator[Server]:
    """A server started with `cubeyard run --no-worker`."""
    with Server(tmp_path / "api", "--no-worker", DATABASE_URL=str(settings.database_url)) as server:
        yield server


def start(api: Server, points: int) -> str:
    """Starts a run of `points` points of about ten milliseconds each, which workers share from the
    first point on."""
    body = {
        "plan": {"family": "bcube", "n": 6, "k": 2}, "workload": {"kind": "all-to-all"},
        "axes": {"failure": {"kind": "switch", "ratios": RATIOS}, "seeds": points // len(RATIOS)},
    }  # fmt: skip
    status, made = api.call("POST", "/api/v1/experiments", body)
    assert status == 201, made
    status, run = api.call("POST", f"/api/v1/experiments/{made['id']}/runs")
    assert status == 202, run
    return str(run["id"])


def seen(api: Server, run: str) -> Json:
    return dict(api.call("GET", f"/api/v1/runs/{run}")[1])


def ended(slurm: Slurm, api: Server, run: str, points: int, secs: float) -> None:
    """Waits until the run has succeeded."""
    under_way = {"queued", "running"}
    wait(lambda: seen(api, run)["state"] not in under_way, "the run does not end", slurm.story, secs)
    row = seen(api, run)
    assert (row["state"], row["points_done"]) == ("succeeded", points), row


def written_once(settings: Settings, run: str, points: int) -> None:
    reported = "SELECT count(point), count(DISTINCT point), max(seq) - count(*) FROM run_frames WHERE run_id = %s"
    with psycopg.connect(str(settings.database_url).replace("+psycopg", "")) as connection:
        assert connection.execute(reported, (run,)).fetchone() == (points, points, 0)


def holders(settings: Settings) -> int:
    """How many workers hold points."""
    with psycopg.connect(str(settings.database_url).replace("+psycopg", "")) as connection:
        (count,) = connection.execute("SELECT count(holder) FROM run_chunks").fetchone() or (0,)
    return int(count)


def over(slurm: Slurm, array: str, secs: float = 45) -> list[str]:
    """The states of the array's jobs, after all have ended."""
    under_way = {"PENDING", "RUNNING", "COMPLETING", "CONFIGURING"}
    wait(lambda: not under_way & set(slurm.states(array)), "jobs do not end", slurm.story, secs)
    return slurm.states(array)


def nothing_left(slurm: Slurm, array: str) -> None:
    wait(lambda: not workers_of(array), "a worker is left", lambda: str(workers_of(array)), secs=10)
    assert list(slurm.scratch.iterdir()) == []


def test_an_array_of_jobs_shares_a_sweep_and_ends_by_itself(slurm: Slurm, api: Server, settings: Settings) -> None:
    points = 800
    run = start(api, points)
    array = slurm.submit(str(settings.database_url))
    ended(slurm, api, run, points, 120)
    written_once(settings, run, points)
    assert over(slurm, array) == ["COMPLETED"] * 4
    assert {job.node for job in slurm.jobs(array)} == set(NODES)
    shares = [slurm.points(job.id) for job in slurm.jobs(array)]
    assert sum(shares) == points, shares
    assert sum(share > 0 for share in shares) > 1, shares
    nothing_left(slurm, array)


def handed_on(slurm: Slurm, job: str) -> bool:
    """Whether its worker logged that it returned its points."""
    return any(event["event"] == "run_over" and event["given_back"] for event in slurm.events(job))


def test_a_job_that_is_cancelled_or_reaches_its_time_limit_hands_its_points_on_at_once(
    slurm: Slurm, api: Server, settings: Settings
) -> None:
    """A job with `--signal=B:TERM@60` and a time limit of a minute: the worker gets the signal at
    Slurm's next check, which is every half minute."""
    points = 800
    runs = [start(api, points)]
    array = slurm.submit(str(settings.database_url), "--array=1-3")
    wait(lambda: holders(settings) == 3, "not all three are at it", slurm.story)
    slurm.call("scontrol", "update", f"JobId={array}_3", "TimeLimit=1")
    slurm.call("scancel", f"{array}_1")
    began = time.monotonic()
    wait(lambda: slurm.states(array)[0] == "CANCELLED", "it is not cancelled", slurm.story, secs=20)
    wait(lambda: handed_on(slurm, f"{array}_1"), "it gives nothing back", slurm.story, secs=5)
    assert time.monotonic() - began < LEASE_SECS

    def timed_out() -> bool:
        if seen(api, runs[-1])["points_done"] > points / 2:
            runs.append(start(api, points))  # so that there is something to hand on
        return slurm.states(array)[2] == "COMPLETED"

    wait(timed_out, "it does not reach its time limit", slurm.story, secs=60)
    assert handed_on(slurm, f"{array}_3"), slurm.story()
    assert seen(api, runs[-1])["state"] != "succeeded"
    for run in runs:
        ended(slurm, api, run, points, 120)
        written_once(settings, run, points)
    assert over(slurm, array) == ["CANCELLED", "COMPLETED", "COMPLETED"]
    nothing_left(slurm, array)


def test_what_a_killed_worker_and_a_dead_node_held_is_taken_by_others(
    slurm: Slurm, api: Server, settings: Settings
) -> None:
    """Slurm queues the node's job again; it ends once nothing is left for it to do."""
    points = 800
    run = start(api, points)
    array = slurm.submit(str(settings.database_url), "--array=1-3", CUBEYARD_JOB_LEASE_SECS="5")
    wait(lambda: holders(settings) == 3, "not all three are at it", slurm.story)
    assert [job.node for job in slurm.jobs(array)] == ["node-a", "node-a", "node-b"]
    os.kill(workers_of(array)[f"{array}_1"], signal.SIGKILL)
    slurm.kill("node-b")
    left = holders(settings)
    ended(slurm, api, run, points, 120)
    written_once(settings, run, points)
    assert left == 3, "what the dead ones held was not free yet"
    # Only a node that Slurm holds for down has its jobs queued again for certain.
    wait(lambda: slurm.states(array)[2] == "PENDING", "the node's job is not queued again", slurm.story, secs=90)
    slurm.start_node("node-b")
    slurm.call("scontrol", "update", f"JobId={array}_3", "StartTime=now")  # Slurm would give the node two minutes
    assert over(slurm, array, 60) == ["FAILED", "COMPLETED", "COMPLETED"]
    nothing_left(slurm, array)


def test_a_job_without_a_database_says_what_to_set(slurm: Slurm) -> None:
    array = slurm.submit("", "--array=1")
    assert over(slurm, array) == ["FAILED"]
    assert "DATABASE_URL: set it to the database of the server, as postgresql://" in slurm.wrote(f"{array}_1")
