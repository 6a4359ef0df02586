"""The modules that a command imports: planning and predicting start without the web server, the
database, the emulator and NumPy.

The tests check the set of modules instead of the time: imports take nearly all of the start-up
time, and the set does not depend on the load of the machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import cast

import pytest
from typer.main import get_command

from cubeyard.cli.command import Subcommands, app
from cubeyard.cli.subcommands import SUBCOMMANDS

LIGHT = {"annotated_doc", "cubeyard", "cubeyard_engine", "shellingham", "typer"}
LISTS = {"attr", "markdown_it", "mdurl", "pygments"}
"""For the help's format."""
COMPUTES = {
    "annotated_types", "orjson", "platformdirs", "pydantic", "pydantic_core", "rich", "typing_extensions",
    "typing_inspection",
}  # fmt: skip
MAY_IMPORT = {
    "--version": LIGHT,
    "--help": LIGHT | LISTS | {"rich"},
    "topology": LIGHT | COMPUTES,
    "plan": LIGHT | COMPUTES,
    "predict": LIGHT | COMPUTES,
    "figures": LIGHT | COMPUTES,
    "figure": LIGHT | COMPUTES,
}
"""Packages that a command may import, as well as the standard library."""
STORES = {
    "attr", "greenlet", "markdown_it", "mdurl", "psycopg", "psycopg_binary", "pygments", "sqlalchemy",
    "structlog",
}  # fmt: skip
"""For commands that read the database: no web framework, no emulator."""
HELP_READS = {"scenario": {"yaml"}}
"""Packages that the help of a command imports in addition to those of the list and of plans."""
HEAVY = {
    "alembic",
    "docker",
    "fastapi",
    "numpy",
    "prometheus_client",
    "procrastinate",
    "psycopg",
    "sqlalchemy",
    "starlette",
    "structlog",
    "uvicorn",
}
SMALL = '{"family":"bcube","n":2,"k":1}'
PROBE = """
import json, sys
sys.argv = ["cubeyard", *json.loads(sys.argv[1])]
from cubeyard.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def loaded(*arguments: str, **variables: str) -> set[str]:
    """Packages that are loaded once the command has ended."""
    command = [sys.executable, "-c", PROBE, json.dumps(arguments)]
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr.splitlines()[-1]))


def installed(packages: set[str]) -> set[str]:
    """Without the standard library and extension modules that packages load."""
    own = packages - set(sys.stdlib_module_names) - {"cython_runtime"}
    return {name for name in own if not name.startswith("_")}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("--help",),
        ("plan", "--spec", SMALL),
        ("predict", "--spec", SMALL),
        ("figure", "bcube-table2"),
        ("emulate", "--help"),
        *(
            pytest.param(arguments, marks=pytest.mark.long)
            for arguments in (
                ("topology", "--spec", SMALL),
                ("topology", "--edges", "--spec", SMALL),
                ("figures",),
            )
        ),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_command_loads_what_it_needs_and_no_more(arguments: tuple[str, ...]) -> None:
    packages = loaded(*arguments)
    assert packages & HEAVY == set()
    if (allowed := MAY_IMPORT.get(arguments[0])) is not None and "--help" not in arguments[1:]:
        assert installed(packages) - allowed == set()
        assert "asyncio" not in packages


@pytest.mark.parametrize(
    "name", [name if name == "token" else pytest.param(name, marks=pytest.mark.long) for name in SUBCOMMANDS]
)
def test_the_help_of_a_command_loads_what_plans_need_and_no_more(name: str) -> None:
    allowed = LIGHT | LISTS | COMPUTES | HELP_READS.get(name, set())
    assert installed(loaded(name, "--help")) - allowed == set()


def test_a_command_that_reads_the_database_loads_no_web_framework(url: str) -> None:
    assert installed(loaded("changes", DATABASE_URL=url)) - LIGHT - COMPUTES - STORES == set()


@pytest.mark.long
def test_each_summary_is_what_its_command_prints() -> None:
    group = cast(Subcommands, get_command(app))
    for name, (_, summary) in SUBCOMMANDS.items():
        command = group.get_command(None, name)
        assert " ".join((command.help or "").split()).startswith(summary), name


@pytest.mark.long
def test_the_probe_sees_what_is_loaded() -> None:
    assert loaded("openapi") >= {"fastapi", "sqlalchemy"}
