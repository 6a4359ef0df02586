"""The rendered chart gives each part only its own keys."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from cubeyard import __version__
from tests.cluster.installed import MANIFESTS, documents, manifests
from tests.cluster.programs import built

Json = dict[str, Any]
needs_helm = pytest.mark.skipif(not built("helm").exists(), reason="`bin/cluster build` builds helm")


def pods() -> dict[str, Json]:
    """The pods of the committed manifests, by component."""
    every = [document for document in yaml.safe_load_all(MANIFESTS.read_text()) if document]
    workloads = [document for document in every if "template" in document.get("spec", {})]
    return {
        workload["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"]: workload["spec"]["template"][
            "spec"
        ]
        for workload in workloads
    }


def secrets(pod: Json) -> dict[str, set[str]]:
    """The keys of Secrets that a pod's volumes show, and all of a Secret as `*`."""
    return {
        volume["secret"]["secretName"]: {item["key"] for item in volume["secret"].get("items", [{"key": "*"}])}
        for volume in pod["volumes"]
        if "secret" in volume
    }


def test_each_part_has_the_certificate_of_its_own() -> None:
    shown = {name: secrets(pod).get("cubeyard-keys") for name, pod in pods().items()}
    assert shown == {
        "api": {"ca.crt", "api.crt", "api.key"},
        "worker": {"ca.crt", "worker.crt", "worker.key"},
        "fabric": {"ca.crt", "relay.crt", "relay.key"},
        "migration": None,
    }


def test_the_keys_are_mounted_in_the_relay_and_not_in_the_fabric() -> None:
    mounts = {
        part["name"]: {mount["name"] for mount in part["volumeMounts"]} for part in pods()["fabric"]["containers"]
    }
    assert {name for name, mounted in mounts.items() if "keys" in mounted} == {"relay"}


def test_the_relay_has_a_user_of_its_own_and_the_fabric_a_limit() -> None:
    """The relay sees the node's processes, and reads the environment of its user's."""
    parts = {part["name"]: (name, part) for name, pod in pods().items() for part in pod["containers"]}
    users = {name: part["securityContext"]["runAsUser"] for name, (_, part) in parts.items()}
    assert [name for name, user in users.items() if user == users["relay"]] == ["relay"]
    assert f"--uid {users['relay']}" in parts["fabric"][1]["command"][-1]
    assert "priorityClassName" not in pods()["fabric"]
    assert all("memory" in parts[name][1]["resources"]["limits"] for name in ("fabric", "relay", "api", "worker"))


def test_the_image_is_of_the_version_of_the_chart() -> None:
    chart = yaml.safe_load((MANIFESTS.parents[2] / "deploy/helm/cubeyard/Chart.yaml").read_text())
    assert chart["appVersion"] == __version__
    images = {part["image"] for pod in pods().values() for part in pod["containers"]}
    assert images == {f"cubeyard:{__version__}"}


@needs_helm
def test_only_the_migration_has_the_owner_s_url_if_there_are_roles() -> None:
    keys = {}
    for document in documents("database.roles=true", "database.caSecret=ca"):
        for part in document.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            for variable in part.get("env", []):
                if variable["name"] == "DATABASE_URL":
                    keys[part["name"]] = variable["valueFrom"]["secretKeyRef"]["key"]
                    assert "database-ca" in {mount["name"] for mount in part["volumeMounts"]}
    assert keys == {"api": "server-url", "worker": "worker-url", "migration": "url"}


@needs_helm
def test_the_committed_manifests_are_the_chart() -> None:
    assert MANIFESTS.read_text() == manifests(), "`bin/cluster render` writes them again"


@needs_helm
def test_the_first_installation_draws_a_certificate_for_each_part() -> None:
    (keys,) = [document["data"] for document in documents() if document["metadata"]["name"] == "cubeyard-keys"]
    parts = ("api", "relay", "worker")
    assert set(keys) == {"ca.crt", *(f"{part}.{kind}" for part in parts for kind in ("crt", "key"))}
    assert len({keys[f"{part}.key"] for part in parts}) == len(parts)
