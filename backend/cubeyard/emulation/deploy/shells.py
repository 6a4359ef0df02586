"""A shell in a server's container: `docker exec` with a terminal, through the engine's API.

It has only the rights of the container. No commands are composed from user input: the shell is
started without arguments, and input is passed to it as bytes. Each shell and its children have a
mark in their environment, by which they are found and ended, because the engine does not end them
when the connection closes.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from cubeyard.emulation.deploy.docker_engine import connect, explained
from cubeyard.emulation.deploy.images import SHELL_LABEL
from cubeyard.emulation.deploy.names import PLACE, RUN, SERVER
from cubeyard.emulation.deploy.tools import FOLDERS, MISSING, SETTINGS, SHELL
from cubeyard.kit.errors import ProblemError
from cubeyard.kit.ids import new_id

Json = dict[str, Any]

CALL_SECS = 20
LOOK_SECS = 1.0
READ_BYTES = 32 * 1024
MARK = "CUBEYARD_TERMINAL"
REAP = f'''shell=$1
mark() {{ tr '\\0' '\\n' <"/proc/$1/environ" | grep "^{MARK}="; }} 2>/dev/null
parent() {{ while read -r key value; do
  case "$key $value" in "State: Z"*) return ;; PPid:*) printf %s "$value"; return ;; esac
done <"/proc/$1/status"; }} 2>/dev/null
ours() {{
  [ "$1" = "$shell" ] && return 0
  case $(mark "$1") in "") ;; "{MARK}=$0") return 0 ;; *) case $others in *" $(mark "$1") "*) return 1 ;; esac ;; esac
  above=$(parent "$1")
  case $above in ""|0) return 1 ;; 1) return 0 ;; *) ours "$above" ;; esac
}}
for pass in 1 2 3 4 5 6 7 8 9; do
  ended= others=" "
  for path in /proc/[0-9]*; do
    one=${{path#/proc/}}
    [ "$one" != "$shell" ] && [ "$(parent "$one")" = 0 ] && others="$others$(mark "$one") "
  done
  for path in /proc/[0-9]*; do
    one=${{path#/proc/}}
    [ "$one" != 1 ] && ours "$one" && kill -KILL "$one" 2>/dev/null && ended=1
  done
  [ -n "$ended" ] || break
done'''
"""Script that ends the shell with the mark `$0` and the process id `$1`, and everything it has
started, in any environment and session: descendants of the shell, and orphans (children of the
server's own process), except those with the mark of another terminal."""
NUMBER = f'''for path in /proc/[0-9]*; do
  tr '\\0' '\\n' <"$path/environ" 2>/dev/null | grep -qx "{MARK}=$0" || continue
  grep -q "^PPid:.0$" "$path/status" && printf %s "${{path#/proc/}}"
done'''
"""Script that prints the process id, in the container, of the shell with the mark `$0`."""
FROZEN = "Server {} is frozen by a fault. Recover the fault, then open the terminal again."
OFF = "Server {} is off. Recover its fault, then open the terminal again."
NO_CONTAINER = "Server {} has no container: it is being started, or the run is ending."


class OpenShell(Protocol):
    """A shell of this process, or of a worker that has the engine (`shell_relay/`). Different
    threads may read, write and query."""

    def read(self) -> bytes: ...

    def write(self, data: bytes) -> None: ...

    def resize(self, columns: int, rows: int) -> None: ...

    def state(self) -> str: ...

    def exit_code(self) -> int | None: ...

    def close(self) -> None: ...


class Shell:
    """A shell in a container. Different threads may read, write and query."""

    def __init__(
        self, engine: str, owner: str, run_id: str, server: tuple[int, str], prompt: str, idle_secs: float
    ) -> None:
        """`server` is the server's id and name, `prompt` a host name. The shell ends after `idle`
        time without input. Raises a 409 if the server is off, and DockerGoneError."""
        self._engine = engine
        self._mark = new_id()
        with _api(engine) as api:
            self._container = container_of(api, owner, run_id, server)
            self._exec = api.exec_create(
                self._container,
                [SHELL],
                stdin=True,
                tty=True,
                environment={
                    MARK: self._mark,
                    "TERM": "xterm-256color",
                    "PATH": FOLDERS,
                    "ENV": SETTINGS,
                    "HOME": "/",
                    "PS1": f"{prompt}:\\w# ",
                    "TMOUT": str(int(idle_secs)),
                },
            )["Id"]
        # A connection only for the shell's bytes, which is closed with the shell.
        self._api = connect(CALL_SECS, engine)
        try:
            with explained():
                attached = self._api.exec_start(self._exec, tty=True, socket=True)
        except BaseException:
            self._api.close()
            raise
        self._response = attached._response  # noqa: SLF001  - without it the connection closes
        # The start of the output may already be in the buffer of the response's reader, so
        # everything is read from there.
        self._reader = self._response.raw._fp.fp  # noqa: SLF001
        self._socket: socket.socket = getattr(attached, "_sock", attached)
        self._socket.settimeout(None)
        with _api(engine) as api:
            # Determined before any input, which could change the shell's environment.
            self._number = self._script(api, NUMBER, self._mark).strip()

    def _script(self, api: Any, script: str, *words: str) -> str:
        """Runs a script in the container, and returns its output."""
        command = [SHELL, "-c", script, *words]
        made = api.exec_create(self._container, command, environment={"PATH": FOLDERS})
        return api.exec_start(made["Id"]).decode(errors="replace")

    def read(self) -> bytes:
        """Reads the shell's output; empty once it has ended."""
        try:
            return self._reader.read1(READ_BYTES)
        except (OSError, ValueError):
            return b""

    def write(self, data: bytes) -> None:
        """Writes input. Input that nobody reads is lost."""
        with contextlib.suppress(OSError):
            self._socket.sendall(data)

    def resize(self, columns: int, rows: int) -> None:
        """Sets the terminal's size. Ignored if the shell has just ended."""
        with contextlib.suppress(ProblemError), _api(self._engine) as api:
            api.exec_resize(self._exec, height=rows, width=columns)

    def state(self) -> str:
        """`running`, `paused`, or `gone` if the container has ended or was removed."""
        from docker.errors import NotFound

        with _api(self._engine) as api:
            try:
                state = api.inspect_container(self._container)["State"]
            except NotFound:
                return "gone"
            return "paused" if state.get("Paused") else "running" if state.get("Running") else "gone"

    def exit_code(self) -> int | None:
        """The exit code; None if the shell is still running, or ended with its container."""
        try:
            with _api(self._engine) as api:
                result = api.exec_inspect(self._exec)
        except ProblemError:
            return None
        return None if result["Running"] else result["ExitCode"]

    def close(self) -> None:
        """Ends the shell and everything it has started. Can be called again."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        if not self._reap():
            threading.Thread(target=self._reap_after_the_fault, name="reap-shell", daemon=True).start()
        with contextlib.suppress(OSError):
            self._response.close()
        self._api.close()

    def _reap(self) -> bool:
        """Ends everything with the mark. False if the server is paused: then no process can be
        started or ended."""
        state = "gone"
        with contextlib.suppress(ProblemError):
            state = self.state()
            if state == "running":
                with _api(self._engine) as api:
                    self._script(api, REAP, self._mark, self._number)
                return True
        if state == "running":  # and frozen before the script was through
            with contextlib.suppress(ProblemError):
                state = self.state()
        return state != "paused"

    def _reap_after_the_fault(self) -> None:
        while not self._reap():
            time.sleep(LOOK_SECS)


def container_of(api: Any, owner: str, run_id: str, server: tuple[int, str]) -> str:
    """The container of a server that can have a shell. Raises a 409 with the reason if none can be
    opened."""
    number, name = server
    labels = [f"{PLACE}={owner}", f"{RUN}={run_id}", f"{SERVER}={number}"]
    result = api.containers(all=True, filters={"label": labels})
    if not result:
        raise ProblemError(409, "no-container", NO_CONTAINER.format(name))
    if result[0]["State"] == "paused":
        raise ProblemError(409, "server-frozen", FROZEN.format(name))
    if result[0]["State"] != "running":
        raise ProblemError(409, "server-off", OFF.format(name))
    if SHELL_LABEL not in result[0]["Labels"]:
        raise ProblemError(409, "no-shell", MISSING)
    return result[0]["Id"]


def check(engine: str, owner: str, run_id: str, server: tuple[int, str]) -> None:
    """Raises the errors that opening a shell would raise."""
    with _api(engine) as api:
        container_of(api, owner, run_id, server)


@contextmanager
def _api(engine: str) -> Iterator[Any]:
    """A connection for one request. The engine's errors are raised as ours."""
    with explained(), contextlib.closing(connect(CALL_SECS, engine)) as api:
        yield api
