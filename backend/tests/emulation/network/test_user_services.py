"""Users' services: which are valid in an experiment, and what the fabric gets."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from cubeyard.cli.modules import TEMPLATES
from cubeyard.emulation.live.service import network_of
from cubeyard.emulation.network import network as networks
from cubeyard.emulation.network.services import hosted, with_processes
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import Emulation, UserService
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings

Json = dict[str, Any]
TORUS: Json = {"family": "torus3d", "x": 3, "y": 3, "z": 3}
GREETING = base64.b64encode((TEMPLATES / "greeting.wat").read_bytes()).decode()


@pytest.fixture(name="engine", scope="module")
def _engine() -> Engine:
    return Engine(Settings())


def service(**other: Any) -> UserService:
    return UserService.model_validate({"name": "greeting", "module": GREETING, **other})


def refused(engine: Engine, spec: Json, *services: UserService) -> tuple[str, str, str]:
    """The refused field, the reason, and the fix."""
    network = networks.build(engine, spec, 1e8, 9000, None)
    with pytest.raises(ProblemError) as raised:
        hosted(engine, network, services)
    (error,) = raised.value.errors
    assert raised.value.status == 422
    assert error.hint
    return error.field.removeprefix("body.emulation."), error.message, error.hint


def test_the_fabric_gets_binary_modules_and_people_see_names(engine: Engine) -> None:
    network = networks.build(engine, TORUS, 1e8, 9000, None)
    other = service(name="other", id=300)
    result = hosted(engine, network, [service(), other])
    described = result.for_fabric("0a1b2c3d4e5f6g", 1, "kernel", {})["services"]
    assert [(item["name"], item["id"]) for item in described] == [("greeting", 256), ("other", 300)]
    assert all(bytes.fromhex(item["module"]).startswith(b"\0asm") for item in described)
    assert [item["name"] for item in result.protocol["services"][-2:]] == ["greeting", "other"]
    assert "greeting" not in [item["name"] for item in network.protocol["services"]]


def test_processes_are_hosted_beside_modules_and_refused_by_the_same_rules(engine: Engine) -> None:
    network = hosted(engine, networks.build(engine, TORUS, 1e8, 9000, None), [service()])
    result = with_processes(network, [("mine", 257)])
    described = result.for_fabric("0a1b2c3d4e5f6g", 1, "kernel", {})["services"]
    assert [item["name"] for item in described] == ["greeting", "mine"]
    assert described[1] == {"name": "mine", "id": 257, "process": True}
    assert [item["name"] for item in result.protocol["services"][-2:]] == ["greeting", "mine"]
    for taken, output in (("greeting", 257), "already"), (("mine", 256), "is that of service greeting"):
        with pytest.raises(ProblemError) as raised:
            with_processes(network, [taken])
        assert output in raised.value.errors[0].message
    with pytest.raises(ProblemError):
        with_processes(networks.build(engine, {"family": "bcube", "n": 2, "k": 1}, 1e8, 9000, None), [("mine", 256)])
    # REST requests cannot contain a service in a process.
    assert "process" not in UserService.model_fields


def test_a_run_lists_its_services(engine: Engine) -> None:
    settings = Emulation(services=[service()])
    document = {"plan": {"spec": TORUS}, "emulation": settings.model_dump(mode="json")}
    assert network_of(engine, document).protocol["services"][-1]["name"] == "greeting"


def test_a_question_without_services_is_unchanged() -> None:
    assert "services" not in Emulation().model_dump(mode="json")


def test_each_field_is_refused_by_its_name(engine: Engine) -> None:
    def module(text: bytes) -> UserService:
        return service(module=base64.b64encode(text).decode())

    assert refused(engine, TORUS, service(module="?"))[:2] == ("services.0.module", "This is not base64.")
    field, message, _ = refused(engine, TORUS, module(b"(module)"))
    assert (field, message) == ("services.0.module", "The module does not export its memory.")
    field, message, _ = refused(engine, TORUS, service(), module(b"\0asm\1\0\0\0\xff"))
    assert field == "services.1.name"
    field, message, _ = refused(
        engine, TORUS, service(), service(name="other", module=module(b"\0asm\1\0\0\0\xff").module, id=257)
    )
    assert field == "services.1.module"
    assert "does not" in message or "not a WebAssembly module" in message
    assert refused(engine, TORUS, service(name="cache"))[0] == "services.0.name"
    field, message, hint = refused(engine, TORUS, service(), service(name="other"))
    assert (field, hint) == ("services.1.id", "Give it another, like 257.")
    assert "greeting" in message
    assert refused(engine, {"family": "bcube", "n": 2, "k": 1}, service())[0] == "services"
