"""Everything that a build takes from elsewhere is pinned with its digest."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = [ROOT / "backend/Dockerfile", *(path for path in sorted((ROOT / "bin").iterdir()) if path.is_file())]
INSTALLS = re.compile(r"(?:pip\b|\$\{PIP\[@\]\})[^&|;\n]*?\b(?:install|wheel) (.*)")


def pinned(name: str) -> str:
    """The lines of the lock that the scripts install for a tool."""
    command = f'source "{ROOT}/bin/env.sh" && pinned {name}'
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("tool", ["setuptools", "maturin", "uv"])
def test_a_tool_that_builds_is_in_the_lock_with_its_digests(tool: str) -> None:
    first, *digests = pinned(tool).splitlines()
    assert re.fullmatch(rf"{tool}==[\d.]+ \\", first)
    assert digests
    assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) for line in digests)


def test_the_package_is_built_with_the_setuptools_of_the_lock() -> None:
    project = tomllib.loads((ROOT / "backend/pyproject.toml").read_text())
    (required,) = project["build-system"]["requires"]
    assert pinned("setuptools").startswith(f"{required} ")
    assert required in project["dependency-groups"]["dev"]


def test_no_build_takes_what_is_newest() -> None:
    """Packages come by a lock, wheels from this machine. The package is built without isolation,
    which would fetch another setuptools."""
    calls = [(path.name, match[1]) for path in SCRIPTS for match in INSTALLS.finditer(path.read_text())]
    calls = [(name, arguments) for name, arguments in calls if not arguments.endswith(">&2")]  # a hint for people
    assert len(calls) >= 8, calls
    for name, arguments in calls:
        ours = "--no-deps" in arguments and (".whl" in arguments or "--no-build-isolation" in arguments)
        assert "--require-hashes" in arguments or ours, (name, arguments)


def test_the_objects_for_the_kernel_are_checked_with_every_lint() -> None:
    """Against their sources, and where clang is of the version that made them, against a build."""
    assert '"bin/build-bpf", "--check"' in (ROOT / "bin/stages/lint.py").read_text()


def test_the_notes_of_a_release_have_the_digest_of_each_object_for_the_kernel() -> None:
    (named,) = re.findall(r'^sha256sum (.+) >"\$target"/SHA256SUMS$', (ROOT / "bin/wheels").read_text(), re.MULTILINE)
    digested = {path for pattern in named.split() for path in ROOT.glob(pattern)}
    objects = set(ROOT.glob("emulator/bpf/**/*.o"))
    assert objects
    assert objects <= digested
