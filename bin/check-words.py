#!/usr/bin/env python3
"""Fails if a change adds a word, sentence or name of `bin/words/patterns.py`, or long prose lines.

    bin/check-words.py                        compares the whole tree with bin/words/counts
    bin/check-words.py --lower                lowers the numbers, as `bin/fmt` does; never raises
    one bin/check-words.py COUNTER [FOLDER ...]   lists the places of a counter

The check counts over the whole tree, so that moving a file changes no count. Only the committed
numbers decide; history serves to name places.

Several people lower numbers at once. Therefore bin/words/counts merges by union (.gitattributes),
the lowest of several lines of a counter is valid, and a count may be slightly below its number
(SLACK) before the check fails and requires `--lower`. To allow a word on purpose, raise the number
by hand and give the reason in the commit.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from words import patterns, prose, wrap

ROOT = Path(__file__).resolve().parents[1]
COUNTS = "bin/words/counts"
SHORT_DOC_WORDS = 3
SLACK_LEAST, SLACK_SHARE = 5, 50
"""A count may be below its number by 5 or 2 %, so that small changes do not touch the counts."""
PLACES = 12
EXAMPLES = ("bin/words/patterns.py", "backend/tests/house/test_words.py")
"""Files that quote what must go."""

ADVICE = {
    **{name: advice for name, (advice, _) in patterns.PATTERNS.items()},
    "doc-short": f"a comment of {SHORT_DOC_WORDS} words or fewer repeats the name: delete it",
    "line-long": f"wrap prose at {prose.LINE_LENGTH} columns",
    **{f"name-{name}": advice for name, advice in patterns.NAMES.items()},
}


def hits(path: str, text: str) -> Iterator[tuple[str, int]]:
    """The places in one file, each as counter and line."""
    if path in EXAMPLES or not prose.has_prose(path):
        return
    parts = prose.split(path, text)
    for name, position in patterns.in_prose(parts.text):
        yield name, parts.line_at(position)
    for line in prose.short_docs(parts, SHORT_DOC_WORDS):
        yield "doc-short", line
    for line in parts.long:
        yield "line-long", line
    if Path(path).suffix in prose.WITH_NAMES:
        for name, position in patterns.in_code(parts.code):
            yield f"name-{name}", parts.code.count("\n", 0, position) + 1


def _count_file(path: str) -> Counter[str]:
    text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
    return Counter(name for name, _ in hits(path, text))


def _git(*arguments: str, input: str = "") -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, input=input, capture_output=True, text=True, errors="replace", check=False
    )
    return done.stdout if done.returncode == 0 else ""


def tracked(folders: Iterable[str] = ()) -> list[str]:
    paths = _git("ls-files", "-z", "--", *folders).split("\0")
    return sorted({path for path in paths if path and prose.has_prose(path) and (ROOT / path).is_file()})


def counts_of(paths: list[str]) -> Counter[str]:
    total: Counter[str] = Counter(dict.fromkeys(ADVICE, 0))
    with ProcessPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        for counts in pool.map(_count_file, paths, chunksize=64):
            total.update(counts)
    return total


def committed(text: str) -> dict[str, int]:
    """Numbers by counter. After a merge a counter may have several: the lowest holds."""
    numbers: dict[str, int] = {}
    for name, number in re.findall(r"^([a-z-]+) (\d+)$", text, re.MULTILINE):
        numbers[name] = min(int(number), numbers.get(name, int(number)))
    return {name: number for name, number in numbers.items() if name in ADVICE}


def written(numbers: dict[str, int]) -> str:
    return "".join(f"{name} {numbers[name]}\n" for name in sorted(numbers))


def lowered(counts: Counter[str], numbers: dict[str, int]) -> dict[str, int]:
    return {name: min(counts[name], numbers.get(name, counts[name])) for name in ADVICE}


def risen(counts: Counter[str], numbers: dict[str, int]) -> list[str]:
    return [name for name in ADVICE if name in numbers and counts[name] > numbers[name]]


def to_lower(counts: Counter[str], numbers: dict[str, int]) -> list[str]:
    def slack(number: int) -> int:
        return max(SLACK_LEAST, number // SLACK_SHARE)

    return [name for name in ADVICE if name not in numbers or counts[name] < numbers[name] - slack(numbers[name])]


def added(before: dict[str, str], now: dict[str, str], name: str) -> list[str]:
    """New places of a counter as `file:line: text`; text moved from another file is not new."""

    def places(texts: dict[str, str]) -> Iterator[tuple[str, str]]:
        for path, text in texts.items():
            lines = text.splitlines()
            for counter, line in hits(path, text):
                if counter == name:
                    shown = lines[line - 1].strip() if line <= len(lines) else ""
                    yield f"{path}:{line}: {shown[:120]}", shown

    known = Counter(shown for _, shown in places(before))
    new: list[str] = []
    for place, shown in places(now):
        if known[shown]:
            known[shown] -= 1
        else:
            new.append(place)
    return new


def _added_since(base: str, names: list[str]) -> dict[str, list[str]]:
    paths = [
        path for path in _git("diff", "--name-only", "--no-renames", "-z", base).split("\0") if prose.has_prose(path)
    ]
    before = {path: _git("show", f"{base}:{path}") for path in paths}
    now = {path: (ROOT / path).read_text(errors="replace") for path in paths if (ROOT / path).is_file()}
    return {name: added(before, now, name) for name in names}


def _complain(counts: Counter[str], numbers: dict[str, int], names: list[str]) -> None:
    # Uncommitted changes first; without any, all changes since the last update of the counts.
    new: dict[str, list[str]] = {name: [] for name in names}
    for base in ("HEAD", _git("log", "-1", "--format=%H", "--", COUNTS).strip()):
        if base and (rest := [name for name in names if not new[name]]):
            new.update(_added_since(base, rest))
    for name in names:
        more = f"{name}: {counts[name]}, at most {numbers[name]} ({COUNTS}). Instead: {ADVICE[name]}."
        print(more, *(f"  {place}" for place in new[name][:PLACES]), sep="\n", file=sys.stderr)
        if not new[name]:
            print(f"  merged before {COUNTS} changed; all places: bin/check-words.py {name}", file=sys.stderr)
        if len(new[name]) > PLACES:
            print(f"  and {len(new[name]) - PLACES} more", file=sys.stderr)


def _list(name: str, folders: list[str]) -> int:
    if name not in ADVICE:
        print(f"error: no counter is called {name}; there are {', '.join(ADVICE)}", file=sys.stderr)
        return 2
    for path in tracked(folders):
        for place in added({}, {path: (ROOT / path).read_text(errors="replace")}, name):
            print(place)
    return 0


def main(arguments: list[str]) -> int:
    if not (paths := tracked()):
        print("words: not a git checkout, so nothing to check")
        return 0
    if arguments == ["--wrap"]:
        wrap.rewrite(ROOT / path for path in paths)
        return 0
    if arguments and arguments != ["--lower"]:
        return _list(arguments[0], arguments[1:])
    counts, file = counts_of(paths), ROOT / COUNTS
    text = file.read_text() if file.is_file() else ""
    numbers = committed(text)
    if arguments and text != (new := written(lowered(counts, numbers))):
        file.write_text(new)
        numbers = committed(new)
    if names := risen(counts, numbers):
        _complain(counts, numbers, names)
    elif names := to_lower(counts, numbers):
        changes = ", ".join(f"{name} to {counts[name]}" for name in names)
        print(f"words: lower {changes}: run `bin/check-words.py --lower` and commit {COUNTS}", file=sys.stderr)
    else:
        print(f"words: {len(counts)} counters in {len(paths)} files, none has risen")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
