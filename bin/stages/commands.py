"""What each stage of `bin/test` runs: turns of commands, those of a turn side by side."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from runner import IN_CI, ROOT, Again, Command

PYTEST = [sys.executable, "-m", "pytest", "-q"]
CARGO = ["cargo", "test", "--workspace", "--exclude", "cubeyard-python", "--locked", "--quiet", "--no-fail-fast"]
NETWORKS = ("cubeyard-fabric", "cubeyard-node")
"""Crates whose tests make networks or send by the clock: they wait more than they compute."""
LANES = 3
GIVES_WAY = ["chrt", "--idle", "0"]
"""Before a command that takes only the processor time that others leave."""


@dataclass(frozen=True)
class Asked:
    run: str
    """`short`, `all` or `quick`."""
    stages: set[str]
    folder: Path
    """For what commands keep from each other while the stages run."""

    @property
    def long(self) -> bool:
        return self.run == "all"


Turns = Iterator[list[Command]]


def lint(asked: Asked) -> Turns:
    yield [Command("Formats, lints, types and arrows", ".", [*GIVES_WAY, "bin/lint"])]


def rust(asked: Asked) -> Turns:
    # In CI random tests try the same cases every time; elsewhere they try new ones.
    env = {"PROPTEST_RNG_SEED": "2009"} if IN_CI else {}
    env |= {} if asked.long else {"PROPTEST_CASES": "64"}
    yield [Command("Tests in Rust, built", "emulator", [*CARGO, "--no-run"], env)]
    networks, others = _rust_targets()
    ignored = ["--", "--include-ignored"] if asked.long else []
    test = partial(Command, folder="emulator", env=env, again=_rust_again)
    yield [
        test(
            "Tests in Rust that make networks, and of single modules",
            argv=[*CARGO, "--lib", "--bins", *networks, *ignored],
        ),
        test("Tests in Rust, all others", argv=[*CARGO, *others, *ignored]),
        test("Examples in Rust's documentation", argv=[*CARGO, "--doc"]),
    ]


def _rust_targets() -> tuple[list[str], list[str]]:
    """`--test=NAME` of the programs of tests of NETWORKS, and of all others. Names are of all
    crates at once: a name that several have is of these. To name crates instead would build them
    with other features."""
    reported = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--format-version", "1", "--locked"],
        cwd=ROOT / "emulator", capture_output=True, text=True, check=True,
    )  # fmt: skip
    packages = json.loads(reported.stdout)["packages"]
    tests = {
        (package["name"], target["name"])
        for package in packages
        for target in package["targets"]
        if target["kind"] == ["test"]
    }
    own = {name for crate, name in tests if crate in NETWORKS}
    rest = {name for _, name in tests} - own
    return [f"--test={name}" for name in sorted(own)], [f"--test={name}" for name in sorted(rest)]


def _rust_again(said: str) -> Again | None:
    names = sorted(
        {name for block in re.findall(r"^failures:\n((?:    \S+\n)+)", said, re.MULTILINE) for name in block.split()}
    )
    targets = ["--lib", "--bins", "--tests", "--", "--include-ignored", "--exact"]
    return Again(names, [*CARGO, *targets, *names]) if names else None


def page(asked: Asked) -> Turns:
    commands = {"Tests of the page": ["test"], "The page's size": ["run", "size"]}
    yield [Command(title, "frontend", ["npm", "--silent", *words]) for title, words in commands.items()]


def _pytest(title: str, *arguments: str, cache: Path, folder: str = "backend", **more: object) -> Command:
    argv = [*PYTEST, "-o", f"cache_dir={cache}", *arguments]
    return Command(title, folder, argv, again=partial(_pytest_again, argv), **more)  # pyright: ignore[reportArgumentType]


def _pytest_again(argv: Sequence[str], said: str) -> Again | None:
    names = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", said, re.MULTILINE)
    # Alone: no other processes, no lane.
    alone = ["env", "CUBEYARD_TEST_LANES=", *argv, "--last-failed"]
    return Again(names, [*alone, "-n", "0"] if "-n" in argv else alone) if names else None


def python(asked: Asked) -> Turns:
    # Files of tests are spread over the processors, and one more: many tests wait for programs that
    # they started or killed. Tests of one file run in one process, which makes its plans once.
    spread = ["-n", str((os.cpu_count() or 2) + 1), "--dist", "loadfile"]
    of_other_stages = (
        "deployment",
        "emulation/real",
        "cluster",
        "ns3",
        "exports/test_netbox_real.py",
        "exports/test_containerlab_real.py",
    )
    others = [f"--ignore=tests/{name}" for name in of_other_stages]
    env = {"CUBEYARD_TEST_LONG": "true"} if asked.long else {}
    # Each process that collects the contract's tests makes them from the whole description, for ten
    # seconds: one does.
    contract = "tests/api/test_contract.py"
    yield [
        _pytest("Tests of the binding", "tests", folder="emulator/crates/python", cache=asked.folder / "binding"),
        _pytest(
            "Tests in Python",
            *spread,
            *others,
            f"--ignore={contract}",
            *_marks(asked),
            cache=asked.folder / "python",
            env=env,
        ),
        _pytest("The API keeps its description", *_marks(asked), contract, cache=asked.folder / "contract", env=env),
    ]


def _marks(asked: Asked) -> list[str]:
    return {"short": ["-m", "not long"], "quick": ["-m", "not long and not whole"]}.get(asked.run, [])


def deployment(asked: Asked) -> Turns:
    # Beside the tests in Python it takes the wheel of this checkout; alone it builds the engine in
    # its image too.
    env = {"CUBEYARD_TEST_BUILT_ENGINE": "true"} if "python" in asked.stages else {}
    if "cluster" in asked.stages:
        env["CUBEYARD_TEST_KEEP_IMAGE"] = "true"
    yield [
        _pytest(
            "The service in containers", *_marks(asked), "tests/deployment", cache=asked.folder / "deployment", env=env
        )
    ]


def journeys(asked: Asked) -> Turns:
    yield [_journeys(asked, "together", "Journeys through the page, in a browser")]
    yield [_journeys(asked, "alone", "Journeys that measure the page")]


def _journeys(run: Asked, project: str, title: str) -> Command:
    """`project` is in e2e/playwright.config.ts."""
    short = [] if run.long else ["--grep-invert", "@long"]
    argv = ["npx", "playwright", "test", "--no-deps", "--project", project, *short]
    return Command(title, "e2e", argv, {"CUBEYARD_LOG_LEVEL": "warning"}, flaky=_flaky_journeys)


def _flaky_journeys(said: str) -> list[str]:
    """Playwright repeats a failed test itself."""
    block = re.search(r"^  \d+ flaky\n((?:    .+\n)+)", said, re.MULTILINE)
    return [line.strip() for line in block[1].splitlines()] if block else []


def emulation(asked: Asked) -> Turns:
    """Real packets wait more than they compute: lanes side by side, each as on a machine of its own
    (`bin/apart`). A lane that has ended a file of tests takes the next
    (tests/emulation/real/lanes.py). CUBEYARD_TEST_APART=false runs all one after the other, on this
    machine, as without root. The journeys are after the lanes: a fourth lane of packets is more
    than two cores carry."""
    tests = [*_marks(asked), "tests/emulation/real"]
    apart = str(ROOT / "bin/apart")
    able = os.environ.get("CUBEYARD_TEST_APART") != "false" and os.geteuid() == 0
    if not (able and subprocess.run([apart, "true"], capture_output=True, check=False).returncode == 0):
        yield [_as_root(_pytest("Emulation with real packets", *tests, cache=asked.folder / "packets"))]
    else:
        lanes = asked.folder / "lanes"
        lanes.mkdir()
        yield [_lane(number, apart, tests, lanes, asked.folder / f"lane{number}") for number in range(1, LANES + 1)]
    yield [_journeys(asked, "live", "Journeys with real packets")]


def _lane(number: int, apart: str, tests: list[str], lanes: Path, cache: Path) -> Command:
    item = _pytest(f"Emulation with real packets, lane {number} of {LANES}", "--durations=12", *tests, cache=cache)
    argv = [apart, *item.argv]
    return Command(item.title, item.folder, argv, {"CUBEYARD_TEST_LANES": str(lanes)}, partial(_pytest_again, argv))


def _as_root(command: Command) -> Command:
    """As root if this user has sudo, without leaving files of root in the checkout. Without sudo
    the tests say why they skip."""
    if os.geteuid() == 0 or not shutil.which("sudo") or subprocess.run(["sudo", "-v"], check=False).returncode:
        return command
    kept = [f"{name}={os.environ.get(name, '')}" for name in ("PATH", "CI")]
    extra = [f"{name}={value}" for name, value in {**command.env, "PYTHONDONTWRITEBYTECODE": "1"}.items()]
    return Command(command.title, command.folder, ["sudo", "env", *kept, *extra, *command.argv], {}, command.again)


def cluster(asked: Asked) -> Turns:
    yield [Command("What the cluster takes: Kubernetes and Helm, built once", ".", ["bin/cluster", "build"])]
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    test = _pytest("Servers as pods on a real cluster, jobs of Slurm", "-rs", "--durations=5", "tests/cluster", cache=asked.folder / "cluster", env={"XDG_CACHE_HOME": cache})  # fmt: skip
    yield [_as_root(test)]


def with_program(title: str, path: str, asked: Asked, *, variables: tuple[str, ...], root: bool = False) -> Turns:
    """Tests of a program that this project does not install: the environment names it, under the
    name that the tests read."""
    env = {f"CUBEYARD_TEST_{name}": os.environ.get(name, "") for name in variables}
    test = _pytest(title, "-rs", "-rP", path, cache=asked.folder / "program", env=env)
    yield [_as_root(test) if root else test]
