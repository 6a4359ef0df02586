"""Locks are released when their holder dies, and the same program gives the same image."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
import threading
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path

import pytest

from cubeyard.emulation.deploy import probe
from cubeyard.emulation.deploy.images import _layer
from cubeyard.emulation.deploy.reaper import reap
from cubeyard.emulation.deploy.tools import Tools
from cubeyard.emulation.fabric import process, rights
from cubeyard.emulation.fabric.client import FabricClient, FabricGoneError, FabricHungError
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.fabric.process import FabricProcess, reap_state
from cubeyard.settings import Settings

HOLDER = """
import sys, time
from pathlib import Path
from cubeyard.emulation.fabric.place import Place
with Place(Path(sys.argv[1])).held("run1"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    place = Place(tmp_path)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    assert not place.free("run1")
    with place.held("run1") as mine:
        assert not mine
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    assert place.free("run1")
    with place.held("run1") as mine:
        assert mine
        assert not place.free("run1")
    assert place.locks() == []


def _nothing() -> None:
    pass


def test_the_last_user_out_removes_the_folder(tmp_path: Path) -> None:
    place = Place(tmp_path / "00c0ffee")
    first, second = place.enter(), place.enter()
    ended: list[str] = []
    place.leave(first, lambda: ended.append("first"))
    assert place.folder.exists(), "the folder has another user"
    place.leave(second, lambda: ended.append("second"))
    assert ended == ["second"]
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_enters_while_the_last_user_leaves_gets_a_new_folder(tmp_path: Path) -> None:
    place = Place(tmp_path / "00c0ffee")
    came: list[int] = []
    newcomer = threading.Thread(target=lambda: came.append(place.enter()))

    def end() -> None:
        newcomer.start()
        newcomer.join(0.2)
        assert newcomer.is_alive(), "it waits for the fabric that is ending"

    place.leave(place.enter(), end)
    newcomer.join(5)
    (handle,) = came
    assert os.fstat(handle).st_ino == place.folder.stat().st_ino
    assert not place.remove_abandoned(), "the folder has a user"
    place.leave(handle, _nothing)
    assert not place.folder.exists()


@pytest.mark.parametrize("left", ["locks/run1", "state/journal/run1.json", "state/runs/run1"])
def test_a_folder_stays_while_something_of_a_run_is_left(tmp_path: Path, left: str) -> None:
    place = Place(tmp_path / "00c0ffee")
    handle = place.enter()
    (place.folder / left).parent.mkdir(parents=True, exist_ok=True)
    (place.folder / left).touch()
    place.leave(handle, _nothing)
    assert not place.remove_abandoned()
    (place.folder / left).unlink()
    assert place.remove_abandoned()


def test_a_run_with_containers_is_remembered_until_they_are_gone(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.held("run1"):
        place.remember("run1")
    assert place.locks() == ["run1"]
    with place.held("run1") as mine:
        assert mine
        place.forget("run1")
    assert place.locks() == []


def test_a_lock_of_a_dying_owner_is_waited_for(tmp_path: Path) -> None:
    place = Place(tmp_path / "place")
    dying = ExitStack()
    assert dying.enter_context(place.held("run1"))
    threading.Timer(0.2, dying.close).start()
    with place.held("run1", 5.0) as mine:
        assert mine
        with place.held("run1", 0.1) as others:
            assert not others


LOCKS = "import fcntl, sys, time; file = open(sys.argv[2], 'w'); fcntl.flock(file, fcntl.LOCK_EX); print(1, flush=True); time.sleep(60)"


def test_a_fabric_that_hangs_is_skipped_with_a_sentence_and_ended_after_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path / "place")
    place.make()
    place.state.mkdir()
    words = [sys.executable, "-c", LOCKS, str(place.socket), str(place.state / "lock")]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as hung:
        assert hung.stdout is not None
        hung.stdout.readline()
        fabric = FabricProcess(Settings(home=tmp_path), place)
        assert "started by hand" in fabric.end_hung()
        (place.folder / "started").write_text(str(hung.pid))
        hung.send_signal(signal.SIGSTOP)
        assert f"(process {hung.pid}) does not answer" in fabric.end_hung()
        monkeypatch.setattr(process, "BEGIN_SECS", 0.0)
        with pytest.raises(FabricHungError, match="does not answer"):
            fabric.ensure()
        monkeypatch.setattr(process, "HUNG_SECS", 0.0)
        with place.held("run1"), pytest.raises(FabricHungError, match="end that run first"):
            fabric.ensure()
        assert hung.poll() is None
        monkeypatch.setattr(process, "program", lambda *_: None)
        with pytest.raises(FabricGoneError, match="cubeyard-fabric not found"):
            fabric.ensure()  # another one may start
        assert hung.wait(5) == -signal.SIGKILL
    assert fabric.end_hung() == ""
    assert not (place.folder / "hung").exists(), "the next fabric that hangs has the same time"


def test_a_container_without_rights_names_them_and_their_flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    status = tmp_path / "status"
    monkeypatch.setattr(rights, "STATUS", status)
    status.write_text("Name:\tpython\nCapEff:\t00000000a80425fb\n")  # the default of a Docker engine
    monkeypatch.setattr(process, "program", lambda *_: Path("/bin/false"))
    settings = Settings(home=tmp_path)
    with pytest.raises(FabricGoneError) as refused:
        FabricProcess(settings, Place(tmp_path / "place")).ensure()
    assert "CAP_NET_ADMIN and CAP_SYS_ADMIN" in refused.value.detail
    assert "--cap-add NET_ADMIN --cap-add SYS_ADMIN" in refused.value.detail
    capability, _ = probe._fabric(settings, Place(tmp_path))
    assert not capability.available
    assert "--cap-add NET_ADMIN" in capability.fix
    status.write_text("CapEff:\t000001ffffffffff\n")
    assert rights.lacking_rights() == ""


def test_a_journal_that_cannot_be_reaped_is_a_message_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(tmp_path / "place")
    assert reap_state(Settings(home=tmp_path), place) == "", "there is none"
    place.make()
    place.state.mkdir()
    failing = tmp_path / "failing"
    failing.write_text("#!/bin/sh\necho somebody holds it >&2\nexit 1\n")
    failing.chmod(0o700)
    monkeypatch.setattr(process, "program", lambda *_: failing)
    assert "somebody holds it" in reap_state(Settings(home=tmp_path), place)


def test_homes_have_places_of_their_own(tmp_path: Path) -> None:
    first, second = (Place.of(Settings(home=tmp_path / name)) for name in ("a", "b"))
    assert first.folder != second.folder
    assert len(str(first.socket)) < 80, "a Unix socket's path may have 107 bytes"


def test_nobody_at_the_socket_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(FabricGoneError, match="does not answer at"):
        FabricClient(tmp_path / "no.sock")
    assert reap(Settings(), Place(tmp_path)) == []


def test_the_image_is_the_program_and_a_folder() -> None:
    layer = _layer(b"\x7fELF program", None)
    assert layer == _layer(b"\x7fELF program", None)
    with tarfile.open(fileobj=BytesIO(layer)) as tar:
        assert {entry.name: entry.mode for entry in tar} == {
            "run": 0o755,
            "run/cubeyard": 0o755,
            "cubeyard-node": 0o755,
        }


def test_the_image_has_a_shell_where_the_machine_has_its_programs() -> None:
    tools = Tools({"bin/busybox": b"many programs", "etc/shellrc": b"alias ping=/bin/ping"}, ("ip", "sh"))
    with tarfile.open(fileobj=BytesIO(_layer(b"\x7fELF program", tools))) as tar:
        result = {entry.name: entry.linkname if entry.issym() else entry.size for entry in tar if not entry.isdir()}
        assert {entry.name for entry in tar if entry.isdir()} == {"run", "run/cubeyard", "bin", "etc"}
    assert result == {
        "cubeyard-node": 12,
        "bin/busybox": 13,
        "etc/shellrc": 20,
        "bin/ip": "busybox",
        "bin/sh": "busybox",
    }


def test_a_probe_that_takes_too_long_is_reported_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o700)
    monkeypatch.setattr(process, "program", lambda *_: slow)
    monkeypatch.setattr(process, "START_SECS", 0.05)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    capability, report = probe._fabric(Settings(), Place(tmp_path))
    assert report is None
    assert not capability.available
    assert "busy" in capability.reason
    assert "root" not in capability.fix
