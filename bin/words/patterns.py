"""The patterns that must go from prose, as regular expressions, and the names that must go from
code.

Texts are in lower case. A space in a pattern is any white space, so wrapping changes no count.
START is the start of a sentence: a paragraph's first word, or the word after `.`, `?`, `!`, `:` or
`;`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

START = r"(?:(?<=\n\n)|(?<=[.?!:;]\s))"
VERB = (
    r"(?:is|are|was|were|has|had|have|can|cannot|does|do|comes|came|stands|stood|stays|leaves|left|fails|failed|breaks|broke|goes|went"
    r"|takes|took|needs|follows|remains|changes|changed|costs|lies|lay|holds|happens|arrives|keeps|makes|runs|ends|starts|waits|belongs)"
)

PATTERNS: dict[str, tuple[str, str]] = {
    # name: what to write instead, and the pattern
    "headless-what": (
        "name the thing: excess packets, the time limit",
        START + r"what [^.?!;:]{3,}?[.;:](?=\s)|(?<=[a-z,] )what " + VERB + r"\b(?! the matter)",
    ),
    "headless-those": (
        "name the thing",
        START + r"(?:one|those|that|all) (?:that|which|who|of which) |\bthose (?:that|which|who) ",
    ),
    "fronted-of": ("begin with the subject", START + r"of (?!course\b)"),
    "so-many": (
        "the number or the noun",
        r"\bso (?:many|much|manieth)\b(?! (?:that|as)\b)|\bas (?:many|much)\b(?! (?:[\w']+ ){0,4}as\b)|\band the like\b|\bthe like\b|\blike it\b"
        r"|\bone of (?:its|their|his|her) own\b|\bof (?:its|their|his|her) own\b|\bfor good\b",
    ),
    "told-said": (
        "reports, returns, prints, receives",
        r"\b(?:told|tells?|says?|said|asked|asks|hears?|heard|known to)\b",
    ),
    "beside": ("compared with, next to, as well as", r"\bbesides?\b"),
    "anew": (
        "again, then, any X that",
        r"\b(?:anew|by now|thereby|whoever|whatever|wherever|whichever|at that(?=[.,;:)])|on the first day)\b",
    ),
    "stands-in": (
        "equals, is in, exists, ends, continues",
        r"\b(?:comes?|came) to(?! (?:life|be)\b)\b|\bst(?:ands?|ood) (?:in|at|on|there|here|beside|before|after|where|once|twice|alone|as|by|under|above|below|for)\b"
        r"|\b(?:that|which|what|who|not|it|this|they|already|still|nobody|one) (?:is|are|was|were) there\b|\b(?:is|are|was|were) (?:not )?there(?=[.,;:)]|\s*\n\n)"
        r"|\b(?:is|are|was|were) over\b(?! (?:the|a|an|its|\d))|\b(?:goes|go|went|gone) on\b",
    ),
    "is-to-be": (
        "must, must not",
        r"\b(?:is|are|was|were|has|have|had) to be\b|\bmay not be\b"
        r"|\b(?:it|that|which|who|they|program|run|plan|server|switch|flow|caller) (?:is|are|was|were) to (?!(?:the|a|an|each|every|all|any|its|one)\b)\w+",
    ),
    "knows-wants": (
        "name the caller, the field or the code that does it",
        r"\b(?:knows?|knew|wants|wanted to)\b(?! (?:how|that you)\b)",
    ),
    "mend": ("fix, repair, recover", r"\b(?:mend|mends|mended|mending)\b"),
    "hung-up": ("disconnected, about", r"\b(?:hung|hangs?) up on\b|\bgive or take\b"),
}
"""Rows of the list of words that a regular expression can find."""

_COMPILED = {name: re.compile(pattern.replace(" ", r"\s")) for name, (_, pattern) in PATTERNS.items()}

NAMES = {
    "one": "the noun: row, server, link",
    "found": "match, result",
    "told": "reported, message",
    "said": "reported, message",
    "asked": "request",
    "room": "namespace, folder, module, space",
    "knock": "connect",
    "hear": "receive",
    "give": "return",
}
# Each pattern begins with a literal, which `re` looks for quickly. A member's name counts where it
# is declared.
_NAMES = {name: re.compile(rf"{name}(?<![\w.$]{name})(?!\w)") for name in NAMES}
ON_THE_WIRE = ("asked", "told")
"""Fields of frames and requests: the contract's names, which do not count where a field is declared
or filled in."""
_FIELD = re.compile(r"^[ \t]*(?:pub(?:\([a-z]+\))?[ \t]+)?(?:readonly[ \t]+)?$", re.MULTILINE)


def in_prose(text: str) -> Iterator[tuple[str, int]]:
    """Each match: name of the pattern, and where in the text."""
    for name, pattern in _COMPILED.items():
        for hit in pattern.finditer(text):
            yield name, hit.start()


def in_code(code: str) -> Iterator[tuple[str, int]]:
    """Each use of a name: the name, and where in the code."""
    for name, pattern in _NAMES.items():
        for hit in pattern.finditer(code):
            if name not in ON_THE_WIRE or not _is_field(code, hit.start(), hit.end()):
                yield name, hit.start()


def _is_field(code: str, start: int, end: int) -> bool:
    after = code[end : end + 2].lstrip("?")
    return after.startswith(":") and _FIELD.match(code[code.rfind("\n", 0, start) + 1 : start]) is not None
