"""Terminals in the containers of a run, over the page's WebSocket: their functions, their ends,
and leftovers."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from cubeyard.emulation.deploy.shells import MARK
from cubeyard.emulation.deploy.tools import Tools
from cubeyard.kit.embedded import EmbeddedPostgres
from tests.deployment.engine import Docker
from tests.emulation.real.conftest import _only_docker, skip
from tests.emulation.real.test_live import API, Left, Live

Json = dict[str, Any]


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    if Tools.of_machine() is None:
        skip("there is no static busybox: make setup-test installs it")


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cubeyard-terminals-") as folder:
        yield Path(folder)
        last = EmbeddedPostgres(Path(folder))
        last.start()
        last.stop()


class Terminal:
    """A terminal from the page's side."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self.printed = ""
        self.news: list[Json] = []

    def type(self, text: str) -> None:
        self._connection.send(json.dumps({"type": "input", "data": text}))

    def resize(self, columns: int, rows: int) -> None:
        self._connection.send(json.dumps({"type": "resize", "columns": columns, "rows": rows}))

    def until(self, poll: Callable[[], Any], secs: float = 30) -> Any:
        """Reads until `poll` returns a result. Raises if the connection closes before, or after
        `secs`."""
        deadline = time.monotonic() + secs
        while not (what := poll()):
            try:
                message = self._connection.recv(max(deadline - time.monotonic(), 0.1))
            except TimeoutError:
                raise AssertionError((self.printed[-2000:], self.news)) from None
            if isinstance(message, bytes):
                self.printed += message.decode(errors="replace")
            else:
                self.news.append(json.loads(message))
        return what

    def prints(self, pattern: str) -> re.Match[str]:
        return self.until(lambda: re.search(pattern, self.printed))

    def tells(self, kind: str, **fields: Any) -> Json:
        def found() -> Json | None:
            return next((item for item in self.news if {"type": kind, **fields}.items() <= item.items()), None)

        return self.until(found)


@contextmanager
def terminal(server: Live, run: str, name: str = "00", **headers: str) -> Iterator[Terminal]:
    url = f"{server.base.replace('http', 'ws', 1)}{API}/runs/{run}/servers/{quote(name)}/terminal?columns=101&rows=31"
    with connect(url, additional_headers=headers) as connection:
        yield Terminal(connection)


def marked(docker: Docker, run: str) -> list[str]:
    """Processes of terminals in the containers of a run, with any name."""
    listed = docker.run("ps", "--quiet", "--filter", f"label=cubeyard.run={run}").stdout.split()
    matches = []
    for container in listed:
        for pid in docker.run("top", container, "-eo", "pid").stdout.split()[1:]:
            try:
                if f"{MARK}=".encode() in Path(f"/proc/{pid}/environ").read_bytes():
                    matches.append(pid)
            except OSError:
                continue
    return matches


def started(docker: Docker, run: str) -> list[str]:
    """Commands that run in a run's containers, without the main process of each server."""
    listed = docker.run("ps", "--quiet", "--filter", f"label=cubeyard.run={run}").stdout.split()
    commands = [line for each in listed for line in docker.run("top", each, "-eo", "pid,args").stdout.splitlines()[1:]]
    return [line for line in commands if "cubeyard-node" not in line and "<defunct>" not in line]


def gone(docker: Docker, run: str) -> None:
    deadline = time.monotonic() + 20
    while (left := marked(docker, run)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left == []


def test_a_shell_pings_resizes_and_reports_its_exit_code(home: Path, docker: Docker, nothing_left: Left) -> None:
    with Live(home, **_only_docker(docker)) as server:
        run = server.start(mode="containers")
        server.flowing(run)
        address = f"{API}/runs/{run}/servers/00/terminal"
        status, state = server.call("GET", address)
        assert (status, state["available"], state["reason"], state["open"]) == (200, True, "", 0)
        with terminal(server, run) as item:
            assert item.tells("server")["state"] == "running"
            item.prints("h00:/# ")
            item.type("ip addr\n")
            item.prints(r"inet 10\.0\.0\.1/")
            item.type("ping -c 2 10.0.0.4\n")
            item.prints("2 packets transmitted, 2 received|2 received, 0% packet loss")
            item.type("stty size\n")
            item.prints(r"31 101")
            item.resize(77, 22)
            item.type("stty size\n")
            item.prints(r"22 77")
            # The shell has the container's rights: no capability, no writable files, and nothing of
            # this machine is visible.
            item.type(
                "grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status | sort | uniq -c; touch /x; ls /root /home /etc/shadow\n"
            )
            item.prints(r"CapBnd:\s+0000000000000000")
            item.prints("Read-only file system")
            item.prints(r"/etc/shadow: No such file")
            # Writable files are in memory: 4 MiB, without programs, devices and other users'
            # rights.
            item.type(
                "touch /run/cubeyard/x; head -c 8000000 /dev/zero > /run/y; wc -c < /run/y; grep ' /run' /proc/mounts\n"
            )
            for words in (
                "/run/cubeyard/x: Read-only",
                r"\s4194304\s",
                r"/run tmpfs rw,nosuid,nodev,noexec\S*size=4096k",
            ):
                item.prints(words)
            assert server.call("GET", address)[1]["open"] == 1
            item.type("exit 7\n")
            end = item.tells("end")
            assert (end["exit_code"], end["reason"]) == (7, "The shell has ended.")
        changes = server.call("GET", f"{API}/changes?kind=terminal")[1]["items"]
        assert [(change["action"], change["name"], change["who"]) for change in changes] == [
            ("opened", "00", "this machine")
        ]
        # A page that disconnects without a message leaves nothing behind: neither the shell nor its
        # background processes.
        with terminal(server, run, "11") as other:
            other.prints("h11:/# ")
            other.type("sleep 1000 & (env -i /bin/setsid /bin/sleep 1001 &); echo behind $((20 + 1))\n")
            other.prints("behind 21")
            assert len(marked(docker, run)) >= 2
            other.type("exec env -i /bin/sleep 1002\n")
        gone(docker, run)
        server.wait("an end of all processes but the node", lambda: started(docker, run) == [])
        assert server.call("POST", f"{API}/runs/{run}/cancel")[0] in (200, 202)
        server.ended(run)
        with terminal(server, run) as late:
            assert "is over" in late.tells("end")["reason"]


@pytest.mark.long
def test_faults_and_the_runs_end_are_told(home: Path, docker: Docker, nothing_left: Left) -> None:
    with Live(home, **_only_docker(docker)) as server:
        run = server.start(mode="containers")
        server.flowing(run)

        def fault(kind: str, target: str) -> None:
            request = {"kind": kind, "target": {"names": [target]}}
            status, message = server.call("POST", f"{API}/runs/{run}/faults", request)
            assert status == 202, message

        with terminal(server, run, "01") as frozen, terminal(server, run, "10") as off, terminal(server, run) as whole:
            for item, name in ((frozen, "h01"), (off, "h10"), (whole, "h00")):
                item.prints(f"{name}:/# ")
            fault("server-frozen", "01")
            assert "frozen" in frozen.tells("server", state="paused")["text"]
            status, state = server.call("GET", f"{API}/runs/{run}/servers/01/terminal")
            assert (status, state["available"]) == (200, False)
            assert "frozen" in state["reason"]
            fault("server-off", "10")
            assert "turned it off" in off.tells("end")["reason"]
            assert server.call("POST", f"{API}/runs/{run}/stop-all")[0] == 202
            frozen.until(lambda: [item["state"] for item in frozen.news if item["type"] == "server"][-1] == "running")
            frozen.type("echo still $((40 + 2))\n")
            frozen.prints("still 42")
            assert server.call("POST", f"{API}/runs/{run}/cancel")[0] in (200, 202)
            assert "the run is over" in whole.tells("end")["reason"]
        server.ended(run)


@pytest.mark.long
def test_an_unknown_server_namespaces_and_a_setting_give_no_shell(
    home: Path, docker: Docker, nothing_left: Left
) -> None:
    with Live(home, **_only_docker(docker)) as server:
        run = server.start()
        server.flowing(run)
        status, state = server.call("GET", f"{API}/runs/{run}/servers/00/terminal")
        assert (status, state["available"]) == (200, False)
        assert "containers only" in state["reason"]
        with terminal(server, run) as item:
            assert "containers only" in item.tells("end")["reason"]
        with terminal(server, run, "99") as nobody:
            assert "server 99" in nobody.tells("end")["reason"]
            with pytest.raises(ConnectionClosed):
                nobody.until(lambda: False)
        assert server.call("POST", f"{API}/runs/{run}/cancel")[0] in (200, 202)
        server.ended(run)
    with Live(home, CUBEYARD_TERMINALS="false", **_only_docker(docker)) as server:
        run = server.start(mode="containers")
        server.flowing(run)
        with terminal(server, run) as item:
            assert item.tells("end")["reason"] == "Terminals are turned off here (CUBEYARD_TERMINALS)."
        assert marked(docker, run) == []
        assert server.call("POST", f"{API}/runs/{run}/cancel")[0] in (200, 202)
        server.ended(run)


@pytest.mark.long
def test_terminals_are_bounded_close_when_idle_and_end_with_the_server(
    home: Path, docker: Docker, nothing_left: Left
) -> None:
    """Must be the last test of this home: the next server would continue its run."""
    limits = {"CUBEYARD_TERMINAL_LIMIT": "2", "CUBEYARD_TERMINAL_IDLE_SECS": "8"}
    with Live(home, **limits, **_only_docker(docker)) as server:
        run = server.start(mode="containers")
        server.flowing(run)
        with terminal(server, run, "00") as item, terminal(server, run, "01") as other:
            other.prints("h01:/# ")
            with terminal(server, run, "10") as third:
                assert "2 terminals are open" in third.tells("end")["reason"]
            assert "nothing was typed for 8 s" in item.tells("end")["reason"]
        gone(docker, run)
        with terminal(server, run, "00") as last:
            last.prints("h00:/# ")
            server.process.terminate()
            assert last.tells("end")["reason"] == "The server stops."
        assert server.process.wait(40) == 0
