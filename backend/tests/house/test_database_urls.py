"""Every example of a database on another machine has TLS with the server's name checked."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = re.compile(r"postgresql://[\w:]+@([\w.]+)[:/][^\s'\"`]*")
NEAR = ("127.0.0.1", "localhost", "db")
"""Hosts of examples without TLS: this machine, and Compose's own network."""


def test_examples_of_remote_databases_check_the_server() -> None:
    files = [ROOT / "README.md", ROOT / "docker-compose.yml", *(ROOT / "docs").rglob("*.md")]
    files += [path for path in (ROOT / "deploy").rglob("*") if path.is_file()]
    examples = [
        (match[0], match[1]) for path in files for match in EXAMPLE.finditer(path.read_text()) if match[1] not in NEAR
    ]
    assert examples
    assert [example for example, _ in examples if "sslmode=verify-full" not in example] == []
