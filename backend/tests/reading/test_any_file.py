"""A file of any format with any damage is read, or refused in words, soon and in little memory, by
every reader."""

from __future__ import annotations

import json
import resource
import time
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cubeyard.catalog.quotes.tables import read_bill
from cubeyard.cli.workload import workload_of
from cubeyard.kit.errors import ProblemError
from cubeyard.reading import cables
from cubeyard.reading.problems import BadFileError, Mistake
from cubeyard.reading.text import lenient
from cubeyard.topologies.importing import ImportOptions, import_topology
from cubeyard.topologies.network import TITLES, Format
from tests.conftest import LONG_RUN
from tests.reading.books import BILL, bill_row, csv_of, rewritten, workbook
from tests.topologies import files

MOST_SECS, MOST_MIB = 5.0, 200
"""A file may take this processor time; all files together this memory."""
LLDP = json.dumps({
    "h0": {"lldp": {"interface": [{"eth0": {"chassis": {"s0": {"id": {"type": "mac", "value": "02:00:00:00:00:01"}}}, "port": {"id": {"type": "ifname", "value": "P0"}}}}]}},
    "s0": {"lldpNeighbors": {"P0": {"lldpNeighborInfo": [{"systemName": "h0", "neighborInterfaceInfo": {"interfaceId": "eth0"}}]}}},
    "s1": {"P1": [{"hostname": "h1", "port": "eth0"}]},
}).encode()  # fmt: skip
FLOWS = b"source;destination;size_MB;start_ms\r\nh0;h1;1,5;0\r\nh1;h0;2;1\r\n"
BILL_CSV = csv_of([BILL, bill_row(5), bill_row(6)]).encode()
SAMPLES = [
    files.GRAPHML,
    files.GEXF,
    files.DOT,
    files.CSV,
    files.CONTAINERLAB,
    *files.FILES.values(),
    LLDP,
    FLOWS,
    BILL_CSV,
]
WORDS = [
    b"<", b">", b"&amp;", b'"', b"'", b"\n", b"\r", b"\0", b",", b";", b"\t", b"|", b"{", b"}", b"[", b"]", b":", b"- ", b"--", b"->", b"/*", b"//", b"#", b"#N/A",
    b"&a ", b"*a ", b"<<: ", b"1e309", b"-1", b"NaN", b"1.234.567,89", b"1'000", b"9" * 30, b"null", b"true", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3\x28", b"\xe2\x80\x8b",
    b"<graph>", b"</node>", b"endpoints", b"topology:", b"subgraph", b"sep=;", b"speed", b"1x1G", b"2.5 Gb/s", b"02:00:00:00:00:01",
]  # fmt: skip
EDIT = st.tuples(
    st.floats(0, 1),
    st.integers(0, 60),
    st.sampled_from(WORDS) | st.binary(max_size=8) | st.tuples(st.sampled_from(SAMPLES), st.floats(0, 1)),
    st.sampled_from([1, 1, 1, 40]),
)


def damaged(whole: bytes, edits: list[tuple[float, int, bytes | tuple[bytes, float], int]]) -> bytes:
    for place, length, words, times in edits:
        at = int(place * len(whole))
        put = words if isinstance(words, bytes) else words[0][int(words[1] * len(words[0])) :][:80]
        whole = whole[:at] + put * times + whole[at + length :]
    return whole


def as_format(kind: Format) -> Callable[[bytes], object]:
    return lambda data: import_topology(data, "", ImportOptions(format=kind))


def flows(data: bytes) -> object:
    try:
        return workload_of(lenient(data))
    except ValueError as error:  # the command line names the file with its words
        raise BadFileError([Mistake("file", str(error))]) from None


READERS: dict[str, Callable[[bytes], object]] = {
    "topology": import_topology,
    **{kind: as_format(kind) for kind in TITLES},
    "cables": lambda data: cables.read(data, "h0"), "bill": read_bill, "flows": flows,
}  # fmt: skip


def check(reader: str, data: bytes) -> None:
    before, sentences = time.process_time(), ["read"]
    try:
        READERS[reader](data)
    except BadFileError as error:
        sentences = [entry.where and entry.message for entry in error.mistakes]
    except ProblemError as error:
        sentences = [entry.message for entry in error.errors if error.status == 422]
    assert sentences
    assert all(sentences)
    assert time.process_time() - before < MOST_SECS


@pytest.fixture(scope="module", autouse=True)
def little_memory() -> Iterator[None]:
    for sample in SAMPLES:
        check("topology", sample)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MIB * 1024


@settings(max_examples=2_000 if LONG_RUN else 60)
@given(st.sampled_from(list(READERS)), st.sampled_from(SAMPLES), st.lists(EDIT, min_size=1, max_size=5), st.sampled_from(["", "utf-16", "utf-32"]))  # fmt: skip
def test_any_damage_is_read_or_refused_in_words(
    reader: str, sample: bytes, edits: list[tuple[float, int, bytes | tuple[bytes, float], int]], encoding: str
) -> None:
    data = damaged(sample, edits)
    check(reader, data.decode("utf-8", "replace").encode(encoding) if encoding else data)


WORKBOOK = workbook([BILL, bill_row(5), bill_row(6)])
PARTS = zipfile.ZipFile(BytesIO(WORKBOOK)).namelist()


@settings(max_examples=300 if LONG_RUN else 12)
@given(st.sampled_from(["topology", "cables", "bill"]), st.sampled_from(PARTS), st.lists(EDIT, min_size=1, max_size=3))
def test_so_is_a_workbook(
    reader: str, part: str, edits: list[tuple[float, int, bytes | tuple[bytes, float], int]]
) -> None:
    check(reader, rewritten(WORKBOOK, lambda name, data: (name, damaged(data, edits) if name == part else data)))
