"""The options of exports: which formats accept an option, and its allowed values.

The command line, the API and the page list the options from here. The error for an invalid value
names the option.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

PAPERS = ("a4", "letter")
CODES = ("cable", "link", "none")
PRINTERS = ("any", "brady", "brother", "dymo")
MAX_FIRST_LABEL = 1000
MAX_LINK_CHARACTERS = 80
_LINK = re.compile(r"https?://[^\s\"<>\\^`{|}]+")


class ExportOptionError(ValueError):
    """An option that the format does not accept, or a value that the option does not allow."""

    def __init__(self, name: str, value: object, message: str, *, limit: str = "", hint: str = "") -> None:
        super().__init__(" ".join(filter(None, [f"{name}: {message}", hint])))
        self.name, self.value, self.message, self.limit, self.hint = name, value, message, limit, hint


@dataclass(frozen=True, slots=True)
class ExportOptions:
    paper: Literal["a4", "letter"] | None = None
    """The paper to print on; the plan's (`site.paper`) if omitted. The plan is computed for this
    paper, because its bill lists the label sheets."""
    first_label: int = 1
    """The first unused label of the first sheet in the printer, counted from 1 down the columns."""
    codes: Literal["cable", "link", "none"] = "cable"
    """The QR codes on labels: the cable's id, a link to the cable in crew mode, or none."""
    link: str | None = None
    """The URL prefix of links to cables; the cable's number is appended. Required for
    `codes=link`."""
    printer: Literal["any", "brady", "brother", "dymo"] = "any"
    """The program that prints labels, whose columns the list has: Brady Workstation, Brother
    P-touch Editor or DYMO Connect."""
    solid: bool = False
    """DXF: also draw racks, devices, trays and bundles as 3D bodies."""

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        return {item.name: value for item in fields(self) if (value := getattr(self, item.name)) != item.default}


NO_OPTIONS = ExportOptions()


def check(format: str, takes: tuple[str, ...], values: Mapping[str, Any]) -> ExportOptions:
    """Checks the options of `values`; `None` means not given. Raises `ExportOptionError` for the
    first invalid option."""
    given = {name: value for name, value in values.items() if value is not None}
    for name, value in given.items():
        if name not in takes:
            hint = f"It takes {', '.join(takes)}." if takes else "It takes no options."
            raise ExportOptionError(name, value, f"The format {format} does not take this option.", hint=hint)
    _one_of("paper", given.get("paper"), PAPERS)
    _one_of("codes", given.get("codes"), CODES)
    _one_of("printer", given.get("printer"), PRINTERS)
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
        raise ExportOptionError("codes", "link", "A code with a link needs the start of the link.", hint="Give `link`.")
    return ExportOptions(**given)


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value is not None and value not in allowed:
        raise ExportOptionError(name, value, f"{value} is not one of {', '.join(allowed)}.", limit=", ".join(allowed))
