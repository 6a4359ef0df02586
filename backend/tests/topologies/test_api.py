"""Over REST and on the command line: a file in, a spec out that the engine plans."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from cubeyard.cli.command import app
from cubeyard.notebook import CubeyardError, read_network
from cubeyard.notebook.networks import is_spec, of_graph
from cubeyard.topologies.endpoints import IMPORT_MEDIA_TYPES
from cubeyard.topologies.schemas import ImportedTopology
from tests.topologies.files import CONTAINERLAB, CSV, FILES, GRAPHML, imported

PATH = "/api/v1/topologies/import"


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_the_body(client: TestClient, name: str) -> None:
    answer = client.post(
        PATH, params={"name": name}, content=FILES[name], headers={"content-type": "application/octet-stream"}
    )
    assert answer.status_code == 200
    assert ImportedTopology.model_validate(answer.json()) == imported(FILES[name], name)


def test_options_are_parameters(client: TestClient) -> None:
    headers = {"content-type": "text/csv"}
    answer = client.post(PATH, params={"switches": "web1, leaf*", "link_gbps": 25}, content=CSV, headers=headers)
    assert answer.json()["roles"][0] | {"title": "", "examples": []} == {
        "rule": "pattern", "title": "", "servers": 0, "switches": 3, "examples": [],
    }  # fmt: skip
    for params, field in (
        ({"format": "png"}, "query.format"), ({"rate_unit": "x"}, "query.rate_unit"), ({"link_gbps": "nan"}, "query.link_gbps"),
        ({"link_gbps": -1}, "query.link_gbps"), ({"servers": "x" * 200}, "query.servers"), ({"servers": "\0"}, "query.servers"),
    ):  # fmt: skip
        refused = client.post(PATH, params=params, content=CSV, headers=headers)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)


def test_mistakes_and_other_media_types_are_problems(client: TestClient) -> None:
    refused = client.post(PATH, content=b"graph {\n a -- ;}", headers={"content-type": "text/vnd.graphviz"})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["line"] == 2
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert client.post(PATH, content=CSV, headers={"content-type": media_type}).status_code == 415
    assert all(
        client.post(PATH, content=CSV, headers={"content-type": import_media_type}).status_code == 200
        for import_media_type in IMPORT_MEDIA_TYPES
    )


def test_the_command_line_writes_the_spec_and_tells_the_rest(tmp_path: Path) -> None:
    lab, spec = tmp_path / "small.clab.yml", tmp_path / "spec.json"
    lab.write_bytes(CONTAINERLAB)
    result = CliRunner().invoke(app, ["import-topology", str(lab), "-o", str(spec)])
    assert result.exit_code == 0
    assert json.loads(spec.read_bytes()) == imported(CONTAINERLAB).spec
    assert "2 servers, 3 switches, 4 links" in result.stderr
    assert "left out: A link to the host" in result.stderr
    whole = CliRunner().invoke(app, ["import-topology", str(lab), "--json", "--switches", "web1"])
    assert json.loads(whole.stdout)["roles"][0]["rule"] == "pattern"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--format", "png"], "--format is png. Give one of graphml"),
        (["--rate-unit", "mph"], "--rate-unit is mph"),
        (["--link-gbps", "0"], "--link-gbps: The rate is out of its limits. It must be 0.001 to 1600 Gb/s."),
        (["--format", "dot"], "Line 1: The file does not begin with graph or digraph."),
    ],
)
def test_what_cannot_be_read_exits_with_2(tmp_path: Path, arguments: list[str], words: str) -> None:
    lab = tmp_path / "small.clab.yml"
    lab.write_bytes(CONTAINERLAB)
    result = CliRunner().invoke(app, ["import-topology", str(lab), *arguments])
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
    assert CliRunner().invoke(app, ["import-topology", str(tmp_path / "no.csv")]).exit_code == 2


def test_notebooks_read_files_and_graphs(tmp_path: Path) -> None:
    file = tmp_path / "small.graphml"
    file.write_bytes(GRAPHML)
    assert read_network(file).spec == imported(GRAPHML).spec
    assert read_network(file, switches="web1", link_gbps=25).counts.servers == 1
    with pytest.raises(CubeyardError, match="line 1"):
        read_network(file, format="dot")
    with pytest.raises(CubeyardError, match="one of format"):
        read_network(file, pattern="x")
    with pytest.raises(CubeyardError, match="link_gbps"):
        read_network(file, link_gbps=-1)
    graph = nx.read_graphml(file)
    assert {(link["a"], link["b"]) for link in of_graph(graph).spec["links"]} == {
        ("web1", "leaf1"), ("web2", "leaf2"), ("leaf1", "spine1"), ("leaf2", "spine1"),
    }  # fmt: skip
    assert of_graph(nx.path_graph(3)).counts.switches == 1
    spec = tmp_path / "spec"
    spec.write_text('{"family": "bcube", "n": 2, "k": 0}')
    assert [is_spec(spec), is_spec(file)] == [True, False]
