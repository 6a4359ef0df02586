"""Where the data is, and folders of others: none is changed."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import psycopg
import pytest

from cubeyard import settings
from cubeyard.kit import service_user
from cubeyard.kit.embedded import EmbeddedPostgres, EmbeddedPostgresError
from cubeyard.kit.home import remarks

ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="needs root, whose PostgreSQL runs as another user")


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def test_folders_of_others_keep_their_modes_and_ours_are_closed(tmp_path: Path) -> None:
    given = tmp_path / "given" / "inner"
    given.mkdir(parents=True)
    for folder in (given, given.parent):
        folder.chmod(0o700)
    before = {folder: _mode(folder) for folder in (given, *given.parents)}
    postgres = EmbeddedPostgres(given / "made" / "home")
    postgres.start()
    try:
        with psycopg.connect(postgres.conninfo()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        assert {folder: _mode(folder) for folder in before} == before
        for folder in (given / "made", given / "made" / "home", postgres.root):
            assert _mode(folder) == (0o710 if ROOT else 0o700)
            assert folder.stat().st_gid == (pwd.getpwnam(service_user.NAME).pw_gid if ROOT else os.getegid())
        assert _mode(postgres.data) == 0o700
    finally:
        postgres.stop()
    assert postgres.running_pid() is None


@needs_root
def test_a_closed_folder_without_mount_namespaces_is_refused_with_a_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir(mode=0o700)
    failing = tmp_path / "passage.py"
    failing.write_text("import sys\nprint('Operation not permitted')\nsys.exit(126)\n")
    monkeypatch.setattr(service_user.passage, "__file__", str(failing))
    with pytest.raises(EmbeddedPostgresError, match=r"cannot pass .*Set CUBEYARD_HOME"):
        EmbeddedPostgres(tmp_path / "closed" / "home").start()
    assert _mode(tmp_path / "closed") == 0o700


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The user's home of data and the system's."""
    user, system = tmp_path / "root" / "share" / "cubeyard", tmp_path / "lib" / "cubeyard"
    monkeypatch.setattr(settings, "user_home", lambda: user)
    monkeypatch.setattr(settings, "SYSTEM_HOME", system)
    return user, system


@needs_root
def test_root_keeps_its_data_in_the_system_unless_it_has_some_elsewhere(places: tuple[Path, Path]) -> None:
    user, system = places
    assert settings.default_home() == system
    assert remarks(system) == []
    (user / "postgres" / "data").mkdir(parents=True)
    assert settings.default_home() == user
    (moved,) = remarks(user)
    assert f"mv {user} {system}" in moved
    (system / "postgres" / "data").mkdir(parents=True)
    assert settings.default_home() == system


@needs_root
def test_data_of_another_user_is_not_root_s(places: tuple[Path, Path]) -> None:
    user, system = places
    (user / "postgres" / "data").mkdir(parents=True)
    os.chown(user / "postgres", 65534, 65534)
    assert settings.default_home() == system


@needs_root
@pytest.mark.parametrize("mode", [0o701, 0o711, 0o751])
def test_a_folder_that_an_earlier_version_opened_is_named_and_kept(places: tuple[Path, Path], mode: int) -> None:
    user, _ = places
    (user / "postgres" / "data").mkdir(parents=True)
    opened = user.parents[1]
    opened.chmod(mode)
    _, remark = remarks(user)
    assert f"chmod o-x {opened}" in remark
    assert _mode(opened) == mode


def test_another_user_s_data_is_in_the_user_s_folder(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert settings.default_home() == places[0]
    assert remarks(places[0]) == []
