"""Docker engines over ssh: with a program `ssh` that runs the remote command here, and an engine
that answers a few calls."""

from __future__ import annotations

import os
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from docker.tls import TLSConfig

from cubeyard.emulation.deploy import docker_ssh, probe
from cubeyard.emulation.deploy.docker_engine import DockerGoneError, connect, engine_version
from cubeyard.emulation.deploy.schemas import Capability
from cubeyard.settings import Settings

SSH = """#!/bin/sh
echo "$@" >> {folder}/called
while [ "$1" != -- ]; do shift; done
shift 2
export PATH={folder}/remote:$PATH
exec "$@"
"""
DIAL = """#!/bin/sh
exec {python} -c '
import os, socket, sys, threading
engine = socket.socket(socket.AF_UNIX)
engine.connect("{folder}/engine.sock")
def back():
    while data := engine.recv(65536):
        os.write(1, data)
    os._exit(0)
threading.Thread(target=back, daemon=True).start()
while data := os.read(0, 65536):
    engine.sendall(data)
'
"""


class Engine(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = b'{"Version": "27.1"}'
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        """A stream in both directions, as of an attached terminal."""
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.wfile.write(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
        while data := self.connection.recv(100):
            self.connection.sendall(data.upper())
        self.close_connection = True

    def address_string(self) -> str:
        return "test"

    def log_message(self, format: str, *args: object) -> None:
        del format, args


class Listener(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the program; an engine listens in it."""
    import sys

    (tmp_path / "remote").mkdir()
    for path, content in ((tmp_path / "ssh", SSH), (tmp_path / "remote" / "docker", DIAL)):
        path.write_text(content.format(folder=tmp_path, python=sys.executable))
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with Listener(str(tmp_path / "engine.sock"), Engine) as engine:
        threading.Thread(target=engine.serve_forever, args=(0.05,), daemon=True).start()
        yield tmp_path
        engine.shutdown()


def test_an_engine_answers_over_ssh_as_a_local_one(ssh: Path) -> None:
    assert engine_version(engine="ssh://me@far.example:2222") == "27.1"
    words = (ssh / "called").read_text()
    assert "-l me -p 2222 -- far.example docker system dial-stdio" in words
    assert "BatchMode=yes" in words
    assert "ConnectTimeout=5" in words


def test_a_context_and_the_environment_name_such_an_engine(ssh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "ssh://far.example")
    assert engine_version() == "27.1"
    assert "far.example" in (ssh / "called").read_text()


def test_a_terminal_s_stream_goes_both_ways(ssh: Path) -> None:
    del ssh
    api = connect(5, "ssh://far.example")
    held = api.exec_start("0123456789", socket=True, tty=True)
    raw = held._sock
    assert isinstance(raw, socket.socket)
    raw.sendall(b"ls\n")
    assert raw.recv(100) == b"LS\n"
    held.close()
    api.close()


def test_a_machine_that_refuses_says_why(ssh: Path) -> None:
    (ssh / "ssh").write_text("#!/bin/sh\necho 'me@far.example: Permission denied (publickey).' >&2\nexit 255\n")
    with pytest.raises(DockerGoneError, match=r"far\.example docker system dial-stdio: .*Permission denied"):
        engine_version(engine="ssh://far.example")


def test_a_silent_machine_is_given_up_in_time_and_leaves_no_process(ssh: Path) -> None:
    (ssh / "ssh").write_text(f"#!/bin/sh\necho $$ > {ssh}/pid\nexec sleep 100\n")
    began = time.monotonic()
    with pytest.raises(DockerGoneError, match=r"far\.example .*no answer within 1 s"):
        engine_version(1, "ssh://far.example")
    assert time.monotonic() - began < docker_ssh.SILENT_SECS
    pid = int((ssh / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("engine", ["tcp://b:2375", "http://10.0.0.1:2375", "tcp://127.0.0.1:2375"])
def test_tcp_without_tls_is_refused(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DockerGoneError, match=r"refused without TLS: .* root there. Take a context with host=ssh://"):
        engine_version(engine=engine)
    monkeypatch.setenv("DOCKER_HOST", engine)
    with pytest.raises(DockerGoneError, match="refused without TLS"):
        engine_version()


@pytest.mark.parametrize("host", ["far.example:2375", "TCP://far.example:2375", "http://far.example:2375"])
def test_no_spelling_of_tcp_is_taken_without_tls(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(DockerGoneError, match="refused without TLS"):
        connect(1)


@pytest.mark.parametrize("by", ["environment", "context"])
def test_tls_without_verification_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    for name in ("ca.pem", "cert.pem", "key.pem"):
        (tmp_path / name).write_text("")
    engine = ""
    if by == "environment":
        monkeypatch.setenv("DOCKER_HOST", "tcp://far.example:2376")
        monkeypatch.setenv("DOCKER_CERT_PATH", str(tmp_path))
        monkeypatch.delenv("DOCKER_TLS_VERIFY", raising=False)
    else:
        engine = "far"
        way = {"base_url": "tcp://far.example:2376", "tls": TLSConfig(verify=False)}
        monkeypatch.setattr("cubeyard.emulation.deploy.docker_engine.context", lambda _: way)
    with pytest.raises(DockerGoneError, match=r"refused without verification of its certificate .* host=ssh://HOST"):
        connect(1, engine)


@pytest.mark.parametrize(
    ("engine", "environment", "check"),
    [
        ("", "ssh://me@far.example", "ssh ssh://me@far.example docker version"),
        ("", "tcp://far.example:2376", "docker --host tcp://far.example:2376 version"),
        ("ssh://far.example", "", "ssh ssh://far.example docker version"),
        ("far", "", "docker --context far version"),
        ("", "", "Install docker.io and start dockerd"),
    ],
)
def test_the_fix_is_for_the_engine_that_is_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, engine: str, environment: str, check: str
) -> None:
    def gone(**_: object) -> str:
        raise DockerGoneError(OSError("gone"))

    monkeypatch.setattr(probe, "engine_version", gone)
    monkeypatch.setattr(probe, "ENGINE_SOCKET", tmp_path / "docker.sock")
    monkeypatch.setenv("DOCKER_HOST", environment)
    part = probe._docker(engine)
    assert check in part.fix
    assert ("Install" in part.fix) is not bool(engine or environment)


@pytest.mark.parametrize("works", [True, False])
def test_only_the_api_believes_another_process_about_its_engine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, works: bool
) -> None:
    engine = Capability(name="docker", title="A Docker engine", available=True, reason="", fix="", needed=False)
    monkeypatch.setattr(probe, "_told", lambda *_: engine)
    monkeypatch.setattr(probe, "_docker", lambda: engine.model_copy(update={"available": False}))
    machine = probe.probe(Settings(fabric_start=False, home=tmp_path, fabric_dir=tmp_path), works=works)
    (part,) = (part for part in machine.capabilities if part.name == "docker")
    assert part.available is not works


def test_no_option_of_ssh_comes_from_a_url() -> None:
    words = docker_ssh.command("ssh://far.example")
    assert words[words.index("--") + 1 :] == ["far.example", *docker_ssh.DIAL]
    with pytest.raises(DockerGoneError, match="names no host"):
        engine_version(engine="ssh://")
