"""All settings are passed to the services of a deployment, and the API reports which of its parts
are turned off."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cubeyard.emulation.deploy.probe import SWITCHES, probe, switches
from cubeyard.settings import Settings

ROOT = Path(__file__).resolve().parents[4]
OF_THE_DEPLOYMENT = {
    *(
        "database_url",
        "database_password",
        "home",
        "host",
        "port",
        "token",
        "allowed_hosts",
        "frontend_dir",
        "docs_dir",
    ),
    *("fabric_dir", "fabric_start", "fabric_sudo", "programs_dir", "cluster"),
}
"""Settings that the deployment sets itself, or that have no meaning in its containers."""
Json = dict[str, Any]


def test_compose_passes_every_setting_to_api_and_worker() -> None:
    services: Json = yaml.load((ROOT / "docker-compose.yml").read_text(), yaml.CSafeLoader)["services"]
    wanted = {f"CUBEYARD_{name.upper()}" for name in Settings.model_fields if name not in OF_THE_DEPLOYMENT}
    for service in ("api", "worker"):
        assert wanted <= set(services[service]["environment"]), service


def test_every_service_has_limits_a_health_check_and_only_the_rights_that_it_names() -> None:
    services: Json = yaml.load((ROOT / "docker-compose.yml").read_text(), yaml.CSafeLoader)["services"]
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"], name
        assert {"mem_limit", "pids_limit", "security_opt"} <= set(service), name
        assert ("healthcheck" in service) != (name == "migration"), name
        assert service["logging"]["options"] == {"max-size": "20m", "max-file": "5"}, name
        assert service.get("group_add", []) in ([], ["${DOCKER_GID:-10001}"]), "the group must not be root's"


def test_only_the_migration_is_the_owner_of_the_database() -> None:
    services: Json = yaml.load((ROOT / "docker-compose.yml").read_text(), yaml.CSafeLoader)["services"]
    shown = {
        name: (service["environment"]["DATABASE_URL"].split("@")[0], _secrets(service)["DATABASE_PASSWORD"])
        for name, service in services.items()
        if "DATABASE_URL" in service.get("environment", {})
    }
    assert shown == {
        "migration": ("postgresql://cubeyard", "owner-password"),
        "api": ("postgresql://server", "server-password"),
        "worker": ("postgresql://worker", "worker-password"),
    }
    for name in ("api", "worker"):
        assert services[name]["depends_on"]["migration"] == {"condition": "service_completed_successfully"}
        assert "owner-password" not in _secrets(services[name]).values()


def _secrets(service: Json) -> dict[str, str]:
    """A service's secrets, by the names of their files."""
    given = [{"source": item, "target": item} if isinstance(item, str) else item for item in service.get("secrets", [])]
    return {item["target"]: item["source"] for item in given}


def test_secrets_are_files_and_in_no_environment() -> None:
    document: Json = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    named = set().union(*(_secrets(service).values() for service in document["services"].values()))
    assert named == set(document["secrets"]) == {"owner-password", "server-password", "worker-password", "token"}
    for name, service in document["services"].items():
        environment = service.get("environment", {})
        files = _secrets(service)
        for variable, value in environment.items():
            if any(word in variable for word in ("PASSWORD", "TOKEN")):
                assert variable.endswith("_FILE"), (name, variable)
                assert Path(value) in {Path("/run/secrets") / target for target in files}, (name, variable)
        if name != "db" and files:
            assert environment["CUBEYARD_SECRETS_DIR"] == "/run/secrets", name


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="there is no docker-compose")
@pytest.mark.parametrize("value", ["false", pytest.param(None, marks=pytest.mark.long)])
def test_a_setting_in_env_reaches_the_services(tmp_path: Path, value: str | None) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CUBEYARD_")}
    (tmp_path / ".env").write_text(f"CUBEYARD_TERMINALS={value}\n" if value is not None else "")
    shutil.copy(ROOT / "docker-compose.yml", tmp_path)
    shown = subprocess.run(
        ["docker-compose", "config"], cwd=tmp_path, env=kept, capture_output=True, text=True, check=True
    )
    for service in ("api", "worker"):
        assert (
            yaml.load(shown.stdout, yaml.CSafeLoader)["services"][service]["environment"].get("CUBEYARD_TERMINALS")
            == value
        )


def test_the_chart_has_the_switches_as_values() -> None:
    values: Json = yaml.load((ROOT / "deploy/helm/cubeyard/values.yaml").read_text(), yaml.CSafeLoader)
    names = {f"CUBEYARD_{name.upper()}" for name in SWITCHES}
    assert set(values["settings"]) == names
    rendered = yaml.load_all((ROOT / "deploy/kubernetes/cubeyard.yaml").read_text(), yaml.CSafeLoader)
    for document in rendered:
        if document["kind"] in ("Deployment", "StatefulSet"):
            (container,) = document["spec"]["template"]["spec"]["containers"]
            assert names <= {variable["name"] for variable in container["env"]}, document["kind"]


def test_the_api_reports_which_parts_are_turned_off(settings: Settings) -> None:
    off = settings.model_copy(update={"terminals": False, "user_images": False})
    for given, available in ((settings, True), (off, False)):
        parts = {part.name: part for part in probe(given).capabilities}
        for name in ("images", "terminals"):
            assert parts[name].available is available
            assert not parts[name].needed
    assert parts["terminals"].reason == "Turned off by CUBEYARD_TERMINALS."


@pytest.mark.parametrize(
    ("registries", "words"), [("docker.io", "Workers read sizes"), ("local", "are unknown before")]
)
def test_the_api_reports_whether_sizes_of_images_in_pods_are_known(registries: str, words: str) -> None:
    cluster = {"namespace": "servers", "fabrics": "fabrics", "keys": "/keys", "image": "x"}
    given = Settings.model_validate({"cluster": cluster, "image_registries": registries})
    (images,) = (part for part in switches(given) if part.name == "images")
    assert words in images.reason
