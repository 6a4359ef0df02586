"""Formats, lints, types, and the arrows between the rooms: as many checks at once as there are
processors, the longest first; but Rust's lints last: they wait for a build of Rust in the same
folder."""

from __future__ import annotations

import os
import shutil
import sys

from runner import ROOT, Command, failures, took, turn

PYTHON = sys.executable
OF_PYTHON = [".", "../migrations", "../bin", "../emulator/crates/python/tests", "../emulator/crates/dataplane/vectors"]


def tool(name: str) -> str:
    return f"{sys.prefix}/bin/{name}"


CHECKS = [
    ("Python's types", "backend", [tool("basedpyright")]),
    ("Calls in benches and in tests that not every run has", "backend", [tool("basedpyright"), "-p", "calls.json"]),
    ("The page's types", "frontend", ["npm", "run", "--silent", "types"]),
    ("The page's API client", "frontend", ["npm", "run", "--silent", "api:check"]),
    ("The journeys' types", "e2e", ["npm", "run", "--silent", "types"]),
    ("Python's arrows", "backend", [tool("lint-imports"), "--no-cache"]),
    ("The page's format, lints and arrows", "frontend", ["npm", "run", "--silent", "lint"]),
    ("The binding's types for Python", ".", [PYTHON, "bin/binding-stub.py", "--check"]),
    ("The fast path's object", ".", ["bin/build-bpf", "--check"]),
    ("Rust's format", "emulator", ["cargo", "fmt", "--all", "--check"]),
    ("Rust's arrows", ".", [PYTHON, "bin/check-crates.py"]),
    ("Python's format and lints", "backend", [tool("ruff"), "check", "--no-cache", *OF_PYTHON]),
    ("Python's layout", "backend", [tool("ruff"), "format", "--no-cache", "--check", *OF_PYTHON]),
    ("Files name no machine and leave nothing unfinished", ".", [PYTHON, "bin/check-files.py"]),
    ("Protocols stay in their rooms, folders say what is in them", ".", [PYTHON, "bin/check-rooms.py"]),
    ("No change adds a word that must go", ".", [PYTHON, "bin/check-words.py"]),
    (
        "Rust's lints",
        "emulator",
        ["cargo", "clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings"],
    ),
]
SHELL = [
    "setup",
    "test",
    "lint",
    "fmt",
    "bench",
    "audit",
    "lock",
    "build-bpf",
    "wheels",
    "docs",
    "cluster",
    "cubeyard",
    "serve",
    "apart",
]


def checks() -> list[Command]:
    made = [Command(title, folder, argv) for title, folder, argv in CHECKS]
    made += [
        Command(f"The dataplane's test vectors: {make.parent.name}", ".", [PYTHON, str(make), "--check"])
        for make in sorted(ROOT.glob("emulator/crates/dataplane/vectors/*/make.py"))
    ]
    if shutil.which("shellcheck"):
        scripts = [*(f"bin/{name}" for name in SHELL), ".ci/run", "backend/tests/deployment/postgres/entrypoint.sh"]
        made.append(Command("Shell scripts", ".", ["shellcheck", "-x", *scripts]))
    return made


def main() -> int:
    results = turn(checks(), width=os.cpu_count() or 2)
    failed = failures(results)
    print(took(results), file=sys.stderr)
    if failed:
        print(f"error: failed: {'; '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
