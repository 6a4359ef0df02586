"""Graphviz DOT: the whole grammar of graphs, with HTML inside labels taken as text.

Read here and not by a library: pydot takes 1.2 ms a statement, must not run in two threads, and
forgets lines; a test holds both to the same graphs. Grammar:
https://graphviz.org/doc/info/lang.html
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from cubeyard.reading.problems import refused
from cubeyard.reading.text import strict
from cubeyard.topologies.network import MAX_LINKS, MAX_NESTING, OWN, Edge, Network, Node

_TOKEN = re.compile(
    r"""(?P<space>[\s\ufeff]+|//[^\n]*|^\#[^\n]*|/\*(?s:.*?)\*/)
      |(?P<quoted>"(?:[^"\\]|\\(?s:.))*")
      |(?P<word>[A-Za-z_\u0080-\U0010ffff][A-Za-z0-9_\u0080-\U0010ffff]*|-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?))
      |(?P<mark>--|->|[{}\[\]=;,:+])
      |(?P<html><)""",
    re.VERBOSE | re.MULTILINE,
)
_KEYWORDS = frozenset(("graph", "digraph", "subgraph", "node", "edge", "strict"))
_COMPASS = frozenset(("n", "ne", "e", "se", "s", "sw", "w", "nw", "c", "_"))
_HINT = "Write DOT as Graphviz reads it: graph { a -- b; }"


class _Token(NamedTuple):
    kind: str
    """`word`, `id` (quoted or HTML, never a keyword), a mark itself, or `end`."""
    text: str
    line: int


class _Place(NamedTuple):
    node: str
    port: str


@dataclass
class _Scope:
    """Defaults that hold up to the closing brace, and the nodes of a subgraph."""

    node: dict[str, str] = field(default_factory=dict)
    edge: dict[str, str] = field(default_factory=dict)
    places: dict[str, None] = field(default_factory=dict)


def read(data: bytes) -> Network:
    """Raises `BadListError` by line."""
    return _Parser(strict(data)).graph()


def _tokens(text: str) -> Iterator[_Token]:
    at, line = 0, 1
    while at < len(text):
        matched = _TOKEN.match(text, at)
        if matched is None:
            raise refused(f"line {line}", f"{text[at]!r} is not expected here.", _HINT, line=line)
        kind, end = str(matched.lastgroup), matched.end()
        if kind == "html":
            end = _html_end(text, at, line)
        words = text[at:end]
        if kind == "quoted":
            yield _Token("id", words[1:-1].replace("\\\n", "").replace('\\"', '"'), line)
        elif kind == "html":
            yield _Token("id", words[1:-1], line)
        elif kind == "word":
            yield _Token("word", words, line)
        elif kind == "mark":
            yield _Token(words, words, line)
        line += words.count("\n")
        at = end
    yield _Token("end", "the end of the file", line)


def _html_end(text: str, start: int, line: int) -> int:
    depth = 0
    for result in re.compile("[<>]").finditer(text, start):
        depth += 1 if result[0] == "<" else -1
        if depth == 0:
            return result.end()
    raise refused(f"line {line}", "The HTML label is not closed.", _HINT, line=line)


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = next(self._tokens)
        self._network = Network("dot")
        self._attributes: dict[str, dict[str, str]] = {}
        self._strict = False
        self._pairs: set[tuple[str, str]] = set()
        self._network.own = OWN.search(text[:400]) is not None

    def graph(self) -> Network:
        self._strict = self._taken_word("strict")
        if not self._taken_word("graph"):
            if not self._taken_word("digraph"):
                self._wrong("The file does not begin with graph or digraph.")
            self._network.directed = True
        if self._next.kind in ("word", "id"):
            self._network.name = self._take().text[:120]
        self._block(_Scope(), 1)
        if self._next.kind != "end":
            self._wrong("Something follows the graph.", "Put one graph into a file.")
        return self._network

    def _take(self) -> _Token:
        token = self._next
        self._next = next(self._tokens, token)
        return token

    def _taken(self, kind: str) -> bool:
        if self._next.kind != kind:
            return False
        self._take()
        return True

    def _is_word(self, word: str) -> bool:
        return self._next.kind == "word" and self._next.text.lower() == word

    def _separator(self) -> None:
        if not self._taken(";"):
            self._taken(",")

    def _taken_word(self, word: str) -> bool:
        if not self._is_word(word):
            return False
        self._take()
        return True

    def _wrong(self, message: str, hint: str = _HINT) -> None:
        raise refused(f"line {self._next.line}", message, hint, line=self._next.line, value=self._next.text[:40])

    def _need(self, kind: str) -> None:
        if not self._taken(kind):
            self._wrong(f"{kind!r} is expected, and {self._next.text[:40]!r} is there.")

    def _id(self) -> str:
        token = self._next
        if token.kind not in ("word", "id") or (token.kind == "word" and token.text.lower() in _KEYWORDS):
            self._wrong(f"A name is expected, and {token.text[:40]!r} is there.")
        text = self._take().text
        while token.kind == "id" and self._taken("+"):
            text += self._id()
        return text

    def _block(self, scope: _Scope, depth: int) -> None:
        """`{ … }`."""
        if depth > MAX_NESTING:
            self._wrong(f"Subgraphs are nested more than {MAX_NESTING} deep.", "Write the graph without them.")
        self._need("{")
        while not self._taken("}"):
            if self._next.kind == "end":
                self._wrong("The graph is not closed.", "Add the missing }.")
            self._statement(scope, depth)
            self._separator()

    def _statement(self, scope: _Scope, depth: int) -> None:
        for word, defaults in (("node", scope.node), ("edge", scope.edge), ("graph", {})):
            if self._taken_word(word):
                defaults.update(self._list())
                return
        line = self._next.line
        first = self._places(scope, depth)
        if isinstance(first, _Place) and self._taken("="):
            self._id()
            return
        chain = [first]
        while self._next.kind in ("--", "->"):
            self._take()
            chain.append(self._places(scope, depth))
        given = self._list()
        for item in chain:
            for node in [item.node] if isinstance(item, _Place) else ():
                self._declare(node, scope, line, given if len(chain) == 1 else {})
        for before, after in itertools.pairwise(chain):
            for a in self._each(before):
                for b in self._each(after):
                    self._edge(a, b, {**scope.edge, **given}, line)

    def _each(self, places: _Place | list[str]) -> list[_Place]:
        return [places] if isinstance(places, _Place) else [_Place(node, "") for node in places]

    def _places(self, scope: _Scope, depth: int) -> _Place | list[str]:
        """A node with its port, or the nodes of a subgraph."""
        named = self._taken_word("subgraph")
        if named and self._next.kind in ("word", "id"):
            self._id()
        if named or self._next.kind == "{":
            inner = _Scope(dict(scope.node), dict(scope.edge))
            self._block(inner, depth + 1)
            scope.places |= inner.places
            return list(inner.places)
        node, port = self._id(), ""
        if self._taken(":"):
            port = self._id()
            if self._taken(":"):
                self._id()
            elif port in _COMPASS:
                port = ""
        return _Place(node, port)

    def _list(self) -> dict[str, str]:
        given: dict[str, str] = {}
        while self._taken("["):
            while not self._taken("]"):
                name = self._id().casefold()
                given[name] = self._id() if self._taken("=") else "true"
                self._separator()
        return given

    def _declare(self, name: str, scope: _Scope, line: int, given: dict[str, str]) -> None:
        scope.places[name] = None
        if name not in self._attributes:
            self._attributes[name] = dict(scope.node)
            self._network.add_node(name, Node(self._attributes[name], f"line {line}"), line)
        self._attributes[name].update(given)
        if (label := given.get("label", "").strip()) and label != "\\N":
            # The fields of a record are lines too.
            self._network.nodes[name].label = re.sub("[|{}]", "\n", label) if "|" in label else label

    def _edge(self, a: _Place, b: _Place, given: dict[str, str], line: int) -> None:
        pair = (a.node, b.node) if self._network.directed else (min(a.node, b.node), max(a.node, b.node))
        if self._strict and pair in self._pairs:
            return
        self._pairs.add(pair)
        ports = (a.port or given.get("a_port", ""), b.port or given.get("b_port", ""))
        self._network.add_edge(Edge(a.node, b.node, *ports, given, f"line {line}"), line)
        if len(self._pairs) > MAX_LINKS:
            self._wrong(f"The file has more than {MAX_LINKS:,} links.", "Import a part of the network.")
