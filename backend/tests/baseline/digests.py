"""The baseline's two files. `digests.txt` has a line `digest  kind/name` of each plan's documents
and exports, and of each answer; `names.txt` has the paths and fields of the API, the commands with
their options, and the public names of the notebook.

`python -m tests.baseline.digests --write` writes both files. Nothing is normalised: exports hold no
date, and a change of version that changes a line is a difference with a reason.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from typer.main import get_command

from cubeyard import notebook
from cubeyard.app import create_app, openapi_text
from cubeyard.cli.command import app
from cubeyard.engine import Engine
from cubeyard.exports import FORMATS, render
from cubeyard.settings import Settings
from tests.baseline.answers import answered
from tests.exports import plans

HERE = Path(__file__).parent
DIGESTS = HERE / "digests.txt"
NAMES = HERE / "names.txt"
SHORT = ("dcell", "torus")
"""The plans whose exports the short run compares."""


def exported(engine: Engine, names: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """The documents of plans, and each of their exports; an install pack of one plan, because it
    takes seconds."""
    for name in names:
        plan = plans.compute(engine, *plans.SPECS[name])
        for kind in FORMATS:
            if plans.compares(kind, name):
                yield f"export/{name}/{kind}", b"".join(render(kind, plan))
        spec, book = plans.SPECS[name]
        built = engine.plan(spec, plans.book(engine, book))
        yield f"plan/{name}/summary", built.summary_json
        yield f"plan/{name}/scene", built.scene_json
        yield f"plan/{name}/bom", built.bom_json


def lines(names: tuple[str, ...]) -> list[str]:
    """The lines of `digests.txt` for the exports of the plans `names` and for all answers, in the
    order of their names."""
    engine = Engine(Settings())
    contents = [*exported(engine, names), *answered(engine)]
    digests = (f"{hashlib.sha256(content).hexdigest()}  {name}" for name, content in contents)
    return sorted(digests, key=name_of)


def name_of(line: str) -> str:
    return line[66:]


def readable() -> list[str]:
    """The lines of `names.txt`, sorted."""
    api = orjson.loads(openapi_text(create_app(Settings())))
    written = [f"notebook {name}" for name in notebook.__all__]
    written += commands(get_command(app), "cubeyard")
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            written.append(f"path {method.upper()} {path}")
            for item in operation.get("parameters", ()):
                shared = item.get("$ref", "").rpartition("/")[2]
                item = api["components"]["parameters"][shared] if shared else item  # noqa: PLW2901
                written.append(f"parameter {method.upper()} {path} {item['in']} {item['name']}")
    for name, schema in api["components"]["schemas"].items():
        written.append(f"schema {name}")
        required = schema.get("required", ())
        written += [
            f"field {name}.{field}{' required' if field in required else ''}" for field in schema.get("properties", ())
        ]
    return sorted(written)


def commands(command: Any, path: str) -> Iterator[str]:
    """A line of each command below `path`, and of each of their arguments and options."""
    yield f"command {path}"
    for parameter in command.params:
        yield f"option {path} {' '.join(sorted([*parameter.opts, *parameter.secondary_opts]))}"
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from commands(command.get_command(None, name), f"{path} {name}")


def main() -> None:
    """Write the files with `--write`, print their lines without."""
    digests, names = lines(tuple(plans.SPECS)), readable()
    if "--write" in sys.argv[1:]:
        DIGESTS.write_text("\n".join(digests) + "\n")
        NAMES.write_text("\n".join(names) + "\n")
    else:
        sys.stdout.write("\n".join([*digests, *names]) + "\n")


if __name__ == "__main__":
    main()
