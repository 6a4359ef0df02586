"""Built-in results, so that no figure is empty before its first run on this server.

For a computed figure: the result of this version of the engine with the figure's default seeds,
equal on every machine. For a measured figure: the measurement of one machine, which is named.
`bin/figure-references` writes them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import orjson

from cubeyard.engine import Json

FOLDER = Path(__file__).parent / "references"
SPREAD = ("rows", "series")
"""Lists of a figure that a reference keeps an item a line."""


@dataclass(frozen=True)
class Reference:
    """A figure's result and the time that it took."""

    document: Json
    secs: float
    """Seconds on the machine that made it."""
    hash: str

    @property
    def seeds(self) -> list[int]:
        return self.document["provenance"].get("seeds", [])

    @property
    def parts(self) -> int:
        """The number of equal parts of the paper's data; one of them was simulated."""
        return _parts(self.document)

    @property
    def machine(self) -> str | None:
        """The machine that measured it; None for a computed figure."""
        host = self.document["provenance"].get("host")
        return None if host is None else f"{host['cores']} cores, {host['cpu']}, kernel {host['kernel']}"

    def agrees(self, document: Json) -> bool | None:
        """Whether a result has the same numbers. None if a comparison is meaningless: a measured
        figure, other seeds, or more data."""
        if self.machine is not None or document["provenance"].get("seeds", []) != self.seeds:
            return None
        if _parts(document) != self.parts:
            return None
        return result_hash(document) == self.hash


def _parts(document: Json) -> int:
    return document["provenance"].get("parts", 1)


def result_hash(document: Json) -> str:
    """Hash of all digits of a figure's numbers and lines, without its texts."""
    rows = [[row["name"], row["ours"]] for row in document["rows"]]
    lines = [[item["name"], item["x"], item["y"]] for item in document.get("series", [])]
    return hashlib.sha256(orjson.dumps([rows, lines])).hexdigest()


@lru_cache(maxsize=128)
def reference_of(figure_id: str) -> Reference | None:
    """The figure's reference; None if there is none yet."""
    path = FOLDER / f"{figure_id}.jsonl"
    if not path.is_file():
        return None
    head, *items = (orjson.loads(line) for line in path.read_bytes().splitlines())
    document: Json = head["result"]
    for item in items:
        for name, value in item.items():
            document[name].append(value)
    return Reference(document=document, secs=head["secs"], hash=result_hash(document))


def write_reference(folder: Path, document: Json, secs: float) -> Path:
    """Writes a reference as JSON lines: the document with empty lists of rows and lines, then each
    row and line of the figure as {"rows": ...} or {"series": ...}. Equal results give equal bytes
    except for the time."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{document['id']}.jsonl"
    head = {name: [] if name in SPREAD else value for name, value in document.items()}
    items = [{name: item} for name in SPREAD for item in document.get(name, [])]
    lines = [{"secs": float(f"{secs:.2g}"), "result": head}, *items]
    path.write_bytes(b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines))
    return path
