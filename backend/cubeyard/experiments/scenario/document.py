"""YAML with the line of every value, and nothing of YAML that surprises: one document, no aliases,
no tags.

Plain words are read as YAML 1.2's core schema reads them, with decimal numbers only: `00` and `no`
are text, `1e9` is a number. So names of servers need no quotes, unless they are numbers or hold a
comma.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import yaml

from cubeyard.kit.errors import FieldError, ProblemError
from cubeyard.reading.text import encoding_of

Json = dict[str, Any]
Path = tuple[str | int, ...]

MAX_BYTES = 1_000_000
MAX_VALUES = 100_000
MAX_DEPTH = 32
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9]+(?:[eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Document:
    """A YAML document's value, and where each part of it stands."""

    def __init__(self, value: Json, lines: dict[Path, int]) -> None:
        self.value = value
        self._lines = lines

    def place(self, path: Sequence[str | int]) -> tuple[str, int]:
        """A path in readable form, such as `faults[0].kind`, and its line, from 1. For a missing
        value, the line of its parent.

        Parts of the path that name an alternative of a union, as in pydantic's paths, are skipped.
        """
        known: Path = ()
        shown = ""
        parts = list(path)
        for index, part in enumerate(parts):
            here = (*known, part)
            if here in self._lines:
                known = here
            elif index < len(parts) - 1 or not isinstance(part, str) or not part.isidentifier():
                continue
            shown += f"[{part}]" if isinstance(part, int) else f".{part}" if shown else str(part)
        return shown, self._lines[known]


def refused(
    message: str, line: int | None = None, *, limit: str | None = None, hint: str | None = None
) -> ProblemError:
    """A 422 for a text that is no document."""
    reported = FieldError(field="text", limit=limit, message=message, hint=hint, line=line)
    return ProblemError(422, "not-a-scenario", message, errors=[reported])


def read(data: bytes | str) -> Document:
    """One mapping. Raises a 422 with the line for anything else. Takes time and memory in
    proportion to the text."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(raw) > MAX_BYTES:
        raise refused(
            f"The scenario has {len(raw):,} bytes.", limit=f"at most {MAX_BYTES:,} bytes", hint="Make it smaller."
        )
    try:
        text = raw.decode(encoding_of(raw)).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise refused("The scenario is not text in UTF-8.", hint="Save the file as UTF-8.") from error
    builder = _Builder()
    try:
        for event in yaml.parse(text, Loader=_Loader):
            builder.take(event)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
        line = None if mark is None else min(mark.line, text.count("\n")) + 1
        raise refused(f"This is not YAML: {what}.", line) from error
    if not isinstance(builder.value, dict):
        raise refused("A scenario is a mapping of fields.", 1, hint="Begin with `scenario: 1`.")
    return Document(builder.value, builder.lines)


class _Builder:
    """Values from YAML's events. The depth is bounded before anything is nested."""

    def __init__(self) -> None:
        self.value: Any = None
        self.lines: dict[Path, int] = {}
        self._open: list[tuple[Path, Any]] = []
        """The collections that are not closed, each with its path."""
        self._key: list[str | None] = []
        """The key that waits for its value, of each of them."""
        self._documents = 0

    def take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                raise refused(
                    "There is a second document.", line, limit="one document", hint="Remove what follows `---`."
                )
        elif isinstance(event, yaml.AliasEvent):
            raise refused(f"The alias *{event.anchor} is not read.", line, hint="Write the value out.")
        elif isinstance(event, yaml.ScalarEvent):
            self._plain(event, line)
            self._scalar(event, line)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._plain(event, line)
            self._begin({} if isinstance(event, yaml.MappingStartEvent) else [], line)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop()
            self._key.pop()

    @staticmethod
    def _plain(event: Any, line: int) -> None:
        if event.anchor is not None:
            raise refused(f"The anchor &{event.anchor} is not read.", line, hint="Remove it.")
        if event.tag is not None:
            raise refused(f"The tag {event.tag} is not read.", line, hint="Remove it.")

    def _begin(self, collection: Any, line: int) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise refused("This is nested too deeply.", line, limit=f"at most {MAX_DEPTH} levels")
        if self._open and isinstance(self._open[-1][1], dict) and self._key[-1] is None:
            raise refused("A field's name is a word.", line, hint="Write the name before a colon.")
        path = self._put(collection, line)
        self._open.append((path, collection))
        self._key.append(None)

    def _scalar(self, event: Any, line: int) -> None:
        if self._open and isinstance(self._open[-1][1], dict) and self._key[-1] is None:
            path, mapping = self._open[-1]
            if event.value in mapping:
                first = self.lines[(*path, event.value)]
                raise refused(f"{event.value} occurs twice, first in line {first}.", line, hint="Remove one of them.")
            self._key[-1] = event.value
            return
        self._put(event.value if event.style else resolved(event.value), line)

    def _put(self, value: Any, line: int) -> Path:
        """The value into the innermost open collection. Its path."""
        if len(self.lines) >= MAX_VALUES:
            raise refused("There are too many values.", line, limit=f"at most {MAX_VALUES:,}")
        if not self._open:
            self.value, path = value, ()
        else:
            above, collection = self._open[-1]
            if isinstance(collection, dict):
                key = self._key[-1]
                assert key is not None
                collection[key], path = value, (*above, key)
                self._key[-1] = None
            else:
                path = (*above, len(collection))
                collection.append(value)
        self.lines[path] = line
        return path


def resolved(word: str) -> Any:
    """The value of an unquoted scalar: a number, true, false, null, or text."""
    if word in _WORDS:
        return _WORDS[word]
    if _INTEGER.fullmatch(word):
        return int(word) if len(word) <= 40 else float(word)
    return float(word) if _NUMBER.fullmatch(word) else word


class _Dumper(yaml.SafeDumper):
    """Quotes every text that is read as something else without quotes, and writes a value twice
    rather than an alias."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _text(dumper: Any, value: str) -> Any:
    # Line breaks of any kind and non-printing characters are escaped.
    style = '"' if not value.isprintable() else None if resolved(value) == value else "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def write(value: Json) -> str:
    """The value as YAML that `read` gives back. The same value gives the same text."""
    return yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None, indent=2
    )
