"""Endpoints of `/api/v1/figures`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request, Response

from cubeyard.catalog.endpoints import EngineOf
from cubeyard.figures import schemas
from cubeyard.figures.catalog import FigureCatalog
from cubeyard.figures.service import FigureService
from cubeyard.kit.errors import responses
from cubeyard.kit.responses import json_value
from cubeyard.kit.routing import api_router
from cubeyard.kit.unit_of_work import UnitOfWork
from cubeyard.runs.schemas import Run

router = api_router("/figures", tags=["figures"])

FigureId = Annotated[str, Path(pattern="^[a-z0-9-]{1,64}$", examples=["bcube-table2"])]


def get_service(request: Request, session: UnitOfWork, engine: EngineOf) -> FigureService:
    catalog = FigureCatalog(engine, request.app.state.settings)
    return FigureService(session, catalog, request.app.state.run_queue)


Service = Annotated[FigureService, Depends(get_service)]


@router.get("", operation_id="list_figures", summary="Published figures and tables, and how ours compare", responses=responses())  # fmt: skip
def list_figures(service: Service) -> schemas.FigureList:
    return service.every()


@router.get(
    "/{id}",
    operation_id="read_figure",
    summary="A figure: the paper's numbers beside ours",
    response_model=schemas.Figure,
    responses=responses(404),
)
def read_figure(service: Service, id: FigureId) -> Response:
    """`result` is from the latest successful run on this server, or else the built-in reference."""
    return json_value(service.read(id))


@router.post(
    "/{id}/runs",
    operation_id="start_figure_run",
    summary="Compute a figure again",
    status_code=202,
    responses=responses(404),
)
def start_figure_run(service: Service, id: FigureId, request: schemas.FigureRun) -> Run:
    return service.start(id, request)
