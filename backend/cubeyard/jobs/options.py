"""Export options in a URL, and the links that labels carry."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from fastapi import Depends, Path, Query, Request
from starlette.responses import RedirectResponse

from cubeyard.exports import FORMATS, ExportOptionError, ExportOptions
from cubeyard.exports.options import CODES, MAX_FIRST_LABEL, MAX_LINK_CHARACTERS, PAPERS, PRINTERS, check
from cubeyard.jobs.service import as_problem, known
from cubeyard.kit.errors import field_error, not_found
from cubeyard.kit.ids import Id
from cubeyard.kit.root_path import public
from cubeyard.kit.routing import page_router
from cubeyard.plans.endpoints import Service as Plans
from cubeyard.plans.view import PlanView

links = page_router()
LINKS = "c"
"""The first part of the path of a label's link: short, because the QR code on a label is small."""


def options_of(
    format: Annotated[str, Path(min_length=1, max_length=40, examples=["xlsx"])],
    paper: Annotated[
        Literal[PAPERS] | None,  # pyright: ignore[reportInvalidTypeForm] - the tuple holds literals
        Query(
            description="`pdf`, `xlsx`: the paper; the plan's own (`site.paper`) if left out. The bill buys labels of that size."
        ),
    ] = None,
    first_label: Annotated[
        int | None,
        Query(
            ge=1,
            le=MAX_FIRST_LABEL,
            description="`pdf`: the first free label of the first sheet, counted from 1 down its columns.",
        ),
    ] = None,
    codes: Annotated[
        Literal[CODES] | None,  # pyright: ignore[reportInvalidTypeForm]
        Query(description="`pdf`: labels' QR codes: the cable's id (by default), a link to it in crew mode, or none."),
    ] = None,
    link: Annotated[
        str | None,
        Query(
            max_length=MAX_LINK_CHARACTERS,
            description="`pdf`: start of the link in QR codes; for a saved plan, this server's address by default.",
        ),
    ] = None,
    printer: Annotated[
        Literal[PRINTERS] | None,  # pyright: ignore[reportInvalidTypeForm]
        Query(description="`labels`: the printer whose program reads the list; `any` by default."),
    ] = None,
    solid: Annotated[bool | None, Query(description="`dxf`: racks, devices, trays and bundles as bodies too.")] = None,
) -> ExportOptions:
    """The options of a request. A format that does not take one of them refuses it by its name."""
    known(format)
    given = {
        "paper": paper,
        "first_label": first_label,
        "codes": codes,
        "link": link,
        "printer": printer,
        "solid": solid,
    }
    linked_here = codes == "link" and link is None
    try:
        # Which server makes the link is known later.
        options = check(format, FORMATS[format].options, given | ({"codes": None} if linked_here else {}))
        if linked_here and "codes" not in FORMATS[format].options:
            check(format, FORMATS[format].options, given)
    except ExportOptionError as error:
        raise as_problem(error) from error
    return replace(options, codes="link") if linked_here else options


Options = Annotated[ExportOptions, Depends(options_of)]


def linked(options: ExportOptions, request: Request, plan: tuple[str, int] | None) -> ExportOptions:
    """The options with this server's link, where a link is wanted and none is given. `plan`: its id
    and revision, if saved."""
    if options.codes != "link" or options.link is not None:
        return options
    if plan is None:
        raise field_error(
            "query.codes", "link", "A plan that is not saved has no crew mode.", hint="Save it, or give `link`."
        )
    link = f"{str(request.base_url).rstrip('/')}{public(f'/{LINKS}/{plan[0]}/{plan[1]}/')}"
    if len(link) > MAX_LINK_CHARACTERS:
        raise field_error(
            "query.codes", "link", f"This server's address makes the link {len(link)} characters long.",
            limit=f"at most {MAX_LINK_CHARACTERS}", hint="Give a shorter `link`.",
        )  # fmt: skip
    return replace(options, link=link)


@links.get(f"/{LINKS}/{{id}}/{{revision}}/{{cable}}", include_in_schema=False)
def open_cable(
    plans: Plans,
    id: Id,
    revision: Annotated[int, Path(ge=1, le=2**31 - 1)],
    cable: Annotated[int, Path(ge=0, le=2**31 - 1)],
) -> RedirectResponse:
    """From the link of a label's QR code to the cable in crew mode, in the rack of its first
    end."""
    built = plans.built(id, revision)[2]
    if cable >= built.cable_count:
        raise not_found(f"cable {cable} of plan {id}; it has {built.cable_count:,}")
    view = PlanView.of(built)
    rack = view.rack_names[view.scene["devices"]["rack"][int(view.cables["a_device"][cable])]]
    return RedirectResponse(f"/plans/{id}/crew?revision={revision}&rack={rack}&cable={view.cable_name(cable)}")
