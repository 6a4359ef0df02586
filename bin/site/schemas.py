"""JSON Schemas as tables of Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Schema = Mapping[str, Any]
LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "{} characters or more",
    "maxLength": "{} characters at most",
    "minItems": "{} items or more",
    "maxItems": "{} items at most",
}


def cell(schema: Schema) -> str:
    """The description of a schema, as text of a table's cell."""
    return " ".join(str(schema.get("description", "")).split())


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield "| " + " | ".join(text.replace("|", "\\|").replace("<", "&lt;") for text in row) + " |"
    yield ""


def limits_of(schema: Schema) -> str:
    """Limits of a value; null has none."""
    parts = [schema, *schema.get("anyOf", ())]
    texts = [text.format(f"{part[key]:,}") for part in parts for key, text in LIMITS.items() if key in part]
    return ", ".join(dict.fromkeys(texts))


class Schemas:
    """Schemas by name; `page` has their sections."""

    def __init__(self, named: Mapping[str, Schema], page: str) -> None:
        self.named = named
        self.page = page

    def type_of(self, schema: Schema) -> str:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return f"[{name}]({self.page}#{name})" if name in self.named else name
        for key in ("anyOf", "oneOf", "allOf"):
            if key in schema:
                return " or ".join(dict.fromkeys(self.type_of(item) for item in schema[key]))
        if "enum" in schema:
            return ", ".join(f"`{item}`" for item in schema["enum"])
        if "const" in schema:
            return f"`{schema['const']}`"
        kind = schema.get("type", "any")
        if isinstance(kind, list):
            return " or ".join(kind)
        if kind == "array":
            return f"list of {self.type_of(schema.get('items', {}))}"
        return f"{kind} ({schema['x-unit']})" if "x-unit" in schema else kind

    def of_content(self, content: Mapping[str, Any]) -> str:
        return "; ".join(f"{self.type_of(item.get('schema', {}))} (`{media}`)" for media, item in content.items())

    def meaning_of(self, schema: Schema) -> str:
        return cell(self.named.get(schema.get("$ref", "").rpartition("/")[2], schema))

    def section(self, name: str) -> Iterator[str]:
        schema = self.named[name]
        yield f"## {name} {{#{name}}}\n\n{cell(schema)}\n"
        if "properties" not in schema:
            yield f"{self.type_of(schema)}\n"
        yield from self.fields(schema)

    def fields(self, schema: Schema) -> Iterator[str]:
        required = set(schema.get("required", ()))
        rows = [
            [
                f"`{name}`",
                self.type_of(item),
                "required" if name in required else self.default(item),
                limits_of(item),
                cell(item),
            ]
            for name, item in schema.get("properties", {}).items()
        ]
        yield from table(["Field", "Type", "Default", "Limits", "Meaning"], rows)

    @staticmethod
    def default(schema: Schema) -> str:
        return f"`{json.dumps(schema['default'])}`" if schema.get("default") is not None else ""

    def nested(self, schema: Schema, path: str = "") -> Iterator[str]:
        """Tables of a schema and of the objects in it, each below its path."""
        yield f"## {path}\n" if path else "## Fields\n"
        yield cell(schema) + "\n"
        yield from self.fields(schema)
        for name, inner in schema.get("properties", {}).items():
            for part in [inner, *inner.get("anyOf", ()), *inner.get("oneOf", ())]:
                whole = part.get("items", part)
                if "properties" in whole:
                    suffix = "[]" if "items" in part else ""
                    yield from self.nested(whole, f"{path}.{name}{suffix}".lstrip("."))

    def limits_below(self, roots: Iterable[object]) -> list[list[str]]:
        """Rows of the fields with limits in all documents that `roots` refer to."""
        names: set[str] = set()
        todo: list[object] = list(roots)
        while todo:
            value = todo.pop()
            if isinstance(value, list):
                todo += value
            elif isinstance(value, dict):
                name = str(value.get("$ref", "")).rpartition("/")[2]
                if name in self.named and name not in names:
                    names.add(name)
                    todo.append(self.named[name])
                todo += value.values()
        return [
            [f"[{name}]({self.page}#{name})", f"`{field}`", limits_of(schema)]
            for name in sorted(names)
            for field, schema in self.named[name].get("properties", {}).items()
            if limits_of(schema)
        ]
