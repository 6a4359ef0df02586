"""Folders of other users are refused: nothing in them is opened, changed or removed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cubeyard.emulation.deploy.reaper import reap_left_alone
from cubeyard.emulation.fabric import place as places
from cubeyard.emulation.fabric.client import FabricClient, FabricGoneError
from cubeyard.emulation.fabric.own_folder import ForeignFolderError
from cubeyard.emulation.fabric.place import Place
from cubeyard.settings import Settings

NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")

Change = Callable[[Path, Path], None]


def _link(folder: Path, victim: Path) -> None:
    folder.symlink_to(victim)


def _foreign(folder: Path, victim: Path) -> None:
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, NOBODY)


def _open_to_all(folder: Path, victim: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


HOSTILE = [
    pytest.param(_link, "a link", id="link"),
    pytest.param(_foreign, f"a folder of user {NOBODY}", id="foreign", marks=as_root),
    pytest.param(_open_to_all, "of mode 0777", id="open"),
]


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    folder = tmp_path / "victim"
    (folder / "locks").mkdir(parents=True)
    (folder / "locks" / "run1").write_text("theirs")
    folder.chmod(0o750)
    return folder


def _untouched(victim: Path) -> bool:
    names = sorted(path.name for path in victim.rglob("*"))
    kept = (victim / "locks" / "run1").read_text() == "theirs"
    return kept and names == ["locks", "run1"] and victim.stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("part", ["", "locks"])
@pytest.mark.parametrize(("put", "what"), HOSTILE)
def test_a_place_of_somebody_else_is_refused(tmp_path: Path, victim: Path, put: Change, what: str, part: str) -> None:
    place = Place(tmp_path / "place")
    hostile = place.folder / part
    if part:
        place.folder.mkdir(mode=0o700)
    put(hostile, victim / part)
    for use in (place.enter, lambda: place.held("run1").__enter__()):
        with pytest.raises(ForeignFolderError) as refused:
            use()
        assert str(hostile) in refused.value.detail
        assert what in refused.value.detail
        assert "Remove it" in refused.value.detail or f"chmod 0700 {hostile}" in refused.value.detail
    assert _untouched(victim)


@pytest.mark.parametrize(("put", "what"), HOSTILE)
def test_a_folder_in_tmp_that_somebody_else_has_made_is_refused(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch, put: Change, what: str
) -> None:
    root = tmp_path / "cubeyard-1000"
    monkeypatch.setattr(places, "_own_roots", lambda: [root, root / "cubeyard"])
    put(root, victim)
    place = Place.of(Settings(home=tmp_path / "home"))
    assert place.folder.is_relative_to(root), "reading the settings refuses nothing yet"
    with pytest.raises(ForeignFolderError, match=what) as refused:
        place.enter()
    assert str(root) in refused.value.detail
    assert _untouched(victim)


@as_root
def test_a_place_that_somebody_else_can_put_another_in_is_refused(tmp_path: Path) -> None:
    around = tmp_path / "theirs"
    _foreign(around, around)
    with pytest.raises(ForeignFolderError, match=f"{around} is a folder of user {NOBODY}"):
        Place(around / "place").make()
    assert list(around.iterdir()) == []


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path, victim: Path) -> None:
    place = Place(tmp_path / "place")
    place.make()
    (place.folder / "locks" / "run1").symlink_to(victim / "locks" / "run1")
    with pytest.raises(OSError, match="symbolic links"), place.held("run1"):
        pass
    assert _untouched(victim)


@as_root
def test_cleaning_leaves_what_is_not_this_users(tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_own_roots", lambda: [tmp_path / "cubeyard"])
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    (tmp_path / "cubeyard").mkdir(mode=0o755)
    names = ["cli-1", "00c0ffee", "cli-2.gone-7"]
    for name in names:
        _foreign(tmp_path / "cubeyard" / name, victim)
    for name in ["cli-3", "00c0ffed", "cli-4.gone-7"]:
        (tmp_path / "cubeyard" / name).symlink_to(victim)
        names.append(name)
    mine = tmp_path / "cubeyard" / "00c0ffff"
    mine.mkdir(mode=0o700)
    assert reap_left_alone(Settings()) == ["00c0ffff"]
    assert sorted(path.name for path in (tmp_path / "cubeyard").iterdir()) == sorted(names)
    assert _untouched(victim)


LISTENER = """
import os, socket, sys
os.setuid(65534)
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(sys.argv[1])
    listener.listen()
    print("listens", flush=True)
    sys.stdin.read()
"""


@as_root
def test_a_socket_of_another_user_is_not_used_as_the_fabrics(tmp_path: Path) -> None:
    folder = Path("/tmp") / f"cubeyard-test-{os.getpid()}"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    path = folder / "fabric.sock"
    try:
        with subprocess.Popen(
            [sys.executable, "-c", LISTENER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as listener:
            assert listener.stdout is not None
            assert listener.stdout.readline() == "listens\n"
            with pytest.raises(FabricGoneError, match=f"{path}: user {NOBODY} listens there"):
                FabricClient(path)
            listener.kill()
    finally:
        path.unlink(missing_ok=True)
        folder.rmdir()


def test_a_socket_of_this_users_own_may_be_a_forwarded_one(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen()

        def attend() -> None:
            listener.accept()[0].close()

        came = threading.Thread(target=attend)
        came.start()
        FabricClient(tmp_path / "s").close()
        came.join(5)
