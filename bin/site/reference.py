"""The generated reference: pages that the program writes about itself, from the engine's
catalogues, the API's description, docstrings and settings."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any

from schemas import Schemas, cell, table

from cubeyard import __version__, notebook
from cubeyard.cli.reference import markdown
from cubeyard.contract.tick import COLUMNS
from cubeyard.engine import Engine
from cubeyard.exports import FORMATS
from cubeyard.exports.formats import GROUPS
from cubeyard.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Page:
    file: str
    title: str
    about: str
    body: Iterable[str]

    @property
    def text(self) -> str:
        return f"# {self.title}\n\n{self.about}\n\n" + "\n".join(self.body) + "\n"


def version() -> str:
    return __version__


@cache
def engine() -> Engine:
    return Engine(Settings())


@cache
def description() -> dict[str, Any]:
    """As it is committed; a test compares it with the program's."""
    return json.loads((ROOT / "frontend/src/api/openapi.json").read_bytes())


def pages() -> list[Page]:
    return [
        Page("cli.md", "Command line", "Every command with its arguments and options.", commands()),
        Page("rest-api.md", "REST API", "Every call, with its parameters, body and answer.", calls()),
        Page("rest-schemas.md", "REST documents", "The fields of every document of the API.", documents()),
        Page("python.md", "Python", "Every public name of `cubeyard.notebook`.", python()),
        Page("plan-spec.md", "Plan spec", "Input of a plan; only `topology` is required.", plan_spec()),
        Page("families.md", "Families", "Topology families, their parameters, limits and examples.", families()),
        Page(
            "fault-kinds.md", "Fault kinds", "Faults of experiments. An emulation injects all of them.", fault_kinds()
        ),
        Page("protocols.md", "Protocols", "Programs of servers in an emulation, by family.", protocols()),
        Page("formats.md", "Export formats", "Files of a plan, and how each format was checked.", formats()),
        Page("settings.md", "Settings", "Environment variables of the server and the command line.", settings()),
        Page("frames.md", "Frames", "Events in a run's stream, by kind.", frames()),
        Page("limits.md", "Limits", "Largest requests, files and values.", limits()),
        Page("glossary.md", "Glossary", "Terms of the page, the command line and the documents.", glossary()),
    ]


def commands() -> Iterable[str]:
    return [re.sub(r"\A# .*\n", "", markdown())]


def calls() -> Iterable[str]:
    schemas = Schemas(description()["components"]["schemas"], "rest-schemas.md")
    parameters = description()["components"].get("parameters", {})
    shared = {f"#/components/parameters/{name}": item for name, item in parameters.items()}
    by_tag: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in description()["paths"].items():
        for method, call in methods.items():
            by_tag.setdefault(call["tags"][0], []).append((path, method, call))
    for tag in sorted(by_tag):
        yield f"## {tag.capitalize()}\n"
        for path, method, call in by_tag[tag]:
            yield f"### {call['summary']}\n\n`{method.upper()} {path}`\n\n{call.get('description', '')}\n"
            given = [shared.get(item.get("$ref", ""), item) for item in call.get("parameters", [])]
            rows = [[f"`{item['name']}`", item["in"], schemas.type_of(item["schema"]), cell(item)] for item in given]
            yield from table(["Parameter", "In", "Type", "Meaning"], rows)
            if body := call.get("requestBody"):
                yield f"Body: {schemas.of_content(body['content'])}\n"
            good = {status: item for status, item in call["responses"].items() if status < "4" and "$ref" not in item}
            for status, answer in good.items():
                yield f"Answer {status}: {schemas.of_content(answer.get('content', {})) or answer['description']}\n"


def documents() -> Iterable[str]:
    schemas = Schemas(description()["components"]["schemas"], "")
    return [line for name in sorted(schemas.named) for line in schemas.section(name)]


def python() -> Iterable[str]:
    for name in notebook.__all__:
        value = getattr(notebook, name)
        yield f"## {name} {{#{name}}}\n"
        if isinstance(value, UnionType):
            yield f"`{value}`\n"
            continue
        yield from documented(value, name)
        members = list(vars(value).items()) if inspect.isclass(value) and not issubclass(value, Exception) else []
        for member, given in members:
            inner = getattr(given, "__func__", given)
            if member.startswith("_") or not (inspect.isfunction(inner) or isinstance(inner, property)):
                continue
            yield f"### {name}.{member}\n"
            yield from documented(inner, f"{name}.{member}")


def documented(value: Any, name: str) -> Iterable[str]:
    if inspect.isfunction(value):
        yield f"```python\n{name}{inspect.signature(value)}\n```\n"
    yield (inspect.getdoc(value) or "") + "\n"


def plan_spec() -> Iterable[str]:
    schema = engine().plan_schema
    return Schemas(schema.get("$defs", {}), "").nested(schema)


def families() -> Iterable[str]:
    for family in engine().families:
        yield f"## {family['family']}\n\n{family['names']}\n"
        rows = [
            [
                f"`{item['name']}`",
                item["letter"] or "",
                limit_of(item),
                default_of(item),
                f"{item['title']}. {item['doc']}",
            ]
            for item in family["parameters"]
        ]
        yield from table(["Parameter", "Letter", "Values", "Default", "Meaning"], rows)
        presets = [[item["title"], f"`{compact(item['spec'])}`"] for item in family["presets"]]
        yield from table(["Preset", "Spec"], presets)


def limit_of(parameter: dict[str, Any]) -> str:
    low, high = parameter.get("min"), parameter.get("max")
    if choices := parameter.get("choices"):
        return ", ".join(f"`{item}`" for item in choices)
    return parameter["kind"] if low is None and high is None else f"{low} to {high:,}"


def default_of(parameter: dict[str, Any]) -> str:
    if parameter["required"]:
        return "required"
    return parameter["default_doc"] or ("" if parameter["default"] is None else f"`{parameter['default']}`")


def compact(spec: object) -> str:
    return json.dumps(spec, separators=(",", ":"))


def fault_kinds() -> Iterable[str]:
    rows = []
    for kind in engine().fault_kinds:
        parameters = "; ".join(
            f"{item['title']}: `{item['name']}`, {item['minimum']:g} to {item['maximum']:g} {item['unit']}"
            for item in kind["parameters"]
        )
        engines = [item["method"] for item in engine().engines if kind["name"] in item["faults"]]
        rows.append([f"`{kind['name']}`", kind["target"], kind["effect"], parameters, ", ".join(engines)])
    return table(["Kind", "Target", "Effect", "Parameters", "Also computed by"], rows)


def protocols() -> Iterable[str]:
    for family in engine().families:
        specs = [family["example"], *(item["spec"] for item in family["presets"])]
        profiles = [engine().emulation_profile(spec) for spec in specs]
        profile = next((item for item in profiles if item["protocols"]), None)
        if profile is None:
            continue
        yield f"## {family['family']}\n\nDefault: `{profile['default_protocol']}`.\n"
        rows = [
            [f"`{item['name']}`", f"{item['title']}. {item['description']}", str(item["header_bytes"]),
             str(item["max_ports"]), ", ".join(f"`{each['name']}`" for each in item["forwardings"])]
            for item in profile["protocols"]
        ]  # fmt: skip
        yield from table(["Protocol", "Description", "Header, bytes", "Ports", "Forwardings"], rows)


def formats() -> Iterable[str]:
    for group in GROUPS:
        yield f"## {group}\n"
        rows = [
            [f"`{item.name}`", f".{item.extension}", f"{item.title}. {item.description}", item.proof]
            for item in FORMATS.values()
            if item.group == group
        ]
        yield from table(["Format", "File", "Content", "Checked with"], rows)


def settings() -> Iterable[str]:
    meanings = attribute_docstrings(Settings)
    rows = []
    for name, field in Settings.model_fields.items():
        variable = field.validation_alias or f"CUBEYARD_{name.upper()}"
        made = field.default_factory is not None or field.is_required()
        default = "" if made or field.default in (None, (), "") else f"`{field.default}`"
        limits = ", ".join(map(str, field.metadata))
        rows.append([f"`{variable}`", default, bounds(limits), meanings.get(name, "")])
    return table(["Variable", "Default", "Limits", "Meaning"], rows)


def bounds(text: str) -> str:
    for name, sign in (("Ge", "at least"), ("Le", "at most"), ("Gt", "more than"), ("Lt", "less than")):
        text = re.sub(rf"\b{name}\(\w+=([^)]*)\)", rf"{sign} \1", text)
    return text


def attribute_docstrings(model: type) -> dict[str, str]:
    """The texts below a class's fields."""
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(model)))
    body = tree.body[0]
    assert isinstance(body, ast.ClassDef)
    texts: dict[str, str] = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            texts[field.target.id] = " ".join(str(ast.literal_eval(text.value)).split())
    return texts


def frames() -> Iterable[str]:
    schemas = Schemas(description()["components"]["schemas"], "rest-schemas.md")
    events = schemas.named["RunFrames"]["properties"]
    rows = [[f"`{kind}`", schemas.type_of(schema), schemas.meaning_of(schema)] for kind, schema in events.items()]
    yield from table(["Kind", "Payload", "Meaning"], rows)
    yield "## Columns of a fabric's tick\n\nTen a second, from each host of an emulation.\n"
    columns = [
        [
            item.part,
            f"`{item.name}`",
            item.unit.value,
            item.merge.value,
            f"`{item.shown}`" if item.shown else "",
            item.about,
        ]
        for item in COLUMNS
    ]
    yield from table(["Part", "Column", "Unit", "Over ticks and hosts", "In a run's frames", "Meaning"], columns)


def limits() -> Iterable[str]:
    rows = [[f"`{name}`", f"{value:,}"] for name, value in engine().service_limits().items()]
    yield "Parameters of topologies have theirs in [families](families.md); sizes and times of the server can be"
    yield "changed by [settings](settings.md).\n\n## Services of users\n"
    yield from table(["Limit", "Value"], rows)
    yield "## Fields of requests\n"
    schemas = Schemas(description()["components"]["schemas"], "rest-schemas.md")
    bodies = [call["requestBody"] for methods in description()["paths"].values() for call in methods.values()
              if "requestBody" in call]  # fmt: skip
    yield from table(["Document", "Field", "Limits"], schemas.limits_below(bodies))


def glossary() -> Iterable[str]:
    source = (ROOT / "frontend/src/shared/shell/glossary.ts").read_text()
    terms = re.findall(r'term:\s*"([^"]+)",\s*meaning:\s*"([^"]+)"', source)
    assert len(terms) == source.count("term: ") - source.count("term: string")
    return [f"**{term}**\n:   {meaning}\n" for term, meaning in terms]
