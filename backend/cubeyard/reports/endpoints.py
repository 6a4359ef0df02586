"""Endpoints of `/api/v1/runs/{id}/report.html` and `.pdf`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import Depends, Request, Response

from cubeyard.experiments.endpoints import Service as Experiments
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import Id
from cubeyard.kit.responses import NotJson, download
from cubeyard.kit.routing import api_router
from cubeyard.reports import service
from cubeyard.reports.content import Report
from cubeyard.reports.html import html
from cubeyard.runs.endpoints import Service as Runs

router = api_router(tags=["runs"])

PAGE = {200: {"description": "The report, self-contained.", "content": {"text/html": {"schema": {"type": "string"}}}}}
PRINT = {
    200: {
        "description": "The report, typeset.",
        "content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}},
    }
}


def get_report(request: Request, runs: Runs, experiments: Experiments, id: Id) -> Report:
    run, database = runs.read(id), request.app.state.database
    if run.experiment_id is None:
        return service.of_figure(database, run)
    return service.of_experiment(database, run, experiments.row(run.experiment_id))


Wanted = Annotated[Report, Depends(get_report)]


@router.get(
    "/runs/{id}/report.html",
    operation_id="read_report_page",
    summary="A run's report as one HTML file",
    response_class=NotJson,
    responses={**PAGE, **responses(404)},
)
def read_report_page(report: Wanted, id: Id) -> Response:
    """For an unfinished run, the report has the results so far and states that it is incomplete."""
    return _file(html(report), "text/html; charset=utf-8", f"run-{id}.html")


@router.get(
    "/runs/{id}/report.pdf",
    operation_id="read_report_pdf",
    summary="A run's report as PDF",
    response_class=NotJson,
    responses={**PRINT, **responses(404)},
)
def read_report_pdf(report: Wanted, id: Id) -> Response:
    from cubeyard.reports.pdf import pdf

    return _file(pdf(report), "application/pdf", f"run-{id}.pdf")


def _file(chunks: Iterator[bytes], media_type: str, name: str) -> Response:
    """The browser displays the file instead of saving it; the name is the default for saving."""
    response = download(chunks, media_type, name)
    response.headers["content-disposition"] = response.headers["content-disposition"].replace("attachment", "inline", 1)
    return response
