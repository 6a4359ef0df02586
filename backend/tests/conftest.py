"""A real PostgreSQL for the whole session; each test has a separate database, copied from a
migrated and seeded one."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from xdist.remote import Producer
from xdist.scheduler.loadfile import LoadFileScheduling

from cubeyard.app import create_app, prepare
from cubeyard.engine import Engine
from cubeyard.kit import logs, schema
from cubeyard.kit.db import Database
from cubeyard.kit.embedded import EmbeddedPostgres
from cubeyard.settings import Settings
from tests.databases import Databases

# Under nohup and in the background of a shell, the tests and all programs that they start would
# ignore these signals, whose effects are tested.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

# While modules are imported nothing becomes garbage that is worth looking for.
gc.disable()

SMALL = {"family": "bcube", "n": 4, "k": 1}
"""16 servers, 8 switches, 32 links."""
PAPER = {"family": "bcube", "n": 8, "k": 3, "servers": 2048}
"""The paper's container: 2,048 servers, 1,280 switches, 8,192 links."""

LONG_RUN = os.environ.get("CUBEYARD_TEST_LONG") == "true"
"""Random tests with an explicit number of cases always use it; others, and the API's contract test,
try fewer cases in the short run."""

# The time of an example depends on the machine's load, so it never fails a test.
hypothesis_settings.register_profile(
    "house", deadline=None, max_examples=100 if LONG_RUN else 15, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("house")


def examples(number: int) -> int:
    """`number` examples of a property in the long run, a sixth of them in the short run."""
    return number if LONG_RUN else max(4, number // 6)


@cache
def described() -> Any:
    """The committed description of the API: to make it takes a second. `test_cli.py` compares it
    with the program's."""
    return json.loads((Path(__file__).resolve().parents[2] / "frontend/src/api/openapi.json").read_bytes())


T = TypeVar("T")


def some(values: Sequence[T], short: int = 1) -> Sequence[T]:
    """All of them in the long run, the first `short` in the short run."""
    return values if LONG_RUN else values[:short]


WHOLE = (
    "cli",
    "deployment",
    "emulation/real",
    "exports/test_pack_form.py",
    "exports/test_pdf.py",
    "jobs",
    "kit/test_embedded.py",
    "runs",
    "test_cli.py",
    "test_run.py",
)
"""Folders and files of tests that get the marker `whole` (see pyproject.toml)."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of `WHOLE`, and makes ids unique: pytest-xdist runs only one of several tests
    with the same id."""
    places = [Path(__file__).parent / part for part in WHOLE]
    for item in items:
        if any(item.path.is_relative_to(place) for place in places):
            item.add_marker(pytest.mark.whole)
        if operation := getattr(item, "operation_label", None):  # schemathesis makes a test an operation
            item._id = item.id.with_params(operation)
    repeated = sorted(name for name, times in Counter(item.nodeid for item in items).items() if times > 1)
    if repeated:
        raise pytest.UsageError(f"several tests have one id, and all but one would not run: {', '.join(repeated[:5])}")


class Spread(LoadFileScheduling):
    """A process takes a file of tests, but of the figures a single test: computing all of them
    again takes one process half an hour."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith("tests/figures/test_references.py::") else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    return Spread(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Freezes all imported objects: collecting them again and again took a seventh of the tests'
    CPU time."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _quiet() -> None:
    logs.configure("critical")


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedPostgres]:
    """Without fsync, because these tests do not simulate power cuts. The crash tests start separate
    servers."""
    home = Path(tempfile.mkdtemp(prefix="cubeyard-tests-"))
    home.chmod(0o755)
    postgres = EmbeddedPostgres(
        home, options=("-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
    )
    postgres.start()
    try:
        yield postgres
    finally:
        postgres.stop()
        shutil.rmtree(home)


@pytest.fixture(scope="session")
def engine() -> Engine:
    return Engine(Settings())


@pytest.fixture(scope="session")
def databases(server: EmbeddedPostgres) -> Databases:
    return Databases(server)


@pytest.fixture
def empty_url(server: EmbeddedPostgres, databases: Databases) -> Iterator[str]:
    """A database with nothing in it."""
    name = databases.empty()
    yield server.url(name)
    databases.drop(name)


@pytest.fixture(scope="session")
def template(server: EmbeddedPostgres, databases: Databases, engine: Engine) -> str:
    databases.administer("CREATE DATABASE template_ready TEMPLATE template0")
    database = Database(Settings(database_url=server.url("template_ready")))
    schema.upgrade(database.engine)
    prepare(database, engine)
    database.close()
    databases.prepare("template_ready")
    return "template_ready"


@pytest.fixture
def url(server: EmbeddedPostgres, databases: Databases, template: str) -> Iterator[str]:
    """A database as a fresh server has it: every table, the builtin price books, no plans."""
    name = databases.take(template)
    yield server.url(name)
    databases.give_back(name)


@pytest.fixture
def settings(url: str, tmp_path: Path) -> Settings:
    return Settings(
        database_url=url, home=tmp_path, frontend_dir=tmp_path / "dist", docs_dir=tmp_path / "docs", job_lease_secs=3
    )


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    opened = Database(settings)
    yield opened
    opened.close()


@pytest.fixture
def working_client(settings: Settings, database: Database) -> Iterator[TestClient]:
    """With a worker inside, as `cubeyard run` has."""
    app = create_app(settings, database=database, worker=True)
    with TestClient(app, base_url="http://localhost") as opened:
        yield opened


@pytest.fixture
def client(settings: Settings, database: Database) -> Iterator[TestClient]:
    with TestClient(
        create_app(settings, database=database), base_url="http://localhost", raise_server_exceptions=False
    ) as opened:
        yield opened
