"""What an export is: a name on the command line and in the URL, a media type, an extension."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[float, str], None]
"""Called with a fraction between 0 and 1 and a few words on what is being done."""


DOCUMENTS, CREW, NETWORK, RESEARCH = (
    "Documents and drawings",
    "Cabling and power",
    "Network tools",
    "Labs and simulators",
)
GROUPS = (DOCUMENTS, CREW, NETWORK, RESEARCH)


@dataclass(frozen=True, slots=True)
class ExportFormat:
    name: str
    """The word in `/exports/{format}` and `--format`."""
    media_type: str
    extension: str
    """Without a leading dot; may hold one, as `clab.yml` does."""
    title: str
    description: str
    group: str = DOCUMENTS
    """The heading under which menus and tables list it: one of `GROUPS`."""
    checked: str = ""
    """What the file was checked with, where that is not the program that it is for."""


class UnknownExportFormatError(ValueError):
    """No export has that name; the message lists those that exist."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"format {name!r} does not exist: use one of {', '.join(known)}")
        self.name = name
        self.known = known


def no_progress(fraction: float, doing: str) -> None:
    """The progress callback of a caller that does not care."""
    _ = fraction, doing
