"""Splits a file into prose (comments, docstrings, documents, messages) and code, by simple
scanners."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

MESSAGE_WORDS = 4
"""A string with fewer words is a name or a format, not a message."""


@dataclass
class Prose:
    """Paragraphs with their line numbers, separated by empty lines: patterns can match a first
    word."""

    parts: list[str] = field(default_factory=lambda: ["\n\n"])
    length: int = 2
    starts: list[int] = field(default_factory=lambda: [0])
    lines: list[int] = field(default_factory=lambda: [1])
    docs: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """Documentation comments and docstrings, each with its first line."""
    long: list[int] = field(default_factory=list[int])
    """Lines of prose that are longer than LINE_LENGTH."""
    code: str = ""
    """The file without comments and strings, with the same line numbers."""

    def add(self, line: int, text: str, end: str = "\n") -> None:
        text = NAMES.sub("`", text) + end
        self.starts.append(self.length)
        self.lines.append(line)
        self.parts.append(text)
        self.length += len(text)

    def paragraph(self) -> None:
        if not self.parts[-1].endswith("\n\n"):
            self.parts.append("\n")
            self.length += 1

    @property
    def text(self) -> str:
        return "".join(self.parts).lower()

    def line_at(self, position: int) -> int:
        return self.lines[bisect_right(self.starts, position) - 1]


LINE_LENGTH = 100
NAMES = re.compile(r"`+[^`]+`+")
"""Names of code in a text: their words do not count."""
WORDS = re.compile(r"(?<![\w{./])[A-Za-z][a-z']*(?![\w/])")
STATEMENT = re.compile(r"\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH)\b")

# Each alternative begins with a literal character, which lets `re` skip quickly to the next match.
PYTHON = re.compile(
    r"""\#(?P<comment>[^\n]*)"""
    r"""|"(?:""(?P<doc>(?:[^"\\]|\\.|"(?!""))*)"{3}|(?P<double>[^"\\\n]*(?:\\.[^"\\\n]*)*)")"""
    r"""|'(?:''(?:[^'\\]|\\.|'(?!''))*'{3}|(?P<single>[^'\\\n]*(?:\\.[^'\\\n]*)*)')""",
    re.DOTALL,
)
RUST = re.compile(
    r"""/(?P<comment>/[^\n]*|\*.*?\*/)"""
    r"""|"(?:(?<=r")[^"]*"|(?<=r\#").*?"\#|(?<=\#\#").*?"\#\#|(?P<double>[^"\\]*(?:\\.[^"\\]*)*)")"""
    r"""|'(?:\\[^\n']*|[^'\\\n]|\\')'""",
    re.DOTALL,
)
SCRIPT = re.compile(
    r"""/(?P<comment>/(?<!://)[^\n]*|\*.*?\*/)"""
    r"""|"(?P<double>[^"\\\n]*(?:\\.[^"\\\n]*)*)\""""
    r"""|'(?P<single>[^'\\\n]*(?:\\.[^'\\\n]*)*)'"""
    r"""|`(?P<long>(?:[^`\\$]++|\\.|\$(?:\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\})?)*+)`""",
    re.DOTALL,
)
HASH = re.compile(
    r"""\#(?:(?<=\s\#)|(?<=^\#))(?P<comment>[^\n]*)|'[^'\n]*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*\"""", re.MULTILINE
)
ELEMENT = re.compile(r">([^<>{}=;]*[A-Za-z][^<>{}=;]*)(?=[<{])")
"""Text between two tags of JSX."""
LEADER = re.compile(r"^[ \t]*(?://[/!]?|/\*+!?|\*+(?!/)|#+!?)[ \t]?|[ \t]*\*+/[ \t]*$")
NO_STATEMENT_BEFORE = "(,[{=+\\"
FENCE = re.compile(r"^\s*(?:```|~~~)")
UNWRAPPABLE = re.compile(r"^\s*(?:\||\[[^\]]+\]:|#|biome-ignore)|https?://\S{40}|^\S*$")
LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s|^\s*#{1,6}\s|^\s*\|")


def _document(text: str) -> Prose:
    prose, fenced = Prose(), False
    for number, line in enumerate(text.splitlines(), start=1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and line.strip():
            if LIST_ITEM.match(line):
                prose.paragraph()
            prose.add(number, line.strip().lstrip("-*+#|0123456789. "))
            if len(line) > LINE_LENGTH and not UNWRAPPABLE.search(line.strip()):
                prose.long.append(number)
            continue
        prose.paragraph()
    return prose


def _block(prose: Prose, first: int, text: str, whole: list[str] | None = None) -> None:
    """A comment or docstring: its lines without what marks them; an empty one ends a paragraph."""
    fenced = False
    for number, line in enumerate(text.split("\n"), start=first):
        plain = LEADER.sub("", line).strip()
        if FENCE.match(plain):
            fenced = not fenced
        elif plain and not fenced:
            if LIST_ITEM.match(plain):
                prose.paragraph()
            prose.add(number, plain)
            if whole is not None and len(whole[number - 1]) > LINE_LENGTH and not UNWRAPPABLE.search(plain):
                prose.long.append(number)
            continue
        prose.paragraph()


def _message(prose: Prose, line: int, text: str) -> bool:
    if " " not in text or STATEMENT.match(text) or len(WORDS.findall(text)) < MESSAGE_WORDS:
        return False
    prose.paragraph()
    prose.add(line, " ".join(text.replace("\\\n", " ").split()))
    prose.paragraph()
    return True


def _is_docstring(text: str, start: int, end: int) -> bool:
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip(" \tr") or text[end : end + 1] not in ("\n", ""):
        return False
    before = text[:line].rstrip()[-1:]
    return before not in NO_STATEMENT_BEFORE or not before


def _scan(text: str, pattern: re.Pattern[str], docs: tuple[str, ...] = ()) -> Prose:
    """`docs`: how a comment begins that is documentation."""
    prose, whole = Prose(), text.split("\n")
    code: list[str] = []
    at, line, last = 0, 1, -1
    run: list[str] = []
    run_first, run_kind = 0, ""

    def close() -> None:
        nonlocal run
        if run:
            prose.paragraph()
            _block(prose, run_first, "\n".join(run), whole)
            if run_kind in docs:
                prose.docs.append((run_first, " ".join(LEADER.sub("", item).strip() for item in run)))
            prose.paragraph()
            run = []

    for hit in pattern.finditer(text):
        start, end = hit.span()
        between = text[at:start]
        line += between.count("\n")
        code.append(between)
        body = hit[0]
        code.append("\n" * body.count("\n") or " ")
        group = hit.lastgroup
        if group == "comment":
            own = not text[text.rfind("\n", 0, start) + 1 : start].strip()
            kind = body[:3] if own else ""
            kind = kind if kind in ("///", "//!", "/**") else body[:1]
            if own and run and line == last + 1 and kind == run_kind and not body.startswith("/*"):
                run.append(body)
            elif own:
                close()
                run, run_first, run_kind = [body], line, kind
            else:
                close()
                _block(prose, line, body)
                prose.paragraph()
        else:
            if group == "doc" and _is_docstring(text, start, end):
                close()
                prose.paragraph()
                inner = hit["doc"]
                _block(prose, line, inner, whole)
                prose.docs.append((line, inner))
                prose.paragraph()
            elif group:
                close()
                _message(prose, line, hit[group])
        line += body.count("\n")
        last, at = line, end
    close()
    code.append(text[at:])
    prose.code = "".join(code)
    return prose


def _script(text: str, *, tags: bool) -> Prose:
    prose = _scan(text, SCRIPT, ("/**",))
    if tags:
        prose.code = ELEMENT.sub(partial(_element, prose, prose.code), prose.code)
    return prose


def _element(prose: Prose, code: str, hit: re.Match[str]) -> str:
    lead = len(hit[1]) - len(hit[1].lstrip())
    shown = _message(prose, code.count("\n", 0, hit.start(1) + lead) + 1, hit[1])
    return ">" + "\n" * hit[1].count("\n") if shown else hit[0]


KINDS: dict[str, Callable[[str], Prose]] = {
    ".md": _document,
    ".py": lambda text: _scan(text, PYTHON),
    ".pyi": lambda text: _scan(text, PYTHON),
    ".rs": lambda text: _scan(text, RUST, ("///", "//!", "/**")),
    ".ts": lambda text: _script(text, tags=False),
    ".mjs": lambda text: _script(text, tags=False),
    ".tsx": lambda text: _script(text, tags=True),
    ".css": lambda text: _scan(text, SCRIPT),
    ".c": lambda text: _scan(text, RUST, ("/**",)),
    ".h": lambda text: _scan(text, RUST, ("/**",)),
    **dict.fromkeys((".toml", ".yaml", ".yml", ".sh", ""), lambda text: _scan(text, HASH)),
}
WITH_NAMES = {".py", ".pyi", ".rs", ".ts", ".mjs", ".tsx", ".c", ".h"}
"""Languages whose names count."""
GENERATED = re.compile(
    r"(^|/)(schema\.d\.ts|cubeyard_engine\.pyi|contract/tick\.py|LICENSE|requirements[^/]*\.txt)$|/gen/|^deploy/kubernetes/"
)


def has_prose(path: str) -> bool:
    name = Path(path)
    return name.suffix in KINDS and not GENERATED.search(path) and not name.name.startswith(".")


def split(path: str, text: str) -> Prose:
    return KINDS[Path(path).suffix](text)


def short_docs(prose: Prose, words: int) -> Iterator[int]:
    for line, text in prose.docs:
        if len(text.split()) <= words:
            yield line
