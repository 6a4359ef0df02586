"""A disk fills up at a bad moment: the run ends with a clear reason, committed data are kept,
nothing is left over, and the next run succeeds."""

from __future__ import annotations

import errno
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from cubeyard.kit.embedded import EmbeddedPostgres
from tests.deployment.engine import EngineUnavailableError, OwnEngine, own_engine

from .conftest import skip
from .test_live import Live, home

__all__ = ["home"]

Left = Callable[[], dict[str, set[str]]]


@contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[Path]:
    """Mounts a separate disk at the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={mebibytes}m,mode=0755"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "cubeyard-test", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Fills the disk, so that no file on it can grow while the context lasts."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (2**20, 2**12):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError as error:
                assert error.errno == errno.ENOSPC  # noqa: PT017 - each size ends this way
    try:
        yield
    finally:
        ballast.unlink()


@pytest.mark.long
def test_the_database_runs_full_while_ticks_are_recorded(nothing_left: Left) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="cubeyard-full-") as folder,
        small_disk(Path(folder, "postgres"), 192) as disk,
        Live(Path(folder)) as server,
    ):
        run = server.start()
        server.flowing(run)
        request = "select seq, md5(payload::text) from run_frames where run_id = %s order by seq"
        with psycopg.connect(EmbeddedPostgres(Path(folder)).conninfo(), autocommit=True) as connection:
            committed = connection.execute(request, [run]).fetchall()
            reason = f"The disk of the database at {disk}/data is full: 0.0 MiB are free."
            with full(disk):
                server.wait("the failure in the log", lambda: reason in server.said())
            # The end of the run is a frame too, for which space is reserved.
            row = server.ended(run)
            assert row["state"] == "failed", row
            assert reason in row["reason"], row
            frames = connection.execute(request, [run]).fetchall()
        assert len(committed) > 2
        assert frames[: len(committed)] == committed
        assert [seq for seq, _ in frames] == list(range(1, len(frames) + 1))
        assert server.ended(server.start(seconds=1))["state"] == "succeeded"


@pytest.fixture
def small_engine() -> Iterator[tuple[OwnEngine, Path]]:
    """A Docker engine, and the small disk that it uses for everything."""
    with tempfile.TemporaryDirectory(prefix="cubeyard-docker-", ignore_cleanup_errors=True) as folder:
        try:
            with small_disk(Path(folder, "data"), 64) as disk, own_engine(Path(folder)) as engine:
                yield engine, disk
        except EngineUnavailableError as error:
            skip(str(error))


@pytest.mark.long
def test_docker_has_no_room_for_the_servers(
    home: Path, small_engine: tuple[OwnEngine, Path], nothing_left: Left
) -> None:
    engine, disk = small_engine
    with Live(home, **engine.address) as server:
        with full(disk):
            row = server.ended(server.start(mode="containers"))
            assert row["state"] == "failed", row
            assert f"The disk of the Docker engine at {disk} is full: 0.0 MiB are free." in row["reason"], row
            assert "Free some space, then start the run again." in row["reason"]
        assert engine.docker.run("ps", "--all", "--quiet").stdout == ""
        assert server.ended(server.start(mode="containers", seconds=1))["state"] == "succeeded"


def test_the_fabric_has_no_room_for_its_journal(home: Path, nothing_left: Left) -> None:
    with small_disk(Path("/run") / home.name, 1) as disk, Live(home, CUBEYARD_FABRIC_DIR=str(disk)) as server:
        for _ in ("before the fabric starts", "while it serves"):
            with full(disk):
                row = server.ended(server.start())
                assert row["state"] == "failed", row
                assert f"The disk of cubeyard-fabric's journal at {disk} is full: 0.0 MiB are free." in row["reason"]
            assert server.ended(server.start(seconds=1))["state"] == "succeeded"
