"""What a file is whose format is not read here, and what to save instead."""

from __future__ import annotations

import io
import re
import zipfile

from cubeyard.reading.problems import refused
from cubeyard.reading.text import encoding_of, lenient

_TABLE, _GRAPH = "Save it as a workbook (.xlsx) or as CSV.", "Save it as GraphML."
_STARTS: tuple[tuple[bytes, str, str], ...] = (
    (b"%PDF", "a PDF document", "Send the table it was made from, as .xlsx or CSV."),
    (b"\x1f\x8b", "compressed with gzip", "Unpack it first."),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "Unpack it first."),
    (b"BZh", "compressed with bzip2", "Unpack it first."),
    (b"\xfd7zXZ", "compressed with xz", "Unpack it first."),
    (b"\x28\xb5\x2f\xfd", "compressed with Zstandard", "Unpack it first."),
    (b"Rar!", "a RAR archive", "Unpack it first."),
    (b"PAR1", "a Parquet file", "Save it as CSV."),
    (b"SQLite format 3", "an SQLite database", "Export the table as CSV."),
    (b"{\\rtf", "a document in rich text (RTF)", "Save its table as CSV."),
    (b"\x89PNG", "a picture (PNG)", "Send the data that it shows."),
    (b"\xff\xd8\xff", "a picture (JPEG)", "Send the data that it shows."),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MIMETYPES = {
    b"application/vnd.oasis.opendocument.spreadsheet": ("an OpenDocument spreadsheet (.ods)", _TABLE),
    b"application/vnd.oasis.opendocument.text": ("an OpenDocument text (.odt)", _TABLE),
}
_PARTS: tuple[tuple[str, str, str], ...] = (
    ("xl/workbook.bin", "a binary Excel workbook (.xlsb)", "Save it as .xlsx."),
    ("word/", "a Word document (.docx)", "Copy its table into a workbook (.xlsx)."),
    ("ppt/", "a PowerPoint document (.pptx)", "Copy its table into a workbook (.xlsx)."),
    ("visio/", "a Visio drawing (.vsdx)", "Send a list of its connections as CSV."),
    ("index/", "a document of Apple's Numbers", "Export it as .xlsx or CSV."),
)
_XML = r"(?:\s|<\?[^>]*\?>|<!--.*?-->|<!doctype\b[^>]*>)*+"
"""Before the root. Possessive (`*+`): n comments match in one way, not in 2**n."""
_LIST = "Send a list of its connections as CSV."
_LLDP = "Send what lldpctl -f json prints."
_NEIGHBOURS = "Send the table without `detail`, or the output as JSON."
_TEXTS: tuple[tuple[str, str, str], ...] = (
    (r"(?:\s*(?:#[^\n]*|(?:creator|version)\s[^\n]*)\n)*\s*graph\s*\[", "GML, which is not read", _GRAPH),
    (r"\s*\*(?:vertices|network)\b", "a network of Pajek, which is not read", _GRAPH),
    (_XML + r"<(?:mxfile|mxGraphModel)\b", "a drawing of draw.io", _LIST),
    (_XML + r"<visiodocument\b", "a Visio drawing (.vdx)", _LIST),
    (_XML + r"<svg\b", "a picture (SVG)", "Send the data that it shows."),
    (_XML + r"<lab\b", "a lab of EVE-NG (.unl)", _LIST),
    (_XML + r"<graph\b[^>]*xgmml", "XGMML, which is not read", _GRAPH),
    (_XML + r"<(?:html|table)\b", "a web page (HTML)", _TABLE),
    (r"(?:\s|%%[^\n]*\n|---.*?---)*+(?:graph|flowchart)\s+(?:TB|TD|BT|RL|LR)\b", "a diagram of Mermaid", _LIST),
    (r"\s*nodedef\s*>", "GDF, which is not read", _GRAPH),
    (r"\s*dl\s+n\s*=", "a network of UCINET, which is not read", _GRAPH),
    (r"\s*LEDA\.GRAPH\b", "a graph of LEDA, which is not read", _GRAPH),
    (r"(?:\s*c\b[^\n]*\n)*\s*p\s+(?:edge|col|sp|max)\s+[0-9]", "a graph of DIMACS, which is not read", _GRAPH),
    (r"\s*Topology:\s*\(\s*[0-9]+ Nodes", "a topology of BRITE, which is not read", _GRAPH),
    (r"(?:\s*//[^\n]*\n)*\s*package\s+[\w.]+\s*;", "a network of OMNeT++ (NED), which is not read", _GRAPH),
    (r"(?:[0-9][^\n,;]*+\n)++#[ \t]*\n", "TGF, which is not read", _GRAPH),
    (r'\s*\{\s*"ietf-network:networks"', "a network in YANG (RFC 8345), which is not read", _GRAPH),
    (r'\s*\{(?=[^\0]{0,2000}"(?:devices|links|hosts)"\s*:\s*\[)(?![^\0]{0,2000}"(?:lldp|topology)"\s*:)', "a network in JSON of another program", _GRAPH),
    (r"(?:-+\s*)?LLDP neighbors:|lldp\.[^\s=]{1,200}=", "lldpctl's output as text", _LLDP),
    (_XML + r"<lldp\b", "lldpctl's output in XML", _LLDP),
    (r"(?=.{0,4000}^(?:Device ID|Chassis id)\s*:)(?=.{0,4000}\bPort id\b)", "a detailed list of neighbours", _NEIGHBOURS),
    (r"\s*@startuml\b", "a diagram of PlantUML", _LIST),
    (r"\s*lab:\s*\n(?=.*^nodes:)", "a lab of Cisco Modeling Labs", _LIST),
    (r"(?=.*^nodes:)(?=.*^links:)(?!.*^topology:)\s*[a-z_#-]", "a topology of netlab", "Send the containerlab file that it makes (clab.yml)."),
    (r'\s*\{(?=.*"project_id"\s*:)(?=.*"topology"\s*:)', "a project of GNS3", _LIST),
    (r"\s*\?SNDlib\b", "a network of SNDlib, which is not read", _GRAPH),
    (r"\s*\[[a-z_. -]+\]\s*\n", "a file of settings (INI or TOML)", _LIST),
    (r"\s*(?:#![^\n]*python|from \w[\w.]* import |import \w[\w.]*\s*\n)", "a program in Python", "Export the network that it makes, as GraphML."),
    (r"(?s).{0,600}urn:schemas-microsoft-com:office:spreadsheet", "an XML spreadsheet of Excel 2003", _TABLE),
    (r'\s*\{(?=[^\0]{0,2000}"family"\s*:)', "a topology's spec", "Plan with it as it is (--spec)."),
    (r'\s*\{(?![^\0]{0,2000}"topology"\s*:)(?=[^\0]{0,2000}"(?:elements|nodes)"\s*:)', "a graph in JSON (Cytoscape or NetworkX)", _GRAPH),
)  # fmt: skip
_TEXT_PATTERNS = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL | re.MULTILINE), what, hint) for pattern, what, hint in _TEXTS
)


def name(data: bytes) -> tuple[str, str] | None:
    """The format of a file that is not read, and what to do; None for other files."""
    if data.startswith(_OLE):
        return _of_old_office(data)
    if data.startswith(b"PK"):
        return _of_zip(data)
    for start, what, hint in _STARTS:
        if data.startswith(start):
            return what, hint
    head = data[:65_536]
    if not encoding_of(head).startswith("utf-8"):
        head = head[: len(head) // 4 * 4]
    text = lenient(head).lstrip("\ufeff")
    return next(((what, hint) for pattern, what, hint in _TEXT_PATTERNS if pattern.match(text)), None)


def refuse(data: bytes) -> None:
    """Raises `BadFileError` that names the format, if it is one that is not read."""
    result = name(data)
    if result is not None:
        what, hint = result
        raise refused("file", f"It is {what}.", hint)


def _of_old_office(data: bytes) -> tuple[str, str]:
    if "EncryptedPackage".encode("utf-16-le") in data:
        return "a workbook that is protected by a password", "Save it without the password."
    if "Workbook".encode("utf-16-le") in data or "Book".encode("utf-16-le") in data:
        return "a workbook of Excel 97 to 2003 (.xls)", _TABLE
    return "a document of Office 97 to 2003", _TABLE


def _of_zip(data: bytes) -> tuple[str, str] | None:
    """None for a workbook, and for an archive that is damaged: its reader has the words for
    that."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [part.filename.replace("\\", "/").casefold() for part in archive.infolist()[:2_000]]
            kind = archive.open("mimetype").read(200).strip() if "mimetype" in names else b""
    except Exception:  # zipfile and its decompressors fail in many ways
        return None
    if kind in _MIMETYPES:
        return _MIMETYPES[kind]
    for start, what, hint in _PARTS:
        if any(part.startswith(start) for part in names):
            return what, hint
    if not any(part.startswith("xl/") or part == "[content_types].xml" for part in names):
        return "a zip archive, but no workbook", "Unpack it, and send the file in it."
    return None
