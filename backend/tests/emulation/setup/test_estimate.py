"""The limits of a machine: a network beyond them is refused before anything is started."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import pytest

from cubeyard.emulation.setup import estimate
from cubeyard.experiments.emulation import Emulation, UserService

CRATES = Path(__file__).resolve().parents[4] / "emulator/crates"
FABRIC, SANDBOX = CRATES / "fabric/src/api/fabric.rs", CRATES / "sandbox/src/limits.rs"


@pytest.mark.parametrize(
    ("files", "mode", "hosts", "most"),
    [
        (20_000, "namespaces", 0, 761),
        (20_000, "containers", 0, 256),
        (1_024, "containers", 0, 31),
        (resource.RLIM_INFINITY, "namespaces", 0, 1_024),
        (1_024, "namespaces", 2, 2_048),
        (100, "namespaces", 0, 0),
    ],
)
def test_open_files_limit_the_servers_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, files: int, mode: str, hosts: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert estimate.most_servers(mode, hosts) == most


@pytest.mark.parametrize("name", ["DESCRIPTORS_PER_SERVER", "OWN_DESCRIPTORS"])
def test_the_fabric_counts_alike(name: str) -> None:
    match = re.search(rf"const {name}: u64 = (\d+);", FABRIC.read_text())
    assert match is not None
    assert int(match[1]) == getattr(estimate, name)


def test_services_of_users_are_in_the_memory_of_servers() -> None:
    """Counts each instance with the limit of the sandbox."""
    match = re.search(r"MEMORY_BYTES: usize = (\d+) << 20;", SANDBOX.read_text())
    assert match is not None
    assert int(match[1]) << 20 == estimate.SERVICE_BYTES
    services = [UserService(name=f"s{i}", id=256 + i, module="(module)") for i in range(2)]
    alone, beside = (estimate.server_bytes(Emulation(services=some)) for some in ([], services))
    assert beside - alone == 2 * estimate.SERVICE_BYTES
