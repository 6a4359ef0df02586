"""Deployments give the API, which listens to the network, no socket or key that changes runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from cubeyard.emulation.deploy.probe import take_back
from cubeyard.emulation.fabric.place import Place
from cubeyard.settings import Settings

ROOT = Path(__file__).resolve().parents[4]
FOLDER = "${CUBEYARD_FABRIC_DIR:-/run/cubeyard/compose}"
Json = dict[str, Any]


def test_compose_mounts_only_the_apis_folder_into_the_api() -> None:
    services: Json = yaml.load((ROOT / "docker-compose.yml").read_text(), yaml.CSafeLoader)["services"]
    assert services["api"]["volumes"] == [f"{FOLDER}/api:{FOLDER}:ro"]
    assert f"{FOLDER}:{FOLDER}" in services["worker"]["volumes"]
    (command,) = services["fabric"]["entrypoint"][2:]
    assert '--socket "$$FOLDER/fabric.sock"' in command
    assert '--api-socket "$$FOLDER/api/fabric.sock"' in command, "with the name that the API uses"


@pytest.mark.parametrize(("kind", "side"), [("Deployment", "api"), ("StatefulSet", "worker")])
def test_the_chart_gives_each_side_its_own_key(kind: str, side: str) -> None:
    rendered = yaml.load_all((ROOT / "deploy" / "kubernetes" / "cubeyard.yaml").read_text(), yaml.CSafeLoader)
    (spec,) = [document["spec"]["template"]["spec"] for document in rendered if document and document["kind"] == kind]
    (keys,) = [volume["secret"]["items"] for volume in spec["volumes"] if volume["name"] == "keys"]
    assert {item["key"]: item["path"] for item in keys} == {
        "ca.crt": "ca.crt",
        f"{side}.crt": "tls.crt",
        f"{side}.key": "tls.key",
    }


def test_the_charts_relay_has_both_sockets_of_its_fabric() -> None:
    rendered = yaml.load_all((ROOT / "deploy" / "kubernetes" / "cubeyard.yaml").read_text(), yaml.CSafeLoader)
    (spec,) = [
        document["spec"]["template"]["spec"] for document in rendered if document and document["kind"] == "DaemonSet"
    ]
    fabric, relay = spec["containers"]
    words = " ".join(fabric["command"][2].replace("\\\n", " ").split())
    for ours, its in (("--socket", "--fabric"), ("--api-socket", "--api")):
        path = relay["args"][relay["args"].index(its) + 1]
        assert f"{ours} {path}" in words


def test_files_for_the_api_are_in_the_mounted_folder(tmp_path: Path) -> None:
    settings = Settings(fabric_dir=tmp_path / "compose")
    workers = Place.of(settings)
    workers.make()
    assert workers.for_api == workers.folder, "without a deployment they share everything"
    inner = workers.folder / "api"
    inner.mkdir()
    assert workers.for_api == Place(inner).for_api == inner
    (inner / "docker.json").write_text("{}")
    take_back(settings)
    assert not (inner / "docker.json").exists(), "the worker keeps its note for the API in the shared folder"


def test_the_how_to_of_several_hosts_gives_the_api_a_socket_and_a_key() -> None:
    text = (ROOT / "docs" / "how-to" / "several-hosts.md").read_text()
    (served,) = re.findall(r"cubeyard-fabric serve .*?--api-socket (\S+)", text)
    (relayed,) = re.findall(r"cubeyard relay .*?--api (\S+)", text)
    assert served == relayed
    assert "`keys/api`" in text
