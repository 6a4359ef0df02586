"""Set-up installs packages of the system only after a yes: on a terminal, or given with the
call."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TOOLS = (
    "bash", "cat", "cut", "dirname", "env", "find", "getent", "grep", "id", "mkdir", "mktemp", "printf", "readlink", "rm",
    "sed", "sha256sum", "sort", "tail", "tr", "xargs",
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
