"""Generated clients name a class after each schema, and after the schema and the title of each
field that is an enumeration or an object: generators leave out classes of the same name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.conftest import described

Json = dict[str, Any]


def class_name(*parts: str) -> str:
    words = [word for part in parts for word in re.split(r"[^A-Za-z0-9]+", part) if word]
    return "".join(word[0].upper() + word[1:] for word in words).casefold()


def inner(name: str, schema: Json) -> Iterator[str]:
    for field, value in schema.get("properties", {}).items():
        items = value.get("items")
        for part in (value, *value.get("anyOf", ()), *value.get("oneOf", ()), *([items] if items else ())):
            if "enum" in part or "properties" in part:
                yield class_name(name, part.get("title") or value.get("title") or field)


def test_no_two_classes_of_a_generated_client_have_one_name() -> None:
    schemas = described()["components"]["schemas"]
    names = Counter(class_name(name) for name in schemas)
    names.update({made for name, schema in schemas.items() for made in inner(name, schema)})
    assert [name for name, count in names.items() if count > 1] == []
    titles = Counter(schema.get("title") for schema in schemas.values())
    assert [title for title, count in titles.items() if count > 1] == []
