"""The embedded PostgreSQL: shared, adopted and restarted, and it keeps committed data after every
kind of death.

Every process killed here is one that the test started (or the postmaster of the test's own data
directory).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from cubeyard.kit.db import Database
from cubeyard.kit.embedded import RESERVE_BYTES, EmbeddedPostgres, EmbeddedPostgresError
from cubeyard.settings import Settings

Start = Callable[[], "subprocess.Popen[str]"]

WRITER = """
import sys
from pathlib import Path
from sqlalchemy import text
from cubeyard.kit.db import Database
from cubeyard.kit import logs
from cubeyard.settings import Settings

logs.configure("error")
database = Database(Settings(home=Path(sys.argv[1])))
with database.session() as session:
    session.execute(text("CREATE TABLE IF NOT EXISTS numbers (number int primary key)"))
    (start,) = session.execute(text("SELECT coalesce(max(number), 0) FROM numbers")).one()
for number in range(start + 1, 100_000):
    with database.session() as session:
        session.execute(text("INSERT INTO numbers VALUES (:n)"), {"n": number})
    print(number, flush=True)  # said only after the commit
"""


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cubeyard-pg-") as folder:
        yield Path(folder)
        # Stops the test's server if the test left it running.
        last = EmbeddedPostgres(Path(folder))
        if (last.data / "PG_VERSION").exists():
            last.start()
            last.stop()


@pytest.fixture
def start_writer(home: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(home)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        )
        return started[-1]

    yield start
    for item in started:
        item.kill()
        item.communicate()


def _said(writer: subprocess.Popen[str], at_least: int) -> int:
    assert writer.stdout is not None
    last = 0
    for line in writer.stdout:
        last = int(line)
        if last >= at_least:
            break
    assert last >= at_least, "the writer ended too early"
    return last


def _rest_of(writer: subprocess.Popen[str], last: int) -> int:
    assert writer.stdout is not None
    for line in writer.stdout:
        if line.endswith("\n"):  # the kill may have cut the last one
            last = int(line)
    return last


def _numbers(home: Path) -> list[int]:
    database = Database(Settings(home=home))
    try:
        with database.session() as session:
            return list(session.scalars(text("SELECT number FROM numbers ORDER BY number")))
    finally:
        database.close()


def _wait(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def _greatest(database: Database) -> int | None:
    try:
        with database.session() as session:
            return session.scalar(text("SELECT max(number) FROM numbers"))
    except OperationalError:
        return None


@pytest.mark.long
def test_a_killed_program_loses_nothing_it_committed(home: Path, start_writer: Start) -> None:
    writer = start_writer()
    last = _said(writer, 50)
    writer.kill()
    last = _rest_of(writer, last)
    writer.wait()
    postgres = EmbeddedPostgres(home)
    assert postgres.running_pid() is not None, "nobody was left to stop the server"
    numbers = _numbers(home)
    assert numbers[:last] == list(range(1, last + 1))
    assert postgres.running_pid() is None, "the next user adopts the server and stops it when leaving"


def test_a_killed_postgres_loses_nothing_and_comes_back_under_a_living_program(home: Path, start_writer: Start) -> None:
    writer = start_writer()
    last = _said(writer, 30)
    pid = EmbeddedPostgres(home).running_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    # If it is killed within a transaction, the writer ends; if it is killed between two
    # transactions, the writer restarts the server and continues.
    assert writer.stdout is not None
    # The numbers come first in `zip`: otherwise it would read one more line than it yields.
    for _, line in zip(range(20), writer.stdout, strict=False):
        last = int(line)
    writer.kill()
    last = _rest_of(writer, last)
    writer.wait()
    numbers = _numbers(home)
    assert numbers[:last] == list(range(1, last + 1))
    assert len(numbers) <= last + 1, "at most the insert whose answer got lost"

    database = Database(Settings(home=home))
    try:
        assert database.embedded is not None
        with database.session() as session:
            session.execute(text("INSERT INTO numbers VALUES (1000000)"))
        second = database.embedded.running_pid()
        assert second is not None
        assert second != pid
        os.kill(second, signal.SIGKILL)
        _wait(lambda: EmbeddedPostgres(home).running_pid() is None)
        # The same program continues with a restarted server; only the transaction at the time of
        # the kill may fail.
        _wait(lambda: _greatest(database) == 1000000)
    finally:
        database.close()


@pytest.mark.long
def test_two_programs_share_one_server_and_the_last_one_stops_it(home: Path, start_writer: Start) -> None:
    first = start_writer()
    _said(first, 1)
    pid = EmbeddedPostgres(home).running_pid()
    database = Database(Settings(home=home))
    assert database.embedded is not None
    assert database.embedded.running_pid() == pid
    database.close()
    assert EmbeddedPostgres(home).running_pid() == pid, "the first one still uses it"
    database = Database(Settings(home=home))
    first.kill()
    first.wait()
    database.close()
    assert EmbeddedPostgres(home).running_pid() is None


@pytest.mark.long
def test_programs_that_start_at_once_agree_on_one_server(home: Path, start_writer: Start) -> None:
    start_writer()
    code = "import sys; from pathlib import Path; from cubeyard.kit import logs; logs.configure('error'); from cubeyard.kit.embedded import EmbeddedPostgres as E\ne = E(Path(sys.argv[1])); e.start(); print(e.running_pid(), flush=True); sys.stdin.read(); e.stop()"
    others = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    try:
        pids = {other.stdout.readline().strip() for other in others if other.stdout is not None}
        assert len(pids) == 1
        assert pids == {str(EmbeddedPostgres(home).running_pid())}
    finally:
        for other in others:
            other.communicate("")


@pytest.mark.long
@pytest.mark.parametrize("pid", [1, os.getpid(), 2**22 - 1], ids=["init", "this test", "nobody"])
def test_a_stale_pid_file_is_seen_through(home: Path, pid: int) -> None:
    """After a crash or a reboot the number in the file may belong to another program, or to
    none."""
    postgres = EmbeddedPostgres(home)
    postgres.start()
    postgres.stop()
    pid_file = postgres.data / "postmaster.pid"
    pid_file.write_text(
        f"{pid}\n{postgres.data}\n1700000000\n5432\n{postgres.socket_dir}\n\n  1234567         0\nready   \n"
    )
    assert postgres.running_pid() is None
    postgres.start()
    assert postgres.running_pid() not in (None, pid)
    postgres.stop()
    assert not pid_file.exists()


@pytest.mark.long
def test_a_kill_during_the_very_first_start_leaves_nothing_half_made(home: Path, start_writer: Start) -> None:
    writer = start_writer()
    _wait(lambda: any(home.glob("postgres/data.new.*/PG_VERSION")))
    writer.kill()
    writer.wait()
    postgres = EmbeddedPostgres(home)
    postgres.start()
    with psycopg.connect(postgres.conninfo()) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    postgres.stop()


def test_data_of_an_unknown_version_is_refused_with_a_way_out(home: Path) -> None:
    postgres = EmbeddedPostgres(home)
    postgres.data.mkdir(parents=True)
    (postgres.data / "PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedPostgresError, match="DATABASE_URL"):
        postgres.start()
    (postgres.data / "PG_VERSION").unlink()


def test_the_socket_is_closed_to_others(home: Path) -> None:
    postgres = EmbeddedPostgres(home)
    postgres.root.mkdir(parents=True)
    for name in ("server.lock", "users.lock"):  # as earlier versions left them
        (postgres.root / name).touch(mode=0o644)
    postgres.start()
    try:
        assert postgres.socket_dir.stat().st_mode & 0o077 == 0
        for file in postgres.root.iterdir():
            assert file.stat().st_mode & 0o007 == 0, file
            assert file.is_dir() or file.stat().st_mode & 0o077 == 0, file
        with psycopg.connect(postgres.conninfo()) as connection:
            assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
            assert connection.execute("SHOW fsync").fetchone() == ("on",)
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    finally:
        postgres.stop()


@pytest.mark.long
def test_a_home_with_a_very_long_path_works(home: Path) -> None:
    deep = home / ("long " * 15) / ("path'" * 10)
    deep.mkdir(parents=True)
    postgres = EmbeddedPostgres(deep)
    postgres.start()
    try:
        assert len(str(postgres.socket_dir)) < 100
        with psycopg.connect(postgres.conninfo()) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        postgres.stop()


@pytest.mark.parametrize("kind", ["link", "folder of another user"])
def test_a_socket_folder_of_somebody_else_is_refused_and_stays_as_it_is(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    if kind != "link" and os.geteuid() != 0:
        pytest.skip("needs root, to make a folder of another user")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    server = EmbeddedPostgres(home / "/".join(["a long path"] * 10))
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o755)
    if kind == "link":
        server.socket_dir.symlink_to(theirs)
    else:
        theirs.rename(server.socket_dir)
        theirs = server.socket_dir
        os.chown(theirs, 65534, 65534)
    before = theirs.stat()
    with pytest.raises(EmbeddedPostgresError, match="belongs to somebody else"):
        server.start()
    after = theirs.stat()
    assert (after.st_uid, after.st_mode) == (before.st_uid, before.st_mode)


def test_room_is_kept_for_what_must_be_written_on_a_full_disk(home: Path) -> None:
    server = EmbeddedPostgres(home)
    server.root.mkdir(parents=True)
    for _ in range(2):
        server.keep_reserve()
        used = (server.root / "reserve").stat()
        assert (used.st_size, used.st_blocks * 512) == (RESERVE_BYTES, pytest.approx(RESERVE_BYTES, rel=0.01))
        server.spend_reserve()
        assert (server.root / "reserve").stat().st_blocks == 0
