"""A Docker engine at `ssh://` and a forwarded fabric through a real sshd: its own keys and
settings, on the loopback address. The engine and the fabric are scripted."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from cubeyard.emulation.deploy import docker_ssh
from cubeyard.emulation.deploy.docker_engine import DockerGoneError, connect, engine_version
from cubeyard.emulation.fabric.client import FabricClient, FabricGoneError
from tests.deployment.compose import free_port
from tests.emulation.fabric.test_docker_ssh import DIAL, Engine, Listener
from tests.emulation.scripted import scripted

ROOT = Path(__file__).resolve().parents[4]
UNPACKED = ROOT / ".setup" / "sshd"
"""The package of the system, where `bin/setup` has unpacked it."""
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin:{UNPACKED}/usr/sbin")
START_SECS = 10
NAME = "far.example"
SERVER = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
SetEnv PATH={folder}/remote:/usr/bin:/bin
"""
CLIENT = """Host {name} b
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile {folder}/user
  IdentitiesOnly yes
  IdentityAgent none
  StrictHostKeyChecking yes
  HostKeyAlias {name}
  UserKnownHostsFile {folder}/known
  GlobalKnownHostsFile /dev/null
"""
RUN = (
    "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && mount --bind {folder}/passwd /etc/passwd && "
    "exec {sshd} -D -e -f {folder}/sshd_config"
)
"""As root, sshd needs a folder and a user that its package and its service make: here in a mount
namespace."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(SSHD is None, reason="there is no sshd (package openssh-server)"),
    pytest.mark.skipif(os.geteuid() != 0, reason="a mount namespace takes root"),
]


@dataclass
class Machine:
    """A machine that is only reached by ssh, as NAME. `folder` has its keys and the client's
    settings."""

    folder: Path
    process: subprocess.Popen[bytes]


def wait(until: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + START_SECS
    while not until():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def made_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    port, ssh = free_port(), shutil.which("ssh")
    assert ssh is not None
    for name in ("host", "user"):
        made_key(tmp_path / name)
    (tmp_path / "known").write_text(f"{NAME} {(tmp_path / 'host.pub').read_text()}")
    texts = {"port": port, "folder": tmp_path, "name": NAME, "user": pwd.getpwuid(os.geteuid()).pw_name}
    (tmp_path / "sshd_config").write_text(SERVER.format(**texts))
    (tmp_path / "ssh_config").write_text(CLIENT.format(**texts))
    for folder, name, text in (
        ("remote", "docker", DIAL.format(folder=tmp_path, python=sys.executable)),
        ("local", "ssh", f'#!/bin/sh\nexec {ssh} -F {tmp_path}/ssh_config "$@"\n'),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
        (tmp_path / folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'local'}:{os.environ['PATH']}")
    users = "".join(
        f"{line}\n" for line in Path("/etc/passwd").read_text().splitlines() if not line.startswith("sshd:")
    )
    (tmp_path / "passwd").write_text(f"{users}sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n")
    libraries = ":".join(str(path) for path in UNPACKED.glob("usr/lib/*-linux-*"))
    with ExitStack() as running:
        engine = running.enter_context(Listener(str(tmp_path / "engine.sock"), Engine))
        threading.Thread(target=engine.serve_forever, args=(0.05,), daemon=True).start()
        running.callback(engine.shutdown)
        log = running.enter_context((tmp_path / "sshd.log").open("wb"))
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", RUN.format(sshd=SSHD, folder=tmp_path)],
            env={**os.environ, "LD_LIBRARY_PATH": libraries}, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        running.callback(end, process)
        wait(lambda: process.poll() is not None or answers(port), "sshd does not listen")
        assert process.poll() is None, (tmp_path / "sshd.log").read_text()
        yield Machine(tmp_path, process)


def answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as connection:
        return connection.recv(4) == b"SSH-"
    return False


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    children = listed.read_text().split() if listed.exists() else []
    return [pid, *(item for child in children for item in family(int(child)))]


def end(process: subprocess.Popen[bytes]) -> None:
    for pid in family(process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(START_SECS)


def test_an_engine_answers_and_a_terminal_s_stream_goes_both_ways(machine: Machine) -> None:
    assert engine_version(engine=f"ssh://{NAME}") == "27.1"
    api = connect(5, f"ssh://{NAME}")
    held = api.exec_start("0123456789", socket=True, tty=True)
    held._sock.sendall(b"ls\n")
    assert held._sock.recv(100) == b"LS\n"
    # The way in which a terminal ends (`shells.py`).
    held._sock.shutdown(socket.SHUT_RDWR)
    held._response.close()
    api.close()
    wait(lambda: len(family(machine.process.pid)) == 1, "a session stays")


def test_another_key_and_another_machine_are_refused_in_words(machine: Machine) -> None:
    made_key(machine.folder / "other")
    known = machine.folder / "known"
    right = known.read_text()
    known.write_text(f"{NAME} {(machine.folder / 'other.pub').read_text()}")
    with pytest.raises(DockerGoneError, match=r"Host key for far\.example has changed"):
        engine_version(engine=f"ssh://{NAME}")
    known.write_text(right)
    (machine.folder / "user.pub").write_text((machine.folder / "other.pub").read_text())
    with pytest.raises(DockerGoneError, match=r"Permission denied"):
        engine_version(engine=f"ssh://{NAME}")


def test_a_machine_that_falls_silent_ends_a_call_in_time(machine: Machine) -> None:
    api = connect(60, f"ssh://{NAME}")
    assert api.version()["Version"] == "27.1"
    held = family(machine.process.pid)
    for pid in held:
        os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    try:
        with pytest.raises(Exception, match=r"docker system dial-stdio"):
            api.version()
        assert time.monotonic() - began < 2 * docker_ssh.SILENT_SECS
    finally:
        for pid in held:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        api.close()


def test_a_fabric_is_forwarded_as_the_how_to_says_and_its_tunnel_ends_with_the_machine(machine: Machine) -> None:
    here, there = machine.folder / "b.sock", machine.folder / "fabric.sock"
    text = (ROOT / "docs/how-to/several-hosts.md").read_text()
    (command,) = re.findall(r"^ssh -N [^#]*", text, re.MULTILINE)
    for words, ours in (("/run/user/1000/b.sock", here), ("/run/cubeyard-fabric.sock", there)):
        assert command.count(words) == 1
        command = command.replace(words, str(ours))
    here.touch()  # the leftover of a killed tunnel
    with scripted(there) as fabric:
        tunnel = subprocess.Popen(["bash", "-ec", f"exec {command}"])
        try:
            wait(lambda: here.is_socket() or tunnel.poll() is not None, "there is no socket")
            assert tunnel.poll() is None, "its end is in the output"
            with FabricClient(here) as client:
                assert client.call("host", 5)["version"] == fabric.build
            held = family(machine.process.pid)
            for pid in held:
                os.kill(pid, signal.SIGSTOP)
            try:
                assert tunnel.wait(START_SECS) != 0
            finally:
                for pid in held:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGCONT)
            with pytest.raises(FabricGoneError):
                FabricClient(here)
        finally:
            tunnel.kill()
            tunnel.wait()
