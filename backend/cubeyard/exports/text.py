"""Text made safe for the file it goes into: spreadsheets, XML, file names, slugs."""

from __future__ import annotations

import re
import unicodedata

from cubeyard.kit.text import FORMULA_STARTS

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NOT_FILE = re.compile(r"([^A-Za-z0-9._-]|\.{2,})+")
_NOT_FILE_NAME = re.compile(r"([^\w.-]|\.{2,})+")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")


def plain(value: object) -> str:
    """`value` as text without the control characters XML 1.0 forbids; `None` becomes the empty
    string."""
    if value is None:
        return ""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", str(value))


def cell(value: object) -> str:
    """Text for a spreadsheet cell: text that would start a formula gets a leading apostrophe and
    stays text.

    A spreadsheet evaluates a CSV field that starts with `=`, `+`, `-` or `@`, even with quotes.
    Anybody can name a part or a plan, so such a name must not run on the purchaser's machine.
    Callers never pass numbers.
    """
    text = plain(value)
    return "'" + text if text.startswith(FORMULA_STARTS) else text


def xml(value: object) -> str:
    """Text for XML content or for a double-quoted attribute."""
    return plain(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def yaml(value: object) -> str:
    """Text as a YAML double-quoted scalar: plain scalars that look like numbers, dates or booleans
    would lose their type."""
    text = plain(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("\r", " ")
    return f'"{text}"'


def _ascii(value: object) -> str:
    return unicodedata.normalize("NFKD", plain(value)).encode("ascii", "ignore").decode("ascii")


def file_stem(value: object, fallback: str = "plan") -> str:
    """A file name without folders, leading dots or characters that break shells or zip readers."""
    stem = _NOT_FILE.sub("-", _ascii(value)).strip("-._")
    return stem[:80].rstrip("-._") or fallback


def file_title(value: object, fallback: str = "plan") -> str:
    """Like `file_stem`, but with the letters of every script: `Zürich-Süd`."""
    stem = _NOT_FILE_NAME.sub("-", unicodedata.normalize("NFC", plain(value))).strip("-._")
    return stem[:80].rstrip("-._") or fallback


def slug(value: object, fallback: str = "item") -> str:
    """Lower-case letters, digits and single hyphens, at most 100 characters, as NetBox requires for
    slugs."""
    return _NOT_SLUG.sub("-", _ascii(value).lower()).strip("-")[:100].rstrip("-") or fallback
