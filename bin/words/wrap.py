"""Wraps the prose that `check-words.py line-long` counts: comments, docstrings and documents."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

from . import prose

LEADERS = {
    ".md": re.compile(r"(?P<lead>)"),
    ".py": re.compile(r"\s*(?P<lead># ?)?"),
    ".rs": re.compile(r"\s*(?P<lead>//[/!]? ?)"),
    ".c": re.compile(r"\s*(?P<lead>// ?|\* )"),
    ".ts": re.compile(r"\s*(?P<lead>// ?|\* )"),
    "": re.compile(r"\s*(?P<lead># ?)"),
}
ALIKE = {".pyi": ".py", ".h": ".c", ".tsx": ".ts", ".mjs": ".ts"}
ONE_LINE_BLOCK = re.compile(r"(\s*)/\*\*? (.*) \*/$")
DIRECTIVE = re.compile(
    r"biome-ignore|eslint-|@ts-|@type|noqa|pyright:|type: ignore|fmt: |shellcheck|SPDX|@param|@returns|^#!|syntax="
)
"""Lines for programs: never joined with prose."""
ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+")
"""What begins an item of a list, and no other line."""
NO_PROSE = re.compile(r"\||#|>|<|\[[^\]]+\]:|:\w+:|\.\. ")
ATOM = re.compile(r"``[^`]*``|`[^`]*`|!?\[[^\]]*\]\([^)]*\)|\{[^}]*\}")
"""Kept on one line: code, links and their like."""
GLUE = "\0"
FOLLOW_LINES = (".c", ".h")
"""The committed objects of the fast paths name the lines of their sources."""


def wrapped(path: str, text: str) -> str:
    """The text with every paragraph wrapped that has a line of prose over the limit."""
    suffix = Path(path).suffix
    suffix = ALIKE.get(suffix, suffix)
    leader = LEADERS.get(suffix, LEADERS[""])
    lines = text.split("\n")
    for number in sorted(prose.split(path, text).long, reverse=True):
        at = number - 1
        if at < len(lines) and len(lines[at]) > prose.LINE_LENGTH and not DIRECTIVE.search(lines[at]):
            _wrap(lines, at, suffix, leader)
    return "\n".join(lines)


def rewrite(paths: Iterable[Path]) -> None:
    for path in paths:
        text = path.read_bytes().decode("utf-8", errors="surrogateescape")
        if path.suffix in FOLLOW_LINES or "\r" in text:
            continue
        if (new := wrapped(path.name, text)) != text:
            path.write_bytes(new.encode("utf-8", errors="surrogateescape"))


def _wrap(lines: list[str], at: int, suffix: str, leader: re.Pattern[str]) -> None:
    block = ONE_LINE_BLOCK.match(lines[at])
    if block and suffix in (".ts", ".c"):
        indent, words = block[1], block[2]
        begin = "/**" if "/**" in lines[at] else "/*"
        body = _fill(words, f"{indent} * ", f"{indent} * ")
        lines[at : at + 1] = [indent + begin, *body, f"{indent} */"]
        return
    lead = leader.match(lines[at])
    if lead is None:
        return
    quoted = suffix == ".py" and not lead["lead"]
    first = _first(lines, at, leader, quoted)
    last = _last(lines, at, leader, quoted)
    head = lead[0]
    strip = len(head)
    bodies = [lines[first][strip:], *(line[strip:] for line in lines[first + 1 : last + 1])]
    if any(not line.startswith(head.rstrip()) for line in lines[first : last + 1]):
        return
    item = ITEM.match(bodies[0])
    if _is_table(bodies, item is not None):
        return
    inner = re.match(r"\s*", bodies[-1])
    extra = " " * len(item[0]) if item else (inner[0] if inner and len(bodies) > 1 else "")
    if quoted:
        opened = re.match(r'r?"""', bodies[0])
        if opened:
            extra = ""
    words = " ".join(body.strip() for body in bodies)
    lines[first : last + 1] = _fill(words, head, head + extra)


def _is_table(bodies: list[str], is_item: bool) -> bool:
    """Whether the lines are columns or a hand-made list, which wrapping would mix."""
    indents = {len(body) - len(body.lstrip()) for body in bodies[:1] + bodies[2 if is_item else 1 :]}
    return any(re.search(r"\S {3,}\S", body) for body in bodies) or (not is_item and len(indents) > 1)


def _first(lines: list[str], at: int, leader: re.Pattern[str], quoted: bool) -> int:
    while not _begins(lines, at, leader, quoted) and at:
        at -= 1
    return at


def _last(lines: list[str], at: int, leader: re.Pattern[str], quoted: bool) -> int:
    while at + 1 < len(lines) and not (quoted and _closes(lines, at)):
        if _begins(lines, at + 1, leader, quoted):
            break
        at += 1
    return at


def _closes(lines: list[str], at: int) -> bool:
    line = lines[at].strip()
    return line.endswith('"""') and len(line) > 3


def _begins(lines: list[str], at: int, leader: re.Pattern[str], quoted: bool) -> bool:
    """Whether a paragraph ends before this line."""
    line, before = leader.match(lines[at]), leader.match(lines[at - 1]) if at else None
    if line is None or before is None or any(DIRECTIVE.search(lines[near]) for near in (at - 1, at)):
        return True
    body, previous = lines[at][line.end() :], lines[at - 1][before.end() :]
    if line[0].rstrip() != before[0].rstrip() and not (quoted and before[0] == line[0][: before.end()]):
        return True
    if quoted and (body.startswith(('"""', 'r"""')) or body.strip() == '"""'):
        return True
    if not body.strip() or not previous.strip():
        return True
    if DIRECTIVE.search(body) or DIRECTIVE.search(previous):
        return True
    return bool(ITEM.match(body.lstrip()) or NO_PROSE.match(body.lstrip()) or NO_PROSE.match(previous.lstrip())
                or prose.FENCE.match(previous) or prose.FENCE.match(body))  # fmt: skip


def _fill(words: str, initial: str, subsequent: str) -> list[str]:
    kept = ATOM.sub(lambda atom: atom[0].replace(" ", GLUE), words)
    # No line may begin as an item of a list or a heading.
    kept = re.sub(r" (?=(?:[-*+#>|]+|\d+[.)]|--\S*|:\w+:) )", GLUE, kept)
    filled = textwrap.wrap(
        kept, prose.LINE_LENGTH, initial_indent=initial, subsequent_indent=subsequent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace(GLUE, " ") for line in filled]
