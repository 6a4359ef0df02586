"""How a sheet is printed: paper, print area, repeated header rows, and a footer with the page
number."""

from __future__ import annotations

from xlsxwriter.worksheet import Worksheet

from cubeyard.exports.text import plain
from cubeyard.plans.view import PlanView

# Excel's numbers of papers: (ordinary, twice as large).
_PAPERS = {"a4": (9, 8), "letter": (1, 3)}
_MAX_NAME_CHARACTERS = 80


def paper_of(plan: PlanView) -> str:
    """The plan's paper: `a4` or `letter`."""
    return plan.spec["site"].get("paper") or "a4"


def set_page(
    sheet: Worksheet,
    plan: PlanView,
    *,
    last_row: int,
    last_column: int,
    header_row: int | None = None,
    large: bool = False,
    portrait: bool = False,
) -> None:
    """One page wide and any number of pages high. Rows and columns count from 0; the print area
    includes the last row and column."""
    if not portrait:
        sheet.set_landscape()
    sheet.set_paper(_PAPERS[paper_of(plan)][large])
    sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.7)
    sheet.fit_to_pages(1, 0)
    sheet.print_area(0, 0, max(last_row, 0), last_column)
    if header_row is not None:
        sheet.repeat_rows(header_row)
    # `&` starts a code in a footer.
    name = plain(plan.name).replace("\n", " ").replace("&", "&&")[:_MAX_NAME_CHARACTERS].rstrip("&")
    sheet.set_footer(f"&L{name} \u00b7 plan {plan.plan_hash[:12]}&C&A&RPage &P of &N")
