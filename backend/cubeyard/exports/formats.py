"""An export format: a name for the command line and the URL, a media type, an extension."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[float, str], None]
"""Called with a fraction between 0 and 1 and a short description of the current step."""


DOCUMENTS, CREW, NETWORK, RESEARCH = (
    "Documents and drawings",
    "Cabling and power",
    "Network tools",
    "Labs and simulators",
)
GROUPS = (DOCUMENTS, CREW, NETWORK, RESEARCH)


STREAMED_CABLES = 200_000
"""Plans with at most this number of cables are written during the download, which takes a few
seconds. Larger exports are made in the background. [ours]"""
_WHOLE_FILES = {"pdf": 2_000, "xlsx": 20_000, "nvidia-p2p": 20_000}
"""The same for formats that produce the first byte only when nearly the whole file is made."""


def cables_at_once(name: str) -> int:
    """The largest plan, in cables, that is written in this format during the download."""
    return _WHOLE_FILES.get(name, STREAMED_CABLES)


@dataclass(frozen=True, slots=True)
class ExportFormat:
    name: str
    """The name in `/exports/{format}` and `--format`."""
    media_type: str
    extension: str
    """Without a leading dot, but can contain dots, such as `clab.yml`."""
    title: str
    description: str
    group: str = DOCUMENTS
    """The heading under which menus and tables list it: one of `GROUPS`."""
    checked: str = ""
    """The program that the file was checked with, if it differs from the program that the file is
    for."""
    options: tuple[str, ...] = ()
    """The options that the format accepts: names of `ExportOptions`."""

    @property
    def unproven(self) -> bool:
        """Whether no program has opened such a file, only our reader by the documented format."""
        return bool(self.checked) and not self.checked.startswith("Read by")

    @property
    def proof(self) -> str:
        """`checked` for menus and tables."""
        return f"Unproven. {self.checked}" if self.unproven else self.checked


class UnknownExportFormatError(ValueError):
    """No export format has this name; the message lists all formats."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"format {name!r} does not exist: use one of {', '.join(known)}")
        self.name = name
        self.known = known


def no_progress(fraction: float, doing: str) -> None:
    """The progress callback of a caller that ignores progress."""
    _ = fraction, doing
