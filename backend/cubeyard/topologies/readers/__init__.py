"""Files of networks, read one format a file.

In: GraphML and GEXF (`xml_graphs.py`), Graphviz DOT (`dot.py`), containerlab (`containerlab.py`),
and lists of cables as a network (`cables.py`).

Not in: which node is a server and what a link carries. Readers give attributes as the file writes
them.
"""

from __future__ import annotations

import re

from cubeyard.reading import foreign
from cubeyard.reading.cables import netbox_json
from cubeyard.reading.problems import refused
from cubeyard.reading.text import as_utf8, encoding_of
from cubeyard.topologies.network import MAX_BYTES, TITLES, Format, Network
from cubeyard.topologies.readers import cables, containerlab, dot

__all__ = ["detect", "read"]

_BY_NAME: tuple[tuple[str, Format], ...] = (
    (".graphml", "graphml"),
    (".gexf", "gexf"),
    (".dot", "dot"),
    (".gv", "dot"),
    (".csv", "csv"),
    (".yml", "containerlab"),
    (".yaml", "containerlab"),
)
_DOT = re.compile(rb"\s*(?:(?://|#)[^\n]*\n\s*|/\*.*?\*/\s*)*(?:strict\s+)?(?:di)?graph\b", re.IGNORECASE | re.DOTALL)
_XML = re.compile(rb"<(?:[\w.-]+:)?(graphml|gexf)\b")
_LAB = re.compile(rb'"topology"\s*:\s*\{.*"endpoints"\s*:', re.DOTALL)
_YAML = re.compile(rb"^topology\s*:", re.MULTILINE)


def read(data: bytes, name: str = "", format: Format | None = None) -> Network:
    """The network of a file. The format is `format` if given, else detected from the content and
    the file's `name`.

    Raises `BadFileError` with the line or element of each error. Time is linear in the size of the
    file.
    """
    if len(data) > MAX_BYTES:
        raise refused(
            "file", f"It has {len(data):,} bytes; the limit is {MAX_BYTES:,}.", "Import a part of the network."
        )
    if not data.strip():
        raise refused("file", "It is empty.", "Choose a file with a network.")
    foreign.refuse(data)
    if data.startswith(b"PK"):
        return cables.read(data, name)
    wide = not encoding_of(data).startswith("utf-8")
    if not wide and (at := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, at) + 1
        raise refused(f"line {line}", "A zero byte is no text.", "Save the file as UTF-8 text.", line=line)
    # XML declares its own encoding.
    text = as_utf8(data)
    kind = format or detect(text, name)
    if kind in ("graphml", "gexf"):
        from cubeyard.topologies.readers import xml_graphs

        return xml_graphs.read(data, kind)
    if kind == "dot":
        return dot.read(text)
    if kind == "containerlab":
        return containerlab.read(text)
    return cables.read(text, name)


def detect(data: bytes, name: str = "") -> Format:
    """Which format a file has. Raises `BadFileError` if it is none of them."""
    head = data[:65_536].lstrip(b"\xef\xbb\xbf \t\r\n")
    result: Format | None = None
    if head.startswith(b"<"):
        root = _XML.search(head)
        result = None if root is None else "graphml" if root[1] == b"graphml" else "gexf"
    elif head[:1] in (b"{", b"["):
        result = "netbox" if netbox_json.is_netbox(head) else "containerlab" if _LAB.search(head) else "lldp"
    elif _DOT.match(head):
        result = "dot"
    elif _YAML.search(data):
        result = "containerlab"
    if result is None:
        result = next((kind for ending, kind in _BY_NAME if name.casefold().endswith(ending)), None)
    if result is None and head.startswith(b"<"):
        raise refused("file", "It is XML, but neither GraphML nor GEXF.", f"Send one of {', '.join(TITLES.values())}.")
    return result or "csv"
