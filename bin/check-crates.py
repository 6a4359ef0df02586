"""Fails on a Rust crate with a forbidden dependency, on a test file that no program compiles, and
on a crate that engine and programs build with different features. Reads `cargo metadata` and
`cargo tree`; the rules are below."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

EMULATOR = Path(__file__).resolve().parents[1] / "emulator"
PREFIX = "cubeyard-"

# Direct dependencies allowed for each crate. Their own dependencies are allowed too.
ARROWS: dict[str, tuple[str, ...]] = {
    "features": (),
    "contract": (),
    "topology": ("features",),
    "routing": ("topology",),
    "plan": ("topology",),
    "sim": ("plan", "routing"),
    "search": ("sim",),
    "life": ("sim",),
    "chip": ("routing",),
    "python": ("search", "life", "sandbox", "chip"),
    "dataplane": ("topology", "routing", "chip"),
    "messages": ("contract", "dataplane"),
    "virtual": ("sandbox",),
    "sandbox": ("dataplane",),
    "node": ("messages", "sandbox"),
    "fabric": ("messages",),
    "serverswitch": ("chip",),
}
# The emulator uses no HTTP, SQL or Docker; only the binding uses Python.
STRANGERS = {
    "hyper",
    "reqwest",
    "axum",
    "actix-web",
    "warp",
    "ureq",
    "sqlx",
    "postgres",
    "tokio-postgres",
    "diesel",
    "bollard",
}
ONLY_IN = {"pyo3": "python", "numpy": "python"}

# Built by separate calls of cargo. A crate with different features in two of them is built twice,
# with all its dependents.
BUILT = ("python", "node", "fabric")
BUILT_TWICE = {f"{PREFIX}sandbox"}


def allowed(room: str) -> set[str]:
    """Every room that `room` may use, straight or through another."""
    reached: set[str] = set()
    waiting = list(ARROWS[room])
    while waiting:
        other = waiting.pop()
        if other not in reached:
            reached.add(other)
            waiting.extend(ARROWS[other])
    return reached


def wrong_arrows(metadata: dict[str, Any]) -> list[str]:
    """Errors in the output of `cargo metadata --no-deps`; dependencies of tests count too."""
    wrong: list[str] = []
    for package in metadata["packages"]:
        name: str = package["name"]
        room = name.removeprefix(PREFIX)
        if room not in ARROWS:
            wrong.append(f"{name} has no place in the house: add it to ARROWS in {Path(__file__).name}")
            continue
        for used in sorted({dependency["name"] for dependency in package["dependencies"]}):
            other = used.removeprefix(PREFIX)
            if used.startswith(PREFIX) and other not in allowed(room):
                wrong.append(
                    f"{name} must not use {used}: it may use {', '.join(sorted(allowed(room))) or 'none of ours'}"
                )
            elif used in STRANGERS:
                wrong.append(f"{name} must not use {used}: the emulator knows nothing of HTTP, SQL or Docker")
            elif ONLY_IN.get(used, room) != room:
                wrong.append(f"{name} must not use {used}: only {PREFIX}{ONLY_IN[used]} may")
    return wrong


def tests_left_out(metadata: dict[str, Any]) -> list[str]:
    """Test files that no program compiles: with `tests/all.rs`, cargo compiles only its modules."""
    wrong: list[str] = []
    for package in metadata["packages"]:
        tests = Path(package["manifest_path"]).parent / "tests"
        programs = {Path(target["src_path"]) for target in package["targets"] if target["kind"] == ["test"]}
        if (root := tests / "all.rs") not in programs:
            continue
        modules = set(re.findall(r"^mod (\w+);", root.read_text(), flags=re.MULTILINE))
        wrong += [
            f"{file.relative_to(EMULATOR)} is tested by nothing: add `mod {file.stem};` to tests/all.rs"
            for file in sorted(tests.glob("*.rs"))
            if file not in programs and file.stem not in modules
        ]
    return wrong


def features_that_differ(trees: dict[str, str]) -> list[str]:
    """Errors in the lines of `cargo tree` (package, bar, features), by crate."""
    result: dict[str, dict[str, str]] = {}
    for room, lines in trees.items():
        for line in lines.splitlines():
            package, _, features = line.partition("|")
            result.setdefault(" ".join(package.split()[:2]), {})[features] = room
    return [
        f"{package} is built again for other features: "
        + "; ".join(f"{PREFIX}{room} has {features or 'none'}" for features, room in by.items())
        + f": add them to {PREFIX}features, which all of these use"
        for package, by in sorted(result.items())
        if len(by) > 1 and package.split()[0] not in BUILT_TWICE
    ]


def cargo(*command: str) -> str:
    done = subprocess.run(
        ["cargo", *command, "--locked", "--offline"], cwd=EMULATOR, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        sys.exit(1)
    return done.stdout


def main() -> int:
    metadata = json.loads(cargo("metadata", "--no-deps", "--format-version", "1"))
    tree = ("tree", "--edges", "normal,build", "--prefix", "none", "--no-dedupe", "--format", "{p}|{f}", "--package")
    trees = {room: cargo(*tree, f"{PREFIX}{room}") for room in BUILT}
    # In CI the set-up builds in the profile of the tests, so that both share every crate.
    edges = ("tree", "--edges", "normal,build,dev", *tree[3:-1])
    trees["tests"] = cargo(*edges, "--workspace", "--exclude", f"{PREFIX}python")
    wrong = wrong_arrows(metadata) + tests_left_out(metadata) + features_that_differ(trees)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    if not wrong:
        print(f"crates: the arrows of {len(metadata['packages'])} crates point the right way, all tests have a program")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
