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


STREAMED_CABLES = 200_000
"""Up to so many cables a plan is written while it is downloaded: a few seconds. Larger exports are
made in the background. [ours]"""
_WHOLE_FILES = {"pdf": 2_000, "xlsx": 20_000, "nvidia-p2p": 20_000}
"""The same for formats whose first byte comes when nearly the whole file is made."""


def cables_at_once(name: str) -> int:
    """The largest plan, in cables, that is written in this format while it is downloaded."""
    return _WHOLE_FILES.get(name, STREAMED_CABLES)


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
    options: tuple[str, ...] = ()
    """What may be chosen for it: names of `ExportOptions`."""


class UnknownExportFormatError(ValueError):
    """No export has that name; the message lists those that exist."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"format {name!r} does not exist: use one of {', '.join(known)}")
        self.name = name
        self.known = known


def no_progress(fraction: float, doing: str) -> None:
    """The progress callback of a caller that does not care."""
    _ = fraction, doing
