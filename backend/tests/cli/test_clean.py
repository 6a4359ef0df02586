"""Ending and cleaning up: every signal that ends a program, and `cubeyard clean` for what none of
them could end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import typer

from cubeyard.cli.clean import clean
from cubeyard.cli.place import stoppable
from cubeyard.emulation.deploy import reaper
from cubeyard.emulation.fabric import process
from cubeyard.emulation.fabric.hosts import Host
from cubeyard.emulation.fabric.place import Place
from cubeyard.kit.signals import ending
from cubeyard.settings import Settings
from tests.emulation.fabric.test_place import LOCKS
from tests.emulation.scripted import scripted

CONTAINER = "0123456789abcdef" * 4


@pytest.mark.parametrize("one", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_each_signal_that_ends_a_program_ends_its_session(one: str) -> None:
    before = signal.getsignal(signal.Signals[one])
    with stoppable() as reported:
        assert not reported()
        os.kill(os.getpid(), signal.Signals[one])
        assert reported()
    assert signal.getsignal(signal.Signals[one]) is before


def test_a_closed_terminal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert signal.SIGHUP not in ending()
        with stoppable() as reported:
            os.kill(os.getpid(), signal.SIGHUP)
            assert not reported(), "as under nohup"
    finally:
        signal.signal(signal.SIGHUP, before)


def test_clean_removes_dead_runs_and_leaves_living_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUBEYARD_HOME", str(tmp_path))
    monkeypatch.setenv("CUBEYARD_FABRIC_DIR", str(tmp_path / "place"))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    place = Place.of(Settings())
    with scripted(place.socket) as fabric:
        fabric.runs = [{"run": "dead", "owner": place.name}, {"run": "alive", "owner": place.name}]
        with place.held("alive"):
            clean()
            assert [params["run"] for method, params in fabric.calls if method == "destroy"] == ["dead"]
            assert "Removed run dead" in capsys.readouterr().err
        fabric.runs = []
        clean()
        assert "Nothing was left" in capsys.readouterr().err


def test_clean_removes_the_containers_of_a_run_on_the_engine_that_had_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUBEYARD_HOME", str(tmp_path))
    monkeypatch.setenv("CUBEYARD_FABRIC_DIR", str(tmp_path / "place"))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/b.sock")
    address = "unix:///run/a.sock"
    engine = MagicMock(**{"where.return_value": (address, "ENGINE-A"), "remove.return_value": []})
    hosts: list[Host] = []
    monkeypatch.setattr(reaper, "_engine", lambda _settings, _owner, host: hosts.append(host) or engine)
    place = Place.of(Settings())
    with scripted(place.socket) as fabric:
        fabric.runs = [{"run": "dead", "owner": place.name}]
        with place.held("dead"):
            place.remember("dead", [(address, "ENGINE-A")], [CONTAINER])
        clean()
    assert [host.docker for host in hosts] == [address]
    engine.remove.assert_called_once_with("dead")
    assert [params["run"] for method, params in fabric.calls if method == "destroy"] == ["dead"]
    assert "Removed run dead" in capsys.readouterr().err


def test_clean_says_why_a_run_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUBEYARD_HOME", str(tmp_path))
    monkeypatch.setenv("CUBEYARD_FABRIC_DIR", str(tmp_path / "place"))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    place = Place.of(Settings())
    with scripted(place.socket) as fabric:
        fabric.runs = [{"run": "refused", "owner": place.name}]
        fabric.fails.add("destroy")
        with place.held("unrecorded"):
            place.remember("unrecorded")
        with pytest.raises(typer.Exit) as ended:
            clean()
    assert ended.value.exit_code == 1
    printed = capsys.readouterr().err
    assert "Left: Run refused is not removed. destroy is not possible now" in printed
    assert "Left: Run unrecorded is not removed. Its containers wait for the Docker engine." in printed
    assert "Nothing was left" not in printed


def test_clean_goes_on_beside_a_fabric_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUBEYARD_HOME", str(tmp_path))
    monkeypatch.setenv("CUBEYARD_FABRIC_DIR", str(tmp_path / "place"))
    monkeypatch.setattr(process, "BEGIN_SECS", 0.0)
    reaped: list[Settings] = []
    monkeypatch.setattr(reaper, "reap_left_alone", lambda settings, _kept: reaped.append(settings) or [])
    place = Place.of(Settings())
    place.make()
    place.state.mkdir()
    words = [sys.executable, "-c", LOCKS, str(place.socket), str(place.state / "lock")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as hung:
        assert hung.stdout is not None
        hung.stdout.readline()
        (place.folder / "started").write_text(str(hung.pid))
        with pytest.raises(typer.Exit) as ended:
            clean()
        hung.kill()
    assert ended.value.exit_code == 1
    assert f"(process {hung.pid}) does not answer" in capsys.readouterr().err
    assert reaped


def test_clean_says_which_engine_may_still_have_containers_and_ends_their_shims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUBEYARD_HOME", str(tmp_path))
    monkeypatch.setenv("CUBEYARD_FABRIC_DIR", str(tmp_path / "place"))
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/b.sock")
    place = Place.of(Settings())
    program = tmp_path / "containerd-shim-runc-v2"
    program.write_text("#!/bin/sh\nsleep 60\n")
    program.chmod(0o700)
    shim, other = (
        subprocess.Popen([program, "-namespace", "moby", "-id", container]) for container in (CONTAINER, "another")
    )
    with scripted(place.socket) as fabric:
        fabric.runs = [{"run": "dead", "owner": place.name}]
        with place.held("dead"):
            place.remember("dead", [("unix:///nowhere/a.sock", "ENGINE-A")], [CONTAINER])
            place.remember("dead")
        for _ in range(2):  # it is not forgotten
            with pytest.raises(typer.Exit):
                clean()
            printed = capsys.readouterr().err
            assert "Run dead may have containers on the Docker engine at unix:///nowhere/a.sock" in printed
            assert "Nothing was left" not in printed
        assert other.poll() is None
        other.kill()
        other.wait()
        if os.geteuid() != 0:
            shim.kill()  # a shim is root's
        assert shim.wait(10) == -signal.SIGKILL, "the engine that would end it is gone"
