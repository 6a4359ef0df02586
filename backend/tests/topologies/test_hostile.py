"""Files that are made to break a reader: refused in words, soon, without filling the memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from cubeyard.app import create_app
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings
from cubeyard.topologies.network import MAX_BYTES, MAX_LINKS
from cubeyard.topologies.schemas import ImportedTopology
from tests.conftest import examples
from tests.topologies.files import CONTAINERLAB, CSV, DOT, FILES, GEXF, GRAPHML, imported

LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "lol">'
    + b"".join(b'<!ENTITY %c "&%c;&%c;&%c;&%c;">' % (98 + i, *([97 + i] * 4)) for i in range(20))
    + b']><graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph><node id="&u;"/></graph></graphml>'
)
OUTSIDE = b'<!DOCTYPE graphml SYSTEM "file:///etc/passwd"><graphml xmlns="http://graphml.graphdrawing.org/xmlns"/>'
YAML_LAUGHS = b"topology:\n  a: &a [x, x]\n" + b"".join(
    b"  %c: &%c [*%c, *%c, *%c]\n" % (98 + i, 98 + i, *([97 + i] * 3)) for i in range(24)
)
MANY = 1_000_000


def refused(data: bytes, name: str = "") -> str:
    with pytest.raises(ProblemError) as error:
        imported(data, name)
    assert error.value.status == 422
    assert all(item.message for item in error.value.errors)
    return f"{error.value.errors[0].field}: {error.value.errors[0].message}"


def outcome(data: bytes, **options: object) -> ImportedTopology | ProblemError:
    try:
        return imported(data, **options)
    except ProblemError as error:
        return error


def test_entities_and_dtds_are_not_read() -> None:
    for data in (LAUGHS, OUTSIDE):
        assert refused(data) == "body.line 1: The document has a DTD or entities, which are not read."


@pytest.mark.long
def test_a_million_edges_are_too_many_in_every_format() -> None:
    edges = b'<edge source="web1" target="leaf1"/>\n' * (MANY // 12)
    graphml = GRAPHML.replace(b"</graph>", edges + b"</graph>")
    for data in (
        b"source,target\n" + b"a,b\n" * MANY,
        b"graph {" + b"a--b;" * MANY + b"}",
        b"topology:\n  nodes: {a: {}, b: {}}\n  links:\n" + b"  - endpoints: [a:1,b:1]\n" * (MANY // 25),
        graphml,
    ):
        assert "the most that can be read" in refused(data) or "has more than" in refused(data)
    assert f"more than {MAX_LINKS:,} links" in refused(b"graph {" + b"a--b;" * MANY + b"}")
    assert "33,554,432" in refused(b"x" * (MAX_BYTES + 1))


def test_a_file_that_takes_too_long_is_refused_by_the_time_over_rest(database: Database, tmp_path: Path) -> None:
    limited = Settings(database_url="postgresql://unused", frontend_dir=tmp_path, reader_secs=0.3)
    data = b"<data key='d0'>1</data>" * 400_000
    long = GRAPHML.replace(b"</graph>", b"<node id='x'>" + data + b"</node></graph>")
    with TestClient(create_app(limited, database=database), base_url="http://localhost") as client:
        headers = {"content-type": "application/octet-stream"}
        answer = client.post("/api/v1/topologies/import", content=long, headers=headers)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "body")
        assert "longer than 0.3 s, the limit here (CUBEYARD_READER_SECS)" in answer.json()["detail"]
        assert client.post("/api/v1/topologies/import", content=CSV, headers=headers).status_code == 200


def test_deep_files_are_refused_by_line() -> None:
    assert "nested more than 64 deep" in refused(b"topology:\n  nodes: " + b"[" * 100_000)
    assert "nested more than 64 deep" in refused(b"topology:\n" + b"".join(b" " * i + b"a:\n" for i in range(1, 2_000)))
    assert "nested more than 64 deep" in refused(b"graph {" + b"{" * 100_000)
    assert "line 1: Elements are nested more than 64 deep." in refused(b"<graphml>" + b"<graph>" * 100_000)
    assert "nested too deeply" in refused(b'{"a":' * 100_000)
    assert "nested too deeply" in refused(b'{"results": [{"a_terminations":' + b"[" * 100_000)


def test_yaml_aliases_do_not_grow_and_its_tags_do_nothing() -> None:
    assert "no nodes" in refused(YAML_LAUGHS)
    assert "must be a mapping" in refused(b'topology:\n  nodes: !!python/object/apply:os.system ["true"]\n')
    merged = b"topology:\n  nodes: &n\n    a: &a {<<: *n}\n"
    assert refused(merged)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["zero", "latin", "half", "utf-16", "bom"])
def test_damaged_texts_are_refused_or_read(name: str, damage: str) -> None:
    data = FILES[name]
    if damage == "zero":
        assert "zero byte" in refused(data[:60] + b"\0" + data[60:], name)
    elif damage == "latin":
        damaged = data.replace(b"web1", b"w\xe4b1")
        if name.endswith(".csv"):
            assert imported(damaged, name).counts.links == 4  # as Windows saves it
        else:
            assert refused(damaged, name)
    elif damage == "half":
        cut = data[: len(data) // 2]
        if not name.endswith((".csv", ".yml")):
            assert refused(cut, name)
    elif damage == "utf-16":
        text = data.decode().replace('encoding="UTF-8"', 'encoding="UTF-16"').encode("utf-16")
        assert imported(text, name).counts.links == 4
    else:
        assert imported(b"\xef\xbb\xbf" + data, name).counts.links == 4


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from([GRAPHML, GEXF, DOT, CSV, CONTAINERLAB, *FILES.values()]), st.data())
def test_any_damage_gives_a_network_or_a_sentence(whole: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(whole)))
    length = data.draw(st.integers(0, 40))
    put = data.draw(
        st.one_of(st.binary(max_size=20), st.sampled_from([b"<", b"]", b"{", b'"', b"\n", b"&a", b"*a", b": "]))
    )
    result = outcome(whole[:at] + put + whole[at + length :])
    if isinstance(result, ProblemError):
        assert result.status == 422
        assert result.errors
        assert all(error.message for error in result.errors)
    else:
        assert result.counts.links == len(result.spec["links"]) > 0
        assert result.counts.servers > 0


@pytest.mark.parametrize("format", ["graphml", "gexf", "dot", "csv", "containerlab", "netbox", "lldp"])
@settings(max_examples=examples(20), deadline=None)
@given(data=st.binary(max_size=200))
def test_so_do_any_bytes(format: str, data: bytes) -> None:
    result = outcome(data, format=format)
    assert not isinstance(result, ProblemError) or result.status == 422
