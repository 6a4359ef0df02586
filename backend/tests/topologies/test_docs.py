"""The examples of docs/how-to/import.md are read, each in its format."""

from __future__ import annotations

import re
from pathlib import Path

from tests.topologies.files import imported, roles

PAGE = Path(__file__).parents[3] / "docs/how-to/import.md"


def test_every_example_is_read() -> None:
    result = re.findall(r"```(xml|dot|csv|yaml)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    read = [imported(text.encode()) for _, text in result]
    assert [item.format for item in read] == ["graphml", "gexf", "dot", "csv", "containerlab", "netbox"]
    for item in read:
        assert roles(item.spec) == {"web1": "server", "leaf1": "switch"}
        assert item.findings == []
