"""What may be chosen for one export: which formats take which option, and what it may be.

The command line, the API and the page list the options from here; a value that is not allowed is
refused by its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

PAPERS = ("a4", "letter")
CODES = ("cable", "link", "none")
MAX_FIRST_LABEL = 1000
MAX_LINK_CHARACTERS = 80
_LINK = re.compile(r"https?://[^\s\"<>\\^`{|}]+")


class ExportOptionError(ValueError):
    """An option that the format does not take, or a value that it does not allow."""

    def __init__(self, name: str, value: object, message: str, *, limit: str = "", hint: str = "") -> None:
        super().__init__(" ".join(filter(None, [f"{name}: {message}", hint])))
        self.name, self.value, self.message, self.limit, self.hint = name, value, message, limit, hint


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Every option with its default."""

    paper: Literal["a4", "letter"] | None = None
    """What is printed on; the plan's own (`site.paper`) if none is given. The plan is computed for
    it: its bill buys that stock."""
    first_label: int = 1
    """The first free label of the sheet that the printer starts with, counted from 1 down its
    columns."""
    codes: Literal["cable", "link", "none"] = "cable"
    """The QR codes on labels: the cable's id, a link to the cable in crew mode, or none."""
    link: str | None = None
    """What the link of a cable begins with: the cable's number follows. Needed for `codes=link`."""
    solid: bool = False
    """DXF: racks, devices, trays and bundles as bodies too."""

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        return {item.name: value for item in fields(self) if (value := getattr(self, item.name)) != item.default}


NO_OPTIONS = ExportOptions()


def check(format: str, takes: tuple[str, ...], values: Mapping[str, Any]) -> ExportOptions:
    """The options of `values`, `None` for those that are not given. Raises `ExportOptionError` for
    the first that is wrong."""
    given = {name: value for name, value in values.items() if value is not None}
    for name, value in given.items():
        if name not in takes:
            hint = f"It takes {', '.join(takes)}." if takes else "It takes no options."
            raise ExportOptionError(name, value, f"The format {format} does not take this option.", hint=hint)
    _one_of("paper", given.get("paper"), PAPERS)
    _one_of("codes", given.get("codes"), CODES)
    first = given.get("first_label", 1)
    if not 1 <= first <= MAX_FIRST_LABEL:
        limit = f"1 to {MAX_FIRST_LABEL}"
        raise ExportOptionError(
            "first_label", first, f"{first} is not a place on a sheet.", limit=limit, hint="Count from 1."
        )
    link = given.get("link")
    if link is not None and (len(link) > MAX_LINK_CHARACTERS or not _LINK.fullmatch(link)):
        raise ExportOptionError(
            "link", link, "This is not an http(s) address that fits into a label's code.",
            limit=f"at most {MAX_LINK_CHARACTERS} characters", hint="Give it like https://cubeyard.example.org/c/PLAN/1/.",
        )  # fmt: skip
    if given.get("codes") == "link" and link is None and "link" in takes:
        raise ExportOptionError(
            "codes", "link", "A code with a link needs to know what the link begins with.", hint="Give `link`."
        )
    return ExportOptions(**given)


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value is not None and value not in allowed:
        raise ExportOptionError(name, value, f"{value} is not one of {', '.join(allowed)}.", limit=", ".join(allowed))
