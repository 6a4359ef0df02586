"""The web application: every module's endpoints, behind the layers that every request passes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import structlog
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool

from cubeyard import __version__
from cubeyard.asbuilt.endpoints import AS_BUILT_PATH
from cubeyard.asbuilt.endpoints import router as as_built_router
from cubeyard.catalog.endpoints import PRICES_PATH
from cubeyard.catalog.endpoints import router as catalog_router
from cubeyard.catalog.service import CatalogService
from cubeyard.chip.endpoints import router as chip_router
from cubeyard.emulation.fabric.metrics import FabricCollector
from cubeyard.emulation.live.chips.endpoints import router as chips_router
from cubeyard.emulation.live.endpoints import router as emulation_router
from cubeyard.emulation.live.packets.endpoints import router as packets_router
from cubeyard.emulation.live.packets.schemas import event_schemas as packet_event_schemas
from cubeyard.emulation.live.packets.streams import PacketStreams
from cubeyard.emulation.live.service import Outliner
from cubeyard.emulation.live.terminal.endpoints import router as terminal_router
from cubeyard.emulation.live.terminal.session import Terminals
from cubeyard.engine import Engine
from cubeyard.experiments.endpoints import experiments as experiments_router
from cubeyard.experiments.endpoints import router as predictions_router
from cubeyard.experiments.engines import EMULATION
from cubeyard.experiments.scenario.endpoints import router as scenarios_router
from cubeyard.figures.endpoints import router as figures_router
from cubeyard.frames.catalog import schemas as frame_schemas
from cubeyard.jobs.endpoints import router as jobs_router
from cubeyard.jobs.options import links as label_links
from cubeyard.jobs.queue import Queue
from cubeyard.kit import problems
from cubeyard.kit.asgi import (
    ANY_MEDIA_TYPE,
    CSV_MEDIA_TYPE,
    JSON_MEDIA_TYPE,
    XLSX_MEDIA_TYPE,
    BodyLimits,
    HeadAsGet,
    Preconditions,
    RequestContext,
)
from cubeyard.kit.auth.endpoints import pages as login_pages
from cubeyard.kit.auth.endpoints import router as tokens_router
from cubeyard.kit.auth.endpoints import session as session_router
from cubeyard.kit.auth.guard import Guard
from cubeyard.kit.auth.slowing import Slowing
from cubeyard.kit.changes.endpoints import router as changes_router
from cubeyard.kit.compression import Compression
from cubeyard.kit.confined.forks import ReaderLimits
from cubeyard.kit.confined.readers import Readers
from cubeyard.kit.db import Database
from cubeyard.kit.errors import MEDIA_TYPE
from cubeyard.kit.idempotency.route import describe
from cubeyard.kit.metrics import CONTENT_TYPE_LATEST, Metrics
from cubeyard.kit.models import Model
from cubeyard.kit.pages import Pages
from cubeyard.kit.root_path import RootPath
from cubeyard.kit.routing import PREFIX, LateRoute, routes_of
from cubeyard.kit.schema import OtherSchemaError, migrate_own, refuse_other
from cubeyard.life.endpoints import router as life_router
from cubeyard.notes.endpoints import router as notes_router
from cubeyard.plans.endpoints import plans as plans_router
from cubeyard.plans.endpoints import router as plans_and_topologies
from cubeyard.plans.endpoints import topologies as topologies_router
from cubeyard.plans.work.endpoints import router as work_router
from cubeyard.reports.endpoints import router as reports_router
from cubeyard.runs.endpoints import router as runs_router
from cubeyard.runs.metrics import RunCollector
from cubeyard.runs.queue import RunQueue
from cubeyard.runs.stream import RunStreams
from cubeyard.search.endpoints import router as search_router
from cubeyard.settings import Settings
from cubeyard.topologies.endpoints import IMPORT_MEDIA_TYPES, IMPORT_PATH
from cubeyard.topologies.endpoints import router as topology_import_router
from cubeyard.trials.endpoints import router as trials_router
from cubeyard.webhooks.endpoints import router as webhooks_router
from cubeyard.worker import supervise

log = structlog.get_logger(__name__)

DESCRIPTION = """Plans, prices and wires container data centers.

Every error is RFC 9457 problem JSON. Collections page with `limit` and `cursor`. A plan's ETag changes with every change of it;
send it back as `If-Match` (412 if the plan moved) or send `base_revision` (409)."""

probes = APIRouter(tags=["operation"], route_class=LateRoute)


class Health(Model):
    status: str
    database: str
    engine: str
    version: str


@probes.get(
    "/healthz",
    operation_id="healthz",
    summary="Whether the database and the engine answer",
    responses={503: {"model": Health}},
)
def healthz(request: Request, response: Response) -> Health:
    database = engine = "ok"
    try:
        refuse_other(request.app.state.database.engine)
    except OtherSchemaError as error:
        database = f"unavailable: {error.detail}"
    except Exception as error:
        log.warning("health_database", error=str(error))
        database = "unavailable"
    try:
        engine = f"ok {request.app.state.engine.build_version}"
    except ImportError as error:
        log.warning("health_engine", error=str(error))
        engine = "unavailable"
    well = not any(state.startswith("unavailable") for state in (database, engine))
    response.status_code = 200 if well else 503
    return Health(status="ok" if well else "unavailable", database=database, engine=engine, version=__version__)


@probes.get("/livez", operation_id="livez", include_in_schema=False)
async def livez() -> Response:
    """Whether this process answers. It calls nothing else: a restart brings no database back."""
    return Response("ok\n", media_type="text/plain")


@probes.get("/metrics", operation_id="metrics", summary="Counters for Prometheus", include_in_schema=False)
def metrics(request: Request) -> Response:
    return Response(request.app.state.metrics.text(), media_type=CONTENT_TYPE_LATEST)


ROUTES = routes_of(
    topology_import_router,
    plans_and_topologies,
    topologies_router,
    plans_router,
    search_router,
    life_router,
    trials_router,
    work_router,
    as_built_router,
    notes_router,
    jobs_router,
    scenarios_router,
    predictions_router,
    experiments_router,
    runs_router,
    reports_router,
    emulation_router,
    packets_router,
    chips_router,
    terminal_router,
    figures_router,
    catalog_router,
    chip_router,
    changes_router,
    webhooks_router,
    tokens_router,
    session_router,
    probes,
    login_pages,
    label_links,
)
"""Of every application in this process."""


def create_app(settings: Settings | None = None, *, database: Database | None = None, worker: bool = False) -> FastAPI:
    """The application. With a `database` it uses that one and leaves it open; with `worker` it also
    does the jobs."""
    settings = settings or Settings()
    measured = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        own = database is None
        try:
            app.state.database = opened = await run_in_threadpool(_opened, settings, database, app.state.engine)
        except Exception as error:
            app.state.start_error = error
            raise
        app.state.streams = streams = RunStreams(opened)
        measured.watch_pool(opened.engine)
        collectors = (RunCollector(opened, settings.job_lease_secs), FabricCollector(settings))
        for collector in collectors:
            measured.registry.register(collector)
        stopping = asyncio.Event()
        working: asyncio.Task[None] | None = None
        try:
            if worker:
                working = asyncio.create_task(supervise(settings, opened, app.state.engine, stopping))
            yield
        finally:
            stopping.set()
            for collector in collectors:
                measured.registry.unregister(collector)
            await app.state.terminals.close()
            await streams.close()
            if working is not None:
                await working
            if own:
                await run_in_threadpool(opened.close)

    app = FastAPI(
        routes=list(ROUTES),
        title="Cubeyard",
        version=__version__,
        description=DESCRIPTION,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )
    app.state.settings = settings
    app.state.start_error = None
    app.state.metrics = measured
    app.state.slowing = Slowing()
    app.state.engine = Engine(settings, measured)
    app.state.terminals = Terminals(settings)
    app.state.readers = Readers(ReaderLimits(settings.reader_secs, settings.reader_bytes))
    app.state.packet_streams = PacketStreams()
    app.state.outliners = {EMULATION.name: Outliner(app.state.engine, settings)}
    app.state.queue = Queue()
    app.state.run_queue = RunQueue()
    problems.install(app)
    app.router.default = Pages(settings.frontend_dir, settings.docs_dir)
    app.openapi = lambda: openapi(app)

    _add_layers(app, settings, measured)
    return app


def _add_layers(app: FastAPI, settings: Settings, measured: Metrics) -> None:
    # The last one added is the first one passed.
    app.add_middleware(Preconditions)
    app.add_middleware(HeadAsGet)
    app.add_middleware(Compression)
    app.add_middleware(
        BodyLimits,
        max_bytes=settings.max_body_bytes,
        tables={
            PRICES_PATH: (XLSX_MEDIA_TYPE, CSV_MEDIA_TYPE, ANY_MEDIA_TYPE),
            AS_BUILT_PATH: (CSV_MEDIA_TYPE, JSON_MEDIA_TYPE, XLSX_MEDIA_TYPE, ANY_MEDIA_TYPE),
            IMPORT_PATH: IMPORT_MEDIA_TYPES,
        },
        max_table_bytes=settings.max_table_bytes,
    )
    app.add_middleware(Guard, settings=settings, application=app)
    app.add_middleware(RequestContext, metrics=measured)
    if settings.root_path:
        app.add_middleware(RootPath, root=settings.root_path)


def _opened(settings: Settings, given: Database | None, engine: Engine) -> Database:
    database = given or Database(settings)
    try:
        prepare(database, engine)
    except BaseException:
        if given is None:
            database.close()
        raise
    return database


def prepare(database: Database, engine: Engine) -> None:
    """Brings the builtin price books up to date, and the tables of an embedded database. Harmless
    when they are, or when others do it too. Raises OtherSchemaError for other tables."""
    migrate_own(database)
    with database.session() as session:
        CatalogService(session, engine).seed(engine.builtin_books)


def openapi(app: FastAPI) -> dict[str, Any]:
    """The API's description; errors are problem JSON and nothing else."""
    if app.openapi_schema is None:
        schema = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        _share_problems(schema)
        describe(schema)
        for unused in ("HTTPValidationError", "ValidationError"):
            schema["components"]["schemas"].pop(unused, None)
        for kept in (frame_schemas, packet_event_schemas):
            schema["components"]["schemas"] |= kept("#/components/schemas/{model}")
        for name, model in schema["components"]["schemas"].items():
            if "title" in model:  # generators name classes by it
                model["title"] = name
        schema["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        schema["security"] = [{}, {"token": []}]
        if app.state.settings.root_path:
            schema["servers"] = [{"url": app.state.settings.root_path}]
        app.openapi_schema = schema
    return app.openapi_schema


def _share_problems(schema: dict[str, Any]) -> None:
    """Each status has a response that all operations refer to."""
    shared = schema["components"].setdefault("responses", {})
    for path in schema["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                content = response.get("content", {})
                if MEDIA_TYPE in content:
                    content.pop("application/json", None)
                    shared[f"Problem{status}"] = response
                    operation["responses"][status] = {"$ref": f"#/components/responses/Problem{status}"}


def openapi_text(app: FastAPI) -> bytes:
    return orjson.dumps(openapi(app), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
