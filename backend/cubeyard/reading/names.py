"""When two texts name one device or one port: one set of rules for lists, plans and networks.
[ours]"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\ufe58\ufe63\uff0d", "-"))
_DROPPED = frozenset(("Cf", "Cc", "Co", "Cs"))
_MAC = re.compile(
    r"(?:mac[ :=]+)?(?:(?:[0-9a-f]{2}[:. -]){5}(?:[0-9a-f]{2}[:. -]){0,2}[0-9a-f]{2}|[0-9a-f]{4}(?:[.:-][0-9a-f]{4}){2,3}|[0-9a-f]{6}[-:][0-9a-f]{6}"
    r"|(?=.*[a-f])(?:0x)?(?:[0-9a-f]{12}|[0-9a-f]{16})|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
    re.IGNORECASE,
)
"""MAC addresses, EUI-64 and GUIDs of adapters, and UUIDs of machines."""
_IP = re.compile(
    r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?:/[0-9]{1,2}|:[0-9]{1,5})?|\[?(?=.*:.*:)[0-9a-f:]{2,39}(?:%\w+)?(?:/[0-9]{1,3}|\](?::[0-9]{1,5})?)?",
    re.IGNORECASE,
)
_DOMAIN = re.compile(r"[a-z_-][a-z0-9_-]*(?:\.[a-z0-9_-]+)*|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.[a-z]{2,}")
_PORT = re.compile(r"([a-z]+(?:[ -][a-z]+)*)[ -]?([0-9].*)")
_PORT_KINDS = {
    name: kind
    for kind, names in {
        "ethernet": ("ethernet", "eth", "et"),
        "gigabit": ("gigabitethernet", "gigethernet", "gige", "gig", "gi", "ge"),
        "2.5gigabit": ("twopointfivegigabitethernet", "tw"),
        "10gigabit": ("tengigabitethernet", "tengige", "ten", "te", "xe", "xge", "xgigabitethernet"),
        "25gigabit": ("twentyfivegige", "twentyfivegigabitethernet", "twe", "tf"),
        "40gigabit": ("fortygigabitethernet", "fortygige", "fo"),
        "50gigabit": ("fiftygige", "fiftygigabitethernet", "fi"),
        "100gigabit": ("hundredgige", "hundredgigabitethernet", "hu", "ce"),
        "400gigabit": ("fourhundredgige", "fourhundredgigabitethernet", "fh"),
        "p": ("port", "p"),
        "swp": ("swp", "switchport"),
    }.items()
    for name in names
}
NO_NAMES = frozenset(
    ("n/a", "na", "n.a.", "n. a.", "n/c", "none", "null", "nil", "nan", "tbd", "tba", "tbc",
     "unknown", "not advertised", "localhost", "localhost.localdomain", "not connected", "not used", "disconnected", "empty", "unused", "unassigned", "spare", "free", "reserved", "vacant", "available", "(none)",
     "k.a.", "k. a.", "keine", "kein", "leer", "frei", "unbekannt", "unbenutzt", "reserviert", "nicht belegt", "nicht verbunden",
     "aucun", "vide", "libre", "inconnu", "r\u00e9serv\u00e9")
)  # fmt: skip
"""What people put into a cell that names nothing, in lower case. Marks alone name nothing
either."""


def clean(text: str) -> str:
    """The same name in plain characters: NFKC, one kind of dash, no invisible characters, single
    spaces. Idempotent."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    plain = unicodedata.normalize("NFKC", text).translate(_DASHES)
    visible = "".join(
        " " if entry.isspace() else entry
        for entry in plain
        if entry.isspace() or unicodedata.category(entry) not in _DROPPED
    )
    # Without the characters between them, letters may combine.
    return unicodedata.normalize("NFKC", " ".join(visible.split())).translate(_DASHES)


def folded(text: str) -> str:
    """The same without letter case."""
    return clean(clean(text).casefold())


def joined(text: str) -> str:
    """The same with one separator of its words: `h0_0` and `h0 0` are `h0-0`."""
    return re.sub(r"[-_ ]+", "-", folded(text))


def is_nobody(text: str) -> bool:
    """Whether a cell names nothing."""
    words = folded(text)
    return words in NO_NAMES or not any(map(str.isalnum, words))


def is_address(text: str) -> bool:
    """Whether a text is a MAC or IP address: it says where to send, not what a device or port is
    called."""
    words = clean(text)
    return bool(_MAC.fullmatch(words) or _IP.fullmatch(words))


def short(text: str) -> str:
    """The host name before a domain, `leaf1` of `Leaf1.dc1.example.net`; empty for a name without
    one, and for addresses."""
    host, dot, domain = folded(text).rstrip(".").partition(".")
    return host if dot and host and not is_address(text) and _DOMAIN.fullmatch(domain) else ""


def port_key(text: str) -> str:
    """A port's kind and number, however a vendor abbreviates it: the same for `Eth1/1` and
    `Ethernet 1/1`."""
    words = folded(text)
    result = _PORT.fullmatch(words)
    if result is None:
        return words
    kind = result[1].replace(" ", "").replace("-", "")
    return f"{_PORT_KINDS.get(kind, kind)}{result[2].replace(' ', '')}"


class Directory(Generic[T]):
    """What known names stand for. A text stands for one of them by the strictest rule that gives
    any, if that gives exactly one."""

    def __init__(self, names: Iterable[tuple[str, T]], *, ports: bool = False) -> None:
        """The first of two ports with one name counts, so that own names come first; two devices
        with one name have none."""
        rules = (str, clean, folded, port_key) if ports else (str, clean, folded)
        self._known: list[tuple[Callable[[str], str], dict[str, set[T]]]] = [(rule, defaultdict(set)) for rule in rules]
        self._hosts: dict[str, set[T]] = defaultdict(set)
        """Names with a domain, by their host names."""
        exact = self._known[0][1]
        for name, value in names:
            if ports and name in exact:
                continue
            for rule, known in self._known:
                known[rule(name)].add(value)
            if not ports and (host := short(name)):
                self._hosts[host].add(value)
        self._ports = ports

    def find(self, text: str) -> T | None:
        """None where no name is meant, or one of several."""
        for rule, known in self._known:
            if values := known.get(rule(text)):
                return _only(values)
        if self._ports:
            return None
        # A domain is left away on one side alone: two domains are two devices.
        host = short(text)
        return _only((self._known[2][1] if host else self._hosts).get(host or folded(text), set()))


def _only(values: set[T]) -> T | None:
    return next(iter(values)) if len(values) == 1 else None


def one_device(names: Sequence[str], apart: set[frozenset[str]]) -> dict[str, str]:
    """For each name of a file the spelling that stands for its device: the first one, or the host
    name without its domain.

    Names that differ in characters, spaces, letter case or a domain are one, unless two of them are
    in `apart`. A host name with several domains stays as it is, and so do its names with a domain.
    """
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(folded(name).rstrip(".") or name, []).append(name)
    domains: dict[str, list[str]] = {}
    for words in groups:
        if host := short(words):
            domains.setdefault(host, []).append(words)
    for host, full in domains.items():
        if host in groups and len(full) == 1:
            groups[host] += groups.pop(full[0])
    out: dict[str, str] = {}
    for members in groups.values():
        separate = any(frozenset((entry, two)) in apart for i, entry in enumerate(members) for two in members[i + 1 :])
        for name in members:
            out[name] = name if separate else members[0]
    return out
