"""Set-up installs packages of the system only after a yes: on a terminal, or given with the call.
`make run` serves without the programs of the emulator, which follow."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cubeyard.emulation.fabric import process

ROOT = Path(__file__).resolve().parents[3]
TOOLS = (
    "bash", "cat", "cut", "dirname", "env", "find", "getent", "grep", "id", "install", "mkdir", "mktemp", "printf", "readlink",
    "renice", "rm", "sed", "sha256sum", "sleep", "sort", "tail", "tr", "xargs",
)  # fmt: skip
FAKES = {
    "apt-get": 'echo "$@" >>"$CALLS"',
    "sudo": 'exec "$@"',
    "cargo": "echo cargo 1",
    "npm": "exit 1",
    "node": "case $1 in -p) echo 22 ;; *) echo v22.0.0 ;; esac",
    "python3": f'[ "$1" = -m ] && exit 1; exec {sys.executable} "$@"',
}
"""There is no `cc`: gcc and libc6-dev are what this machine lacks."""


class Machine:
    def __init__(self, folder: Path) -> None:
        self.calls = folder / "calls"
        self.root = folder / "checkout"
        self.programs = folder / "programs"
        for path in (self.root / "bin", self.root / "backend", self.programs):
            path.mkdir(parents=True)
        for name in ("setup", "env.sh", "serve"):
            shutil.copy(ROOT / "bin" / name, self.root / "bin" / name)
        (self.root / "backend" / "requirements-dev.txt").write_text("uv==1\nmaturin==1\n")
        for name in TOOLS:
            (self.programs / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
        for name, text in FAKES.items():
            (self.programs / name).write_text(f"#!/bin/bash\n{text}\n")
            (self.programs / name).chmod(0o755)

    def environment(self, **given: str) -> dict[str, str]:
        return {"PATH": str(self.programs), "HOME": str(self.root), "CALLS": str(self.calls), **given}

    def setup(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs it without a terminal, its output kept."""
        command = [self.programs / "bash", self.root / "bin" / "setup", *arguments]
        given = self.environment(**environment)
        return subprocess.run(command, env=given, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def answered(self, answer: str, **environment: str) -> str:
        """On a terminal, with standard output in a pipe."""
        main, other = pty.openpty()
        command = [self.programs / "bash", self.root / "bin" / "setup", "run"]
        given = self.environment(**environment)
        with subprocess.Popen(command, env=given, stdin=other, stdout=subprocess.PIPE, stderr=other) as process:
            os.close(other)
            os.write(main, f"{answer}\n".encode())
            shown = b""
            while True:
                try:
                    shown += os.read(main, 4096)
                except OSError:  # its end, once nobody has the other side
                    break
            os.close(main)
            assert process.wait(60) != 0, "there is nothing here to set up"
        return shown.decode(errors="replace")

    @property
    def has_installed(self) -> bool:
        return self.calls.exists() and "install" in self.calls.read_text()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    if (Path("/usr/sbin/cc")).exists() or Path("/sbin/cc").exists():
        pytest.skip("the set-up looks into these folders too")
    return Machine(tmp_path)


@pytest.mark.parametrize("environment", [{}, {"CI": "true"}, {"CI": "1"}, {"PYTHONDONTWRITEBYTECODE": "1"}])
def test_without_a_terminal_the_system_stays_as_it_is(machine: Machine, environment: dict[str, str]) -> None:
    done = machine.setup("run", **environment)
    assert done.returncode == 1
    assert not machine.has_installed
    assert "gcc" in done.stderr
    assert "bin/setup run --yes" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "environment"), [(("--yes",), {}), (("run", "--yes"), {}), (("run",), {"YES": "1"})]
)
def test_a_yes_that_is_given_with_the_call_counts(
    machine: Machine, arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    done = machine.setup(*arguments, **environment)
    assert "still missing after the installation: gcc" in done.stderr
    assert machine.has_installed


@pytest.mark.parametrize("environment", [{}, {"CI": "true"}, {"PYTHONDONTWRITEBYTECODE": "1"}])
def test_a_terminal_is_asked_also_with_output_in_a_pipe(machine: Machine, environment: dict[str, str]) -> None:
    (machine.root / ".setup").mkdir()  # an earlier call that was broken off
    shown = machine.answered("n", **environment)
    assert "Go on?" in shown
    assert "nothing was installed" in shown
    assert not machine.has_installed
    machine.answered("y", **environment)
    assert machine.has_installed


def test_the_helper_of_root_is_not_started_without_a_yes(machine: Machine) -> None:
    for name, text in {"id": "echo 1000", "sudo": 'echo "$@" >>"$CALLS"'}.items():
        (machine.programs / name).unlink()
        (machine.programs / name).write_text(f"#!/bin/bash\n{text}\n")
        (machine.programs / name).chmod(0o755)
    (machine.root / "bin" / "cubeyard").write_text('#!/bin/bash\necho "sudo: ${CUBEYARD_FABRIC_SUDO:-no}"\n')
    (machine.root / "bin" / "cubeyard").chmod(0o755)
    command = [machine.programs / "bash", machine.root / "bin" / "serve"]
    for given, expected in (({"CI": "true"}, "no"), ({"YES": "1"}, "true")):
        done = subprocess.run(
            command,
            env=machine.environment(**given),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == f"sudo: {expected}\n"


BUILDERS = {
    "cc": "exit 0",
    "npm": 'mkdir -p node_modules; [ "$1" = ci ] || mkdir -p dist',
    "python3": f"""[ "$1 $2" = "-m venv" ] || exec {sys.executable} "$@"
mkdir -p "$4/bin"
for name in python uv maturin; do cp "$CALLS.$name" "$4/bin/$name"; done""",
    "cargo": """if [ "$1" = --version ]; then echo cargo 1; exit; fi
until [ -e "$CALLS.go" ]; do sleep 0.05; done
mkdir -p "target/$3"; echo built >"target/$3/$7\"""",
}
IN_ENVIRONMENT = {
    "python": "exit 0",
    "uv": "exit 0",
    "maturin": 'echo "maturin $*" >>"$CALLS"; while [ "$1" != --out ]; do shift; done; mkdir -p "$2"; touch "$2/engine.whl"',
}


@pytest.fixture
def builder(machine: Machine) -> Iterator[Machine]:
    """A machine with all tools. Its cargo waits for `calls.go`."""
    for name in ("cp", "touch"):
        (machine.programs / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
    for folder, texts in ((machine.programs, BUILDERS), (machine.calls.parent, IN_ENVIRONMENT)):
        for name, text in texts.items():
            file = folder / (name if folder == machine.programs else f"calls.{name}")
            file.write_text(f"#!/bin/bash\n{text}\n")
            file.chmod(0o755)
    for name in ("emulator", "frontend"):
        (machine.root / name).mkdir()
    yield machine
    (machine.calls.parent / "calls.go").touch()


def test_the_server_starts_while_the_programs_are_built(builder: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    done = builder.setup("run", "--serve", "--yes")
    assert done.returncode == 0, done.stderr
    assert "--profile quick" in builder.calls.read_text()
    assert " s  The engine (Rust" in done.stderr.partition("==> Set up in")[2], "the table of steps"
    monkeypatch.setattr(process, "CHECKOUT", builder.root)
    state, programs = builder.root / ".setup" / "programs-building", builder.root / ".setup" / "programs"
    _until(state.exists)
    reason, _ = process.why_missing(process.FABRIC)
    assert reason == "The emulator's programs are being built: ready in about 1 minute."
    assert not (programs / process.FABRIC).exists()
    (builder.calls.parent / "calls.go").touch()
    _until(lambda: not state.exists())
    assert {path.name for path in programs.iterdir()} == {process.FABRIC, process.NODE}
    assert "not found" in process.why_missing(process.FABRIC)[0]


def test_a_release_is_built_with_all_optimisation_and_kept(builder: Machine) -> None:
    (builder.calls.parent / "calls.go").touch()
    assert builder.setup("run", "--release", "--yes").returncode == 0
    assert builder.setup("run", "--yes").returncode == 0
    assert builder.calls.read_text().count("maturin build") == 1
    assert "--profile release" in builder.calls.read_text()


def _until(fulfilled: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not fulfilled():
        assert time.monotonic() < deadline
        time.sleep(0.05)
