"""Fails on a Rust crate that depends on one it must not know: reads `cargo metadata`, judges it by the arrows below."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

EMULATOR = Path(__file__).resolve().parents[1] / "emulator"
PREFIX = "cubeyard-"

# Who may use whom directly. What those use may be used too: an arrow may jump over a room, never turn round.
ARROWS: dict[str, tuple[str, ...]] = {
    "features": (),
    "topology": ("features",),
    "routing": ("topology",),
    "plan": ("routing", "topology"),
    "sim": ("plan",),
    "search": ("sim",),
    "life": ("sim",),
    "chip": ("routing",),
    "python": ("search", "life", "sandbox", "chip"),
    "dataplane": ("topology", "routing", "chip"),
    "messages": ("dataplane",),
    "virtual": ("sandbox",),
    "sandbox": ("dataplane",),
    "node": ("messages", "sandbox"),
    "fabric": ("messages",),
    "serverswitch": ("chip",),
}
# The network itself knows nothing of HTTP, SQL or Docker, and the binding is the only one that knows Python.
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
    """What is wrong in a document of `cargo metadata --no-deps`, one sentence each; dependencies of tests count too."""
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


def main() -> int:
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--locked", "--offline"]
    document = subprocess.run(command, cwd=EMULATOR, capture_output=True, text=True, check=False)
    if document.returncode != 0:
        print(document.stderr, file=sys.stderr)
        return 1
    metadata = json.loads(document.stdout)
    wrong = wrong_arrows(metadata)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    if not wrong:
        print(f"crates: the arrows of {len(metadata['packages'])} crates point the right way")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
