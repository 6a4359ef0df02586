"""Fails if a protocol's name occurs outside its folders, or if a folder lacks a description.

A protocol has a folder in the dataplane and in `bpf/`; its tests, benchmarks, vectors and figures
may name it too, and so may the catalogue. Citations like `[bcube §7.5]` name a paper, not the
protocol. Families (`topology`, `routing`, `plan`, `sim`) are not protocols: this check reads only
the emulator's folders.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DATAPLANE = "emulator/crates/dataplane"
CATALOG = f"{DATAPLANE}/src/catalog.rs"

# Folders that must not name a protocol.
GENERAL = (
    DATAPLANE,
    "emulator/crates/fabric",
    "emulator/crates/messages",
    "emulator/crates/node",
    "emulator/crates/virtual",
    "emulator/bpf",
    "backend/cubeyard/emulation",
    "frontend/src/features/emulation",
)
FIGURES = "backend/cubeyard/emulation/figures/"
# Files of tests, benchmarks and vectors; in Rust also the rest of a file after `#[cfg(test)]`.
TESTS = re.compile(r"(^|/)(tests|benches|vectors)/|\.test\.tsx?$|(^|/)test_\w+\.py$")
CITATION = re.compile(r"\[[a-z0-9 ]+ §[^\]]*\]")
# Further words of a protocol.
MORE_WORDS = {"bcube": ("bsr",)}
# Folders in `bpf/` of a protocol's other forwardings.
MORE_FOLDERS = {"bcube": ("emulator/bpf/serverswitch/",)}
SOURCES = {".rs", ".c", ".h", ".py", ".ts", ".tsx"}

# Folders of code that need a description, and the files that may hold it instead of a README.md.
DESCRIBED = (
    ("emulator/crates", ("lib.rs", "main.rs", "mod.rs")),
    ("emulator/bpf", ()),
    ("backend/cubeyard", ("__init__.py",)),
    ("frontend/src", ("index.ts", "index.tsx")),
)
LEAST_LINES = 4


def protocols(catalog: str) -> list[str]:
    """The rooms that the catalogue lists, by the name of their folder."""
    matched = re.search(r"\bPROTOCOLS\b[^=]*=\s*&\[(.*?)\];", catalog, re.DOTALL)
    return re.findall(r"\b([a-z0-9_]+)::ENTRY\b", matched[1]) if matched else []


def unlisted(paths: Iterable[str], read: Callable[[str], str], listed: Iterable[str]) -> list[str]:
    """Folders of the dataplane with an entry that the catalogue does not list, one sentence
    each."""
    room = re.compile(rf"{DATAPLANE}/src/(\w+)/mod\.rs")
    rooms = {result[1]: path for path in paths if (result := room.fullmatch(path))}
    return [
        f"{path}: has an ENTRY that {CATALOG} does not list; add {name}::ENTRY to PROTOCOLS"
        for name, path in rooms.items()
        if name not in listed and re.search(r"\bENTRY: ProtocolEntry\b", read(path))
    ]


def in_its_room(path: str, protocol: str) -> bool:
    """Whether a file may name the protocol."""
    folders = (f"{DATAPLANE}/src/{protocol}/", f"emulator/bpf/{protocol}/", FIGURES, *MORE_FOLDERS.get(protocol, ()))
    return path == CATALOG or path.startswith(folders) or TESTS.search(path) is not None


def names_outside(path: str, text: str, protocol: str) -> list[str]:
    """The lines of a file that name a protocol, one sentence each. `path` is relative to the
    checkout."""
    if in_its_room(path, protocol):
        return []
    words = (protocol, *MORE_WORDS.get(protocol, ()))
    # As a word in any case, and in identifiers: `bcube_chain`, `BcubeHeader`, `MAX_BCUBE_N`.
    name = re.compile("|".join(f"(?<![a-z])(?i:{word})(?![A-Za-z])|{word.title()}(?=[A-Z])" for word in words))
    wrong = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() == "#[cfg(test)]":
            break
        if line.strip() in (f"mod {protocol};", f"pub mod {protocol};"):  # the crate has to name its modules
            continue
        if name.search(CITATION.sub("", line)):
            wrong.append(f"{path}:{number}: names {protocol} outside its room: {line.strip()[:100]}")
    return wrong


def top_lines(text: str) -> int:
    """Lines of prose that a file begins with: module docs, a docstring, a comment, or all of a
    README."""
    lines = [line.strip() for line in text.splitlines()]
    if lines and lines[0].startswith("//!"):
        prose = [line.removeprefix("//!") for line in takewhile(lambda line: line.startswith("//!"), lines)]
    elif lines and lines[0].startswith('"""'):
        prose = text.split('"""')[1].splitlines()
    elif lines and lines[0].startswith("/*"):
        prose = [line.strip("/* ") for line in text.split("*/", maxsplit=1)[0].splitlines()]
    elif lines and lines[0].startswith("//"):
        prose = [line.strip("/ ") for line in takewhile(lambda line: line.startswith("//"), lines)]
    else:
        prose = lines if lines and lines[0].startswith("#") else []
    return sum(bool(line.strip()) for line in prose)


def undescribed(paths: Iterable[str], read: Callable[[str], str]) -> list[str]:
    """Folders with sources whose top does not say what is in them, one sentence each."""
    folders: dict[str, set[str]] = {}
    known = set(paths)
    for path in known:
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, set()).add(name)
    wrong = []
    for folder, names in sorted(folders.items()):
        for place, files in DESCRIBED:
            inside = folder == place or folder.startswith(f"{place}/")
            code = any(Path(name).suffix in SOURCES for name in names)
            if not inside or not code or TESTS.search(f"{folder}/") or folder.endswith("/gen"):
                continue
            candidates = [f"{folder}/{name}" for name in ("README.md", *files) if name in names]
            if f"{folder}.rs" in known:  # the other place of a Rust module's docs
                candidates.append(f"{folder}.rs")
            most = max((top_lines(read(path)) for path in candidates), default=0)
            if most < LEAST_LINES:
                where = " or ".join(("README.md", *files))
                wrong.append(f"{folder}: says in {most} lines what is in it; at least {LEAST_LINES} in its {where}")
    return wrong


def main() -> int:
    # Files that are not staged yet count too.
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        print("rooms: not a git checkout, so nothing to check")
        return 0
    paths = [path for path in listed.stdout.decode().split("\0") if path and (ROOT / path).is_file()]

    def read(path: str) -> str:
        return (ROOT / path).read_text(encoding="utf-8", errors="replace")

    names = protocols(read(CATALOG)) if (ROOT / CATALOG).exists() else []
    if not names:
        print(f"{CATALOG}: lists no protocol", file=sys.stderr)
        return 1
    sources = [
        path
        for path in paths
        if Path(path).suffix in SOURCES and path.startswith(tuple(f"{item}/" for item in GENERAL))
    ]
    wrong = [sentence for name in names for path in sources for sentence in names_outside(path, read(path), name)]
    wrong += unlisted(paths, read, names)
    wrong += undescribed(paths, read)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    if not wrong:
        print(
            f"rooms: {', '.join(names)} in {len(sources)} files of the emulator stand in their rooms; each folder says what is in it"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
