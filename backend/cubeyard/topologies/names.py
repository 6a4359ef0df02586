"""Converts the names in a file to names that a plan can hold."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from cubeyard.reading.names import clean
from cubeyard.topologies.network import Network, lines

_MACHINE_MADE = re.compile(
    r"(?:n|node|v|vertex|id|suid)?[_ -]?[0-9]+(?:::n?[0-9]+)*|[0-9]+\.[0-9]+|[a-z]|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{24,}",
    re.IGNORECASE,
)
_OTHER = re.compile(r"[^a-z0-9]+")
_NOT_IN_PORTS = re.compile(r"[^A-Za-z0-9/._:-]")
MOST_CHARACTERS = 63


def called(network: Network) -> tuple[dict[str, str], bool]:
    """The name of each node in the plan, by its name in the file, and whether labels were used as
    names.

    Labels are used if all ids look generated (`n0`, `12`); a node without a label keeps its id.
    Names become host names (DNS labels: lower-case letters, digits and hyphens, a letter first);
    duplicates get a number appended.
    """
    nodes = network.nodes
    by_label = any(node.label for node in nodes.values()) and all(_MACHINE_MADE.fullmatch(name) for name in nodes)
    wanted = (
        {name: words or name for name, words in _labels(network).items()}
        if by_label
        else {name: name for name in nodes}
    )
    # A valid name stays unchanged, independent of the order of nodes.
    taken = {words for words in wanted.values() if _fine(words) == words}
    names: dict[str, str] = {}
    kept: set[str] = set()
    for name, words in wanted.items():
        fine = _fine(words)
        if fine == words and fine not in kept:
            names[name] = fine
            kept.add(fine)
            continue
        number, item = 1, fine
        while item in taken:
            number += 1
            item = f"{fine[: MOST_CHARACTERS - len(str(number)) - 1]}-{number}"
        names[name] = item
        taken.add(item)
    return names, by_label


def _labels(network: Network) -> dict[str, str]:
    """By node: the first line of its label, if no other node has the same, or all of it."""
    given = {name: lines(node.label) for name, node in network.nodes.items()}
    first = Counter(words[0] for words in given.values() if words)
    return {name: words[0] if words and first[words[0]] == 1 else " ".join(words) for name, words in given.items()}


def alike(network: Network, by_label: bool) -> list[tuple[str, str]]:
    """Two different names of nodes that are one as a host name, as `Leaf-1` and `leaf_1`."""
    first: dict[str, str] = {}
    out: list[tuple[str, str]] = []
    known = {frozenset(pair) for pair in network.alike}
    for name, node in network.nodes.items():
        words = (node.label if by_label else "") or name
        before = first.setdefault(_fine(words), words)
        if before != words and frozenset((before, words)) not in known:
            out.append((before, words))
    return out


def port(words: str) -> str:
    """A port's name as a plan can hold it; empty for none."""
    return _NOT_IN_PORTS.sub("_", words.strip())[:MOST_CHARACTERS]


def _fine(words: str) -> str:
    plain = unicodedata.normalize("NFKD", clean(words)).encode("ascii", "ignore").decode().lower()
    name = _OTHER.sub("-", plain).strip("-")
    if not name[:1].isalpha():
        name = f"n{name}"
    return name[:MOST_CHARACTERS].rstrip("-")
