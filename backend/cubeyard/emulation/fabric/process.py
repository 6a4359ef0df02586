"""Starts and ends cubeyard-fabric, the only program that needs root, if this process may."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import Any

import orjson
import structlog

from cubeyard.emulation.fabric.client import FabricClient, FabricGoneError, FabricHungError
from cubeyard.emulation.fabric.place import JOURNAL, Place
from cubeyard.emulation.fabric.rights import lacking_rights
from cubeyard.kit.disk import DiskFullError, scarce
from cubeyard.settings import Settings

log = structlog.get_logger(__name__)

START_SECS = 20.0
HUNG_SECS = 60.0
"""A fabric of a dead owner that does not answer for this long is ended."""
BEGIN_SECS = 2.0
"""Time between locking its place and its first answer, on a busy machine."""
STOP_SECS = 20.0
FABRIC, NODE = "cubeyard-fabric", "cubeyard-node"
CHECKOUT = Path(__file__).resolve().parents[4]


def program(settings: Settings, name: str) -> Path | None:
    """Where a static binary is: in the folder of the settings, where `bin/setup` or the wheel
    cubeyard-programs puts it, or on PATH."""
    folders = [settings.programs_dir] if settings.programs_dir is not None else []
    folders += [CHECKOUT / ".setup" / "programs", Path(sys.prefix) / "bin"]
    for folder in folders:
        if (result := folder / name).is_file() and os.access(result, os.X_OK):
            return result
    result = shutil.which(name)
    return Path(result) if result else None


def why_missing(*names: str) -> tuple[str, str]:
    """Why there is no such static binary, and the fix."""
    if (minutes := _minutes_of_build(CHECKOUT / ".setup" / "programs-building")) is not None:
        unit = "minute" if minutes == 1 else "minutes"
        return f"The emulator's programs are being built: ready in about {minutes} {unit}.", "Wait for them."
    return f"{' and '.join(names)} not found.", "Build them with `make setup`, or install the wheel cubeyard-programs."


def _minutes_of_build(state: Path) -> int | None:
    """The minutes left of a build in the background, from what `bin/setup` writes; None if none
    runs."""
    try:
        process, end = map(int, state.read_text().split())
    except (OSError, ValueError):
        return None
    return max(1, ceil((end - time.time()) / 60)) if Path(f"/proc/{process}").exists() else None


class FabricProcess:
    """The fabric of a place, started by this process or an earlier one; this process may end it."""

    def __init__(self, settings: Settings, place: Place) -> None:
        self._settings = settings
        self.place = place
        self._process: subprocess.Popen[bytes] | None = None
        self._taken_over: FabricClient | None = None
        """A connection to a fabric that another process started. It keeps the fabric alive after
        that process has ended."""

    def ensure(self) -> None:
        """Ensures that a fabric runs at the place's socket, and starts it if necessary. Raises
        FabricGoneError with a fix. A hanging fabric of a dead owner is ended after some time.

        If hosts are configured, each has its own fabric, which its administrator starts.
        """
        if self._settings.spread:
            return
        if (pid := self.pid or self._pid_soon()) is not None:
            self._hung_since.unlink(missing_ok=True)
            self._take_over(pid)
            return
        if self._there and (why := self._hung()):
            raise FabricHungError(why)
        binary = program(self._settings, FABRIC)
        if binary is None:
            raise FabricGoneError(" ".join(why_missing(FABRIC)))
        self.place.make()
        by_sudo = os.geteuid() != 0
        if not by_sudo and (why := lacking_rights()):
            raise FabricGoneError(why)
        if by_sudo and not self._settings.fabric_sudo:
            raise FabricGoneError(
                f"Emulation needs {FABRIC}, which runs as root. Start it with: {by_hand(binary, self.place)}"
            )
        words = [
            str(binary),
            "serve",
            "--socket",
            str(self.place.socket),
            "--state",
            str(self.place.state),
            # If this process is killed, the fabric ends by itself once it has no run and no caller.
            "--starter",
            str(os.getpid()),
            *self._node(),
        ]
        if by_sudo:
            words = ["sudo", "-n", *words, "--uid", str(os.geteuid())]
        # In a new session, so that Ctrl-C in the terminal does not end the fabric, which must exit
        # after its last run. sudo identifies the user by the terminal.
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            start_new_session=not by_sudo,
            process_group=0 if by_sudo else None,
        )
        try:
            with self.place.disk():
                self._marker.write_text(str(self._process.pid))
                self._wait_for_answer(by_hand(binary, self.place))
                # The process id of sudo is not the fabric's, so the fabric's own is stored.
                self._marker.write_text(str(self.pid))
        except DiskFullError:
            # Without the marker, no later process could recognise this fabric as ours and end it.
            self._abandon()
            raise
        log.info("fabric_started", socket=str(self.place.socket))

    @property
    def _there(self) -> bool:
        """Whether a fabric holds this place. Its lock belongs to root."""
        return not self.place.fabric_gone() if os.geteuid() == 0 else self._marked() is not None

    def _pid_soon(self) -> int | None:
        """The process id of a fabric that another process is just starting here."""
        deadline = time.monotonic() + BEGIN_SECS
        while self._there and time.monotonic() < deadline:
            if (pid := self.pid) is not None:
                return pid
            time.sleep(0.02)
        return None

    def _hung(self) -> str:
        """Ends a hanging fabric if no living process has a run. Returns why it remains; empty if it
        is gone."""
        if all(self.place.free(lock) for lock in self.place.locks() if lock != "owner"):
            return self.end_hung()
        return f"{FABRIC} of {self.place.folder} does not answer, and a run that continues uses it: end that run first."

    def _take_over(self, pid: int) -> None:
        """Stays connected to a fabric that another process started; does nothing if already
        connected."""
        started = self._process is not None and self._process.poll() is None
        if started or (self._taken_over is not None and self._taken_over.pid == pid):
            return
        self._let_go()
        with suppress(FabricGoneError):
            self._taken_over = FabricClient(self.place.socket)

    def _let_go(self) -> None:
        if self._taken_over is not None:
            self._taken_over.close()
            self._taken_over = None

    def _wait_for_answer(self, other_way: str) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_SECS
        while self.pid is None:
            if self._process.poll() is not None or time.monotonic() > deadline:
                code = self._process.poll()
                self.stop()
                if scarce(self.place.folder):
                    raise DiskFullError(JOURNAL, self.place.folder)
                raise FabricGoneError(
                    f"{FABRIC} does not start (it ended with {code}); what it said is in the log. By hand: {other_way}"
                )
            time.sleep(0.02)

    def _node(self) -> list[str]:
        node = program(self._settings, NODE)
        return ["--node", str(node)] if node is not None else []

    @property
    def _marker(self) -> Path:
        """The file with the process id of a fabric that was started from here, and not by hand."""
        return self.place.folder / "started"

    @property
    def _hung_since(self) -> Path:
        """The file that is created when a fabric fails to answer for the first time."""
        return self.place.folder / "hung"

    @property
    def pid(self) -> int | None:
        """The process id of the fabric that answers at the socket; None without one."""
        try:
            with FabricClient(self.place.socket, 1.0) as client:
                client.call("runs", secs=5.0)
                return client.pid
        except FabricGoneError:
            return None

    def stop(self) -> None:
        """Ends the fabric with everything it has, unless somebody else started it or has a run on
        it."""
        self._let_go()
        pid = self.pid
        ours = pid is not None and self._marker.exists() and self._marker.read_text() == str(pid)
        if ours and pid is not None and all(self.place.free(lock) for lock in self.place.locks() if lock != "owner"):
            self._end()
            self._marker.unlink(missing_ok=True)
        if self._process is not None and (pid is None or ours):
            try:
                self._process.wait(STOP_SECS if ours else 0.1)
            except subprocess.TimeoutExpired:
                log.warning("fabric_did_not_end", pid=self._process.pid)
            else:
                self._process = None

    def end_hung(self) -> str:
        """Ends a fabric of a dead owner that holds the place and has not answered for HUNG_SECS.
        Returns why it still holds the place; empty if it does not."""
        if self.place.fabric_gone():
            return ""
        pid, since = self._marked(), self._hung_since
        named = f"cubeyard-fabric of {self.place.folder}"
        if pid is None:
            return f"{named} was started by hand and does not answer. End it, then run `cubeyard clean`."
        if not since.exists():
            since.touch()
        if time.time() - since.stat().st_mtime < HUNG_SECS:
            return f"{named} (process {pid}) does not answer; `cubeyard clean` ends it after {HUNG_SECS:g} s."
        try:
            os.kill(pid, signal.SIGKILL)
        except PermissionError:
            return f"{named} (process {pid}) does not answer. End it as root: kill -9 {pid}."
        deadline = time.monotonic() + STOP_SECS
        while not self.place.fabric_gone() and time.monotonic() < deadline:
            time.sleep(0.05)
        if not self.place.fabric_gone():
            return f"{named} (process {pid}) does not end."
        since.unlink(missing_ok=True)
        return ""

    def _marked(self) -> int | None:
        """The process in the marker, if it is a fabric of this place."""
        try:
            pid = int(self._marker.read_text())
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return pid if str(self.place.socket).encode() in words else None

    def _abandon(self) -> None:
        """Ends a fabric that was just started, as soon as it responds."""
        assert self._process is not None
        deadline = time.monotonic() + START_SECS
        while self._process.poll() is None and time.monotonic() < deadline:
            self._end()
            time.sleep(0.05)

    def _end(self) -> None:
        """Requests the fabric's end, which is allowed without root, and waits for it."""
        try:
            client = FabricClient(self.place.socket)
        except FabricGoneError:
            return
        with client, suppress(FabricGoneError):
            client.call("end")
        deadline = time.monotonic() + STOP_SECS
        while self._goes_on and time.monotonic() < deadline:
            time.sleep(0.05)

    @property
    def _goes_on(self) -> bool:
        # The fabric releases its journal last, which only root can see.
        return self.pid is not None or (os.geteuid() == 0 and not self.place.fabric_gone())


def by_hand(binary: Path | str, place: Place) -> str:
    """The command that starts the fabric by hand."""
    return f"sudo {binary} serve --socket {place.socket} --state {place.state} --uid {os.geteuid()}"


def probe_kernel(settings: Settings) -> dict[str, Any] | None:
    """The report on this kernel by a fabric that does not serve; None if it cannot be made.

    Raises subprocess.TimeoutExpired after START_SECS.
    """
    binary = program(settings, FABRIC)
    if binary is None or os.geteuid() != 0:
        return None
    done = subprocess.run([str(binary), "probe", "--json"], capture_output=True, timeout=START_SECS, check=False)
    return orjson.loads(done.stdout) if done.returncode == 0 else None


def reap_state(settings: Settings, place: Place) -> str:
    """Removes everything that the journal of a place names, without a serving fabric. Returns why
    parts remain; empty if none do."""
    binary = program(settings, FABRIC)
    if binary is None or not place.state.exists():
        return ""
    words = [str(binary), "reap", "--state", str(place.state)]
    try:
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=START_SECS * 3)
    except subprocess.TimeoutExpired:
        return f"{FABRIC} does not empty {place.state}: it takes too long."
    reason = done.stderr.strip() or f"it ended with status {done.returncode}"
    return f"{FABRIC} cannot empty {place.state}: {reason}" if done.returncode else ""
