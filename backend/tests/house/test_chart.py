"""The rendered chart: each part has only its own keys, probes notice a hang, and nothing is drawn
twice."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from cubeyard import __version__
from cubeyard.emulation.fabric.keys import SIDES, make_all
from cubeyard.kit import alive
from tests.cluster.installed import CHART, MANIFESTS, ROOT, ClusterFailedError, documents, manifests, rendered
from tests.cluster.programs import built

Json = dict[str, Any]
needs_helm = pytest.mark.skipif(not built("helm").exists(), reason="`bin/cluster build` builds helm")


@cache
def committed() -> list[Json]:
    return [document for document in yaml.load_all(MANIFESTS.read_text(), yaml.CSafeLoader) if document]


@cache
def pods() -> dict[str, Json]:
    """The pods of the committed manifests, by component."""
    workloads = [document for document in committed() if "template" in document.get("spec", {})]
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


def files(pod: Json) -> dict[str, str]:
    """The keys of Secrets by their file in the folder of settings."""
    (volume,) = [volume["projected"] for volume in pod["volumes"] if volume["name"] == "secrets"]
    return {item["path"]: item["key"] for source in volume["sources"] for item in source["secret"]["items"]}


def test_secrets_are_files_and_not_in_the_environment() -> None:
    assert "secretKeyRef" not in MANIFESTS.read_text()
    wanted = {"api": {"DATABASE_URL", "CUBEYARD_TOKEN"}, "worker": {"DATABASE_URL"}, "migration": {"DATABASE_URL"}}
    for name, paths in wanted.items():
        (part,) = pods()[name]["containers"]
        (folder,) = [mount["mountPath"] for mount in part["volumeMounts"] if mount["name"] == "secrets"]
        assert {"name": "CUBEYARD_SECRETS_DIR", "value": folder} in part["env"]
        assert set(files(pods()[name])) == paths
    assert "secrets" not in {volume["name"] for volume in pods()["fabric"]["volumes"]}


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
    chart = yaml.load((MANIFESTS.parents[2] / "deploy/helm/cubeyard/Chart.yaml").read_text(), yaml.CSafeLoader)
    assert chart["appVersion"] == __version__
    images = {part["image"] for pod in pods().values() for part in pod["containers"]}
    assert images == {f"cubeyard:{__version__}"}


def test_liveness_asks_nobody_and_every_part_has_a_probe_that_notices_a_hang() -> None:
    """Without its database an API is not ready, and is not restarted."""
    probes = {}
    for pod in pods().values():
        for part in pod["containers"]:
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                command = part.get(probe, {}).get("exec", {}).get("command", [])
                if command[:3] == ["python", "-m", alive.__name__]:
                    probes[part["name"], probe] = command[3:]
                    assert part[probe]["timeoutSeconds"] >= alive.ANSWER_SECS
    api, beat = "http://127.0.0.1:8080", ["beat", "/tmp/beat"]
    assert probes == {
        ("api", "startupProbe"): ["http", f"{api}/healthz"],
        ("api", "readinessProbe"): ["http", f"{api}/healthz"],
        ("api", "livenessProbe"): ["http", f"{api}/livez"],
        ("worker", "startupProbe"): beat,
        ("worker", "livenessProbe"): beat,
        ("fabric", "livenessProbe"): ["fabric", "/run/cubeyard/fabric.sock"],
        ("relay", "livenessProbe"): ["relay", "7117"],
    }
    (worker,) = pods()["worker"]["containers"]
    assert worker["args"] == ["worker", "--beat", "/tmp/beat"]


def test_an_api_that_ends_still_answers_until_no_node_sends_it_anything() -> None:
    (api,) = pods()["api"]["containers"]
    _, secs = api["lifecycle"]["preStop"]["exec"]["command"]
    assert pods()["api"]["terminationGracePeriodSeconds"] >= int(secs) + 30


def test_every_pod_but_the_fabric_s_meets_pod_security_restricted() -> None:
    for name, pod in pods().items():
        if name == "fabric":
            continue
        assert not {"hostPID", "hostNetwork"} & set(pod)
        for part in pod["containers"]:
            context = part["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["runAsNonRoot"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert context["seccompProfile"] == {"type": "RuntimeDefault"}
        assert all({"secret", "projected", "configMap", "emptyDir"} & set(volume) for volume in pod["volumes"])


def test_each_part_is_called_at_its_ports_by_its_callers_alone() -> None:
    calls = {}
    for document in committed():
        if document["kind"] != "NetworkPolicy" or document["metadata"]["namespace"] != "cubeyard":
            continue
        assert "Ingress" in document["spec"]["policyTypes"]
        part = document["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        (*_, own) = [port["name"] for item in pods()[part]["containers"] for port in item.get("ports", [])] or [None]
        calls[part] = {}
        for rule in document["spec"].get("ingress", []):
            (port,) = rule["ports"]
            callers = [peer["podSelector"]["matchLabels"] for peer in rule.get("from", [])]
            calls[part]["own" if port["port"] == own else port["port"]] = {
                labels["app.kubernetes.io/component"] for labels in callers
            }
    assert calls == {"api": {"own": set()}, "worker": {}, "fabric": {"own": {"api", "worker"}, 14789: {"fabric"}}}


def test_the_manifests_can_be_applied_again() -> None:
    """Each document names its namespace, because `kubectl apply -n` refuses documents of another. A
    Job cannot be changed: for another image it has another name, and it goes."""
    places = {document["metadata"].get("namespace") for document in committed() if document["kind"] != "Namespace"}
    assert places == {"cubeyard", "cubeyard-servers"}
    (job,) = [document for document in committed() if document["kind"] == "Job"]
    assert job["spec"]["ttlSecondsAfterFinished"] <= 3600
    assert not [document for document in committed() if document["kind"] == "Secret"]


@pytest.mark.long
@needs_helm
def test_a_job_of_another_image_has_another_name() -> None:
    names = {
        document["metadata"]["name"]
        for tag in ("1", "2")
        for document in documents(f"image.tag={tag}")
        if document["kind"] == "Job"
    }
    assert len(names) == 2


@needs_helm
def test_nothing_is_drawn_unless_that_is_chosen() -> None:
    """A tool that renders the chart without the cluster gets the same documents each time."""
    token, keys = "existingTokenSecret", "emulation.existingKeys"
    given = ("secrets.draw=false", f"{token}=t", f"{keys}=k")
    assert rendered(*given) == rendered(*given)
    for missing in (token, keys):
        with pytest.raises(ClusterFailedError, match=f"{missing} is empty: give the name of a Secret"):
            rendered(*given, f"{missing}=")


@pytest.mark.long
@needs_helm
def test_pods_are_replaced_when_token_or_keys_change() -> None:
    def sums(*values: str) -> dict[str, Json]:
        templates = [
            document["spec"]["template"] for document in documents(*values) if "template" in document.get("spec", {})
        ]
        metadata = [template["metadata"] for template in templates]
        return {item["labels"]["app.kubernetes.io/component"]: item.get("annotations", {}) for item in metadata}

    def changed(first: dict[str, Json], second: dict[str, Json]) -> set[str]:
        return {name for name in first if first[name] != second[name]}

    keys, token = "emulation.existingKeys=k", "existingTokenSecret=t"
    assert changed(sums(keys, "token=a"), sums(keys, "token=b")) == {"api", "worker"}
    assert changed(sums(token), sums(token)) == {"api", "worker", "fabric"}, "other keys are drawn"
    assert changed(sums(keys, token), sums(keys, token)) == set()


def seeing(folder: Path, secrets: dict[str, Json]) -> Path:
    """The chart as it is rendered for a cluster that has these Secrets."""
    chart = folder / "chart"
    shutil.copytree(CHART, chart, dirs_exist_ok=True)
    helpers = (CHART / "templates" / "_helpers.tpl").read_text()
    there = r"(get \1.Values.there (\2) | default dict)"
    helpers, count = re.subn(r'lookup "v1" "Secret" ([.\w]*)\.Release\.Namespace (\(.*?\)|\.name)', there, helpers)
    assert count == 3
    (chart / "templates" / "_helpers.tpl").write_text(helpers)
    (chart / "values.yaml").write_text(
        (CHART / "values.yaml").read_text() + json.dumps({"there": secrets})[1:-1] + "\n"
    )
    return chart


@pytest.mark.long
@needs_helm
def test_an_upgrade_keeps_what_was_drawn_and_renews_old_keys(tmp_path: Path) -> None:
    def secrets_and_sums(every: list[Json]) -> tuple[dict[str, Json], list[Json]]:
        sums = [
            document["spec"]["template"]["metadata"].get("annotations")
            for document in every
            if "template" in document.get("spec", {})
        ]
        return {document["metadata"]["name"]: document for document in every if document["kind"] == "Secret"}, sums

    first, sums = secrets_and_sums(documents())
    assert set(first) == {"cubeyard-token", "cubeyard-keys"}
    kept, kept_sums = secrets_and_sums(documents("secrets.draw=false", chart=seeing(tmp_path, first)))
    assert (kept, kept_sums) == (first, sums), "no pod is replaced"
    first["cubeyard-keys"]["metadata"]["annotations"]["cubeyard/drawn-at"] = str(int(time.time()) - 280 * 86400)
    renewed, renewed_sums = secrets_and_sums(documents("secrets.draw=false", chart=seeing(tmp_path, first)))
    assert renewed["cubeyard-token"] == first["cubeyard-token"]
    assert not set(renewed["cubeyard-keys"]["data"].values()) & set(first["cubeyard-keys"]["data"].values())
    drawn_at = int(renewed["cubeyard-keys"]["metadata"]["annotations"]["cubeyard/drawn-at"])
    assert abs(drawn_at - time.time()) < 600
    assert renewed_sums != sums


@pytest.mark.long
@needs_helm
def test_a_secret_of_somebody_else_that_changes_replaces_pods(tmp_path: Path) -> None:
    given = ("secrets.draw=false", "existingTokenSecret=t", "emulation.existingKeys=k")

    def sums(token: str, keys: str) -> dict[str, str]:
        there = {"t": {"metadata": {"resourceVersion": token}}, "k": {"metadata": {"resourceVersion": keys}}}
        every = documents(*given, chart=seeing(tmp_path, there))
        templates = [item["spec"]["template"]["metadata"] for item in every if "template" in item.get("spec", {})]
        return {item["labels"]["app.kubernetes.io/component"]: str(item.get("annotations")) for item in templates}

    before = sums("1", "1")
    for (token, keys), changed in {("2", "1"): {"api", "worker"}, ("1", "2"): {"api", "worker", "fabric"}}.items():
        after = sums(token, keys)
        assert {name for name in before if before[name] != after[name]} == changed


@pytest.mark.long
@needs_helm
def test_prometheus_has_a_token_and_selects_the_api() -> None:
    assert not [document for document in documents() if document["kind"] == "ServiceMonitor"]
    every = documents(
        "metrics.serviceMonitor.enabled=true", "api.rootPath=/lab", "metrics.serviceMonitor.labels.release=p"
    )
    (monitor,) = [document for document in every if document["kind"] == "ServiceMonitor"]
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["path"] == "/lab/metrics"
    assert endpoint["authorization"] == {"credentials": {"name": "cubeyard-token", "key": "token"}}
    assert monitor["metadata"]["labels"]["release"] == "p"
    chosen = monitor["spec"]["selector"]["matchLabels"].items()
    services = [document for document in every if document["kind"] == "Service"]
    (service,) = [item for item in services if chosen <= item["metadata"]["labels"].items()]
    assert endpoint["port"] in [port["name"] for port in service["spec"]["ports"]]


def days_of(certificate: Path) -> float:
    done = subprocess.run(
        ["openssl", "x509", "-in", str(certificate), "-noout", "-checkend", str(366 * 86400)],
        check=False,
        capture_output=True,
    )
    return 365 if done.returncode else 10**6


def test_the_secret_of_the_keys_is_made_of_the_folder_of_the_command(tmp_path: Path) -> None:
    """By the words of the how-to."""
    text = (ROOT / "docs/how-to/kubernetes.md").read_text()
    (words, *_) = re.findall(r"(?<=cubeyard-keys )--from-file=ca.crt.*?done\)", text, re.DOTALL)
    given = subprocess.run(["bash", "-c", f"echo {words}"], check=True, capture_output=True, text=True).stdout.split()
    files = dict(word.removeprefix("--from-file=").split("=") for word in given)
    make_all(tmp_path / "keys")
    assert all((tmp_path / file).exists() for file in files.values())
    wanted = {
        item["key"]
        for pod in pods().values()
        for volume in pod["volumes"]
        for item in volume.get("secret", {}).get("items", [])
    }
    assert set(files) == wanted == {"ca.crt", *(f"{side}.{kind}" for side in SIDES for kind in ("crt", "key"))}


@needs_helm
def test_only_the_migration_has_the_owner_s_url_if_there_are_roles() -> None:
    keys = {}
    for document in documents("database.roles=true", "database.caSecret=ca"):
        for part in document.get("spec", {}).get("template", {}).get("spec", {}).get("containers", []):
            if "database-ca" in {mount["name"] for mount in part["volumeMounts"]}:
                keys[part["name"]] = files(document["spec"]["template"]["spec"])["DATABASE_URL"]
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


@pytest.mark.long
@needs_helm
def test_drawn_certificates_are_of_one_year(tmp_path: Path) -> None:
    (keys,) = [document["data"] for document in documents() if document["metadata"]["name"] == "cubeyard-keys"]
    for part in ("ca", "api", "relay", "worker"):
        (tmp_path / part).write_bytes(base64.b64decode(keys[f"{part}.crt"]))
        assert days_of(tmp_path / part) <= 365
