"""The NetBox archive is imported by an importer that refuses what NetBox 4 refuses."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings

from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.plans.view import PlanView
from tests.exports import plans
from tests.exports.netbox_importer import ORDER, ImportRefusedError, Netbox


def load(data: bytes, *, comma_free: bool = False, split_commas: bool = False) -> Netbox:
    """Import every file in the order of its number."""
    netbox = Netbox(split_commas=split_commas)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".csv") and "/" not in name)
        assert [name[3:-4] for name in names] == ORDER
        for name in names:
            assert name[2] == "-"
            assert name[:2].isdigit()
            wanted = f"comma-free/{name}"
            use = wanted if comma_free and wanted in archive.namelist() else name
            netbox.load(name[3:-4], archive.read(use))
    return netbox


def check(plan: PlanView, netbox: Netbox) -> None:
    """Nothing of the plan is missing and nothing is added but shelves."""
    devices = plan.scene["devices"]
    shelves = [row for row in netbox.devices.values() if row["role"] == "Shelf"]
    assert len(netbox.devices) - len(shelves) == len(devices["name"])
    assert list(netbox.racks) == plan.rack_names
    assert len(netbox.cables) == plan.cable_count
    assert len(netbox.interfaces) == 2 * plan.cable_count
    for i, name in enumerate(devices["name"]):
        row = netbox.devices[name]
        rack = plan.rack_names[devices["rack"][i]]
        assert row["rack"] == rack
        if devices["slots"][i] == 1:
            assert row["position"] == str(devices["unit"][i])
        else:
            # The unit and slot are read from the shelf and the bay.
            shelf = f"{rack}-{devices['unit'][i]:02d}"
            assert netbox.devices[shelf]["position"] == str(devices["unit"][i])
            bay = netbox.device_bays[shelf, "ABCDEFGHIJKLMNOP"[devices["slot"][i]]]
            assert bay["installed_device"] == name
            assert row["description"].endswith(f"{shelf}{bay['name']}")


@pytest.mark.parametrize("name", ["paper", "priced", *plans.SMALL])
def test_netbox_imports_the_whole_plan(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    check(plan(name), load(rendered("netbox", name)))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs())
def test_netbox_imports_any_plan(engine: Engine, spec: dict[str, object]) -> None:
    plan = plans.compute(engine, spec, "current-2026")
    check(plan, load(b"".join(render("netbox", plan))))


def test_releases_that_split_at_commas_have_files_of_their_own(rendered: Callable[[str, str], bytes]) -> None:
    data = rendered("netbox", "paper")
    with pytest.raises(ImportRefusedError, match="Object not found: <0"):
        load(data, split_commas=True)
    netbox = load(data, comma_free=True, split_commas=True)
    assert len(netbox.cables) == 8192
    assert "<3.777>" in netbox.devices


def test_interfaces_and_cables_carry_the_networks_own_words(rendered: Callable[[str, str], bytes]) -> None:
    paper, subways = load(rendered("netbox", "paper")), load(rendered("netbox", "subways"))
    assert {row["type"] for row in paper.interfaces.values()} == {"1000base-t"}
    assert {row["speed"] for row in paper.interfaces.values()} == {"1000000"}
    assert {row["type"] for row in paper.cables} == {"cat6"}
    assert {row["type"] for row in subways.interfaces.values()} == {"10gbase-x-sfpp", "40gbase-x-qsfpp"}
    assert {row["type"] for row in subways.cables} == {"dac-passive", "aoc"}
    first = paper.cables[0]
    assert first["label"] == "R00-01A:eth0/R00-36A:P0"
    assert (first["side_a_device"], first["side_a_name"]) == ("0000", "eth0")
    assert first["length_unit"] == "m"


def test_hostile_names_are_imported_as_text(hostile: PlanView) -> None:
    data = b"".join(render("netbox", hostile))
    check(hostile, load(data))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            assert not name.startswith("/")
            assert ".." not in name


def test_the_importer_refuses_what_netbox_refuses(rendered: Callable[[str, str], bytes]) -> None:
    """An importer that takes anything would prove nothing."""
    data = rendered("netbox", "fat-tree")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {name[3:-4]: archive.read(name).decode() for name in archive.namelist() if name.startswith(("0", "1"))}

    def loaded(until: str) -> Netbox:
        netbox = Netbox()
        for model in ORDER[: ORDER.index(until)]:
            netbox.load(model, files[model].encode())
        return netbox

    cables = files["cables"].splitlines()
    twice = "\r\n".join([*cables, cables[1]])
    with pytest.raises(ImportRefusedError, match="already has a cable"):
        loaded("cables").load("cables", twice.encode())
    with pytest.raises(ImportRefusedError, match="not found"):
        loaded("cables").load("cables", files["cables"].replace(",P0,", ",P99,").encode())
    with pytest.raises(ImportRefusedError, match="not found"):
        loaded("racks").load("devices", files["devices"].encode())
    devices = files["devices"].splitlines()
    crowded = "\r\n".join([*devices[:2], devices[1].replace("R00-01", "Z-01")])
    with pytest.raises(ImportRefusedError, match="already occupied"):
        loaded("devices").load("devices", crowded.encode())
    with pytest.raises(ImportRefusedError, match="missing"):
        Netbox().load("sites", b"name,status\r\nx,planned\r\n")
    with pytest.raises(ImportRefusedError, match="bad slug"):
        Netbox().load("sites", b"name,slug,status\r\nx,a b,planned\r\n")
