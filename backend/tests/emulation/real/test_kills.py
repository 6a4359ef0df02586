"""`kill -9` of any part at any moment: committed data are kept, the run's state is correct, and the
next start removes all our leftovers and nothing of others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cubeyard.emulation.deploy import images
from cubeyard.emulation.deploy.docker_engine import connect
from cubeyard.emulation.fabric.process import NODE, program
from cubeyard.settings import Settings
from tests.deployment.engine import OwnEngine

from .instance import Instance, Others
from .test_docker_gone import engine
from .test_live import API, FINISHED, home

pytestmark = pytest.mark.long

__all__ = ["engine", "home"]
Json = dict[str, Any]

VICTIMS = ("api", "worker", "fabric", "node", "docker")
TURNS = int(os.environ.get("CUBEYARD_RANDOM_KILLS", "5"))
SEED = int(os.environ.get("CUBEYARD_KILL_SEED", "2009"))
BLAMED = {"fabric": "cubeyard-fabric", "docker": "Docker", "node": "erver"}
"""A word in the failure reason of a run, by killed part. Killing the API or the worker does not
fail a run."""
LATEST_SECS = 4.0


def wait(what: str, until: Callable[[], Any], limit_secs: float = 60) -> Any:
    deadline = time.monotonic() + limit_secs
    while not (result := until()):
        assert time.monotonic() < deadline, what
        time.sleep(0.1)
    return result


def test_any_part_killed_at_any_moment(home: Path, engine: OwnEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine.docker.environment["DOCKER_HOST"])
    binary = program(Settings(), NODE)
    assert binary is not None
    image = images.ensure(connect(20), binary)
    draws = Random(SEED)
    victims = [item for _ in range(-(-TURNS // len(VICTIMS))) for item in draws.sample(VICTIMS, len(VICTIMS))]
    with Others(engine, image) as others, Instance(home, engine) as instance:
        for turn, victim in enumerate(victims[:TURNS]):
            moment = draws.uniform(0, LATEST_SECS)
            try:
                _turn(instance, victim, moment, draws)
                wait("others' things are as before", lambda: others.now() == others.before)
            except AssertionError as error:
                message = instance.said()
                raise AssertionError(
                    f"turn {turn}: {victim} killed after {moment:.2f} s: {error}\n{message}"
                ) from error
        last = instance.place.folder
    assert not last.exists(), "the last part to end leaves nothing"


def _turn(instance: Instance, victim: str, moment: float, draws: Random) -> None:
    run = instance.api.start(mode="containers", seconds=60)
    time.sleep(moment)
    committed = instance.frames(run)
    instance.kill(victim, draws, wait)
    instance.start_again(victim)

    def row() -> Json:
        return instance.api.call("GET", f"{API}/runs/{run}")[1]

    if victim == "worker":
        wait("the next worker takes the run up", lambda: row()["state"] == "running" and len(instance.nodes()) == 4)
    elif victim == "docker":
        # The run's containers died with the engine, so it ends by itself.
        wait("the run has ended by itself", lambda: row()["state"] in FINISHED)
    if row()["state"] not in FINISHED:
        status, message = instance.api.call("POST", f"{API}/runs/{run}/cancel")
        assert status in (200, 202), message
    wait("the run is over", lambda: row()["state"] in FINISHED)
    ended = row()
    if ended["state"] == "failed":
        assert victim in BLAMED, ended
        assert BLAMED[victim] in ended["reason"], ended
    else:
        assert ended["state"] == "cancelled", ended
    frames = instance.frames(run)
    assert frames[: len(committed)] == committed, "committed data are unchanged"
    assert [number for number, _, _ in frames] == list(range(1, len(frames) + 1))
    assert ended["last_seq"] == len(frames)
    _cleared(instance, run)


def _cleared(instance: Instance, run: str) -> None:
    deadline = time.monotonic() + 60
    while left := instance.left(run):
        assert time.monotonic() < deadline, left
        time.sleep(0.2)
