"""The NetBox archive is imported by an importer that refuses what NetBox 4 refuses."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.exports.netbox.archive import PIECE_ROWS, SHARED
from cubeyard.exports.netbox.records import NetboxRecords
from cubeyard.exports.text import slug
from cubeyard.plans.view import PlanView
from tests.conftest import examples, some
from tests.exports import plans
from tests.exports.netbox_importer import ORDER, ImportRefusedError, Netbox


def _model(name: str) -> str:
    """`interfaces` of `10-interfaces.csv` and of `10-interfaces-007.csv`."""
    return re.sub(r"-\d{3}$", "", name[3:-4])


def load(data: bytes) -> Netbox:
    """Import every file in the order of its number."""
    netbox = Netbox()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".csv") and "/" not in name)
        assert list(dict.fromkeys(_model(name) for name in names)) == ORDER
        for name in names:
            assert name[2] == "-"
            assert name[:2].isdigit()
            assert netbox.load(_model(name), archive.read(name)) <= PIECE_ROWS
    return netbox


def check(plan: PlanView, netbox: Netbox) -> None:
    """Nothing of the plan is missing and nothing is added but shelves."""
    devices = plan.scene["devices"]
    shelves = [row for row in netbox.devices.values() if row["role"] == "Shelf"]
    pdus = [name for name, row in netbox.devices.items() if row["role"] == "PDU"]
    assert len(netbox.devices) - len(shelves) - len(pdus) == len(devices["name"])
    check_power(plan, netbox, pdus)
    bundles = Counter(row["bundle"] for row in netbox.cables if row["bundle"])
    assert sorted(bundles.values()) == sorted(plan.scene["bundles"]["cables"])
    assert set(bundles) == set(netbox.cable_bundles)
    assert list(netbox.racks) == plan.rack_names
    assert len(netbox.cables) == plan.cable_count
    # Every end of a cable has its port, and ports without a cable are listed too.
    used = {(row[f"side_{side}_device"], row[f"side_{side}_name"]) for row in netbox.cables for side in "ab"}
    assert len(used) == 2 * plan.cable_count
    assert used <= set(netbox.interfaces)
    ports = dict(zip(devices["host"], devices["port_count"], strict=True))
    assert all(count >= ports[name] for name, count in Counter(name for name, _ in netbox.interfaces).items())
    for i, name in enumerate(devices["host"]):
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


def check_power(plan: PlanView, netbox: Netbox, pdus: list[str]) -> None:
    """Each device is fed by a PDU of its rack, and each PDU by a feed with the capacity in the
    price book."""
    quantity = Counter({line["category"]: line["quantity"] for line in plan.bom["lines"]})
    assert len(pdus) == len(netbox.power_feeds) == quantity["pdu"]
    fed: Counter[str] = Counter()
    for row in netbox.power_cables:
        assert row["type"] == "power"
        device = row["side_a_device"]
        fed[device] += 1
        if row["side_b_type"] == "dcim.poweroutlet":
            assert netbox.devices[device]["rack"] == netbox.devices[row["side_b_device"]]["rack"]
        else:
            feed = netbox.power_feeds[row["side_b_power_panel"], row["side_b_name"]]
            assert feed["rack"] == netbox.devices[device]["rack"]
            watts = int(feed["voltage"]) * int(feed["amperage"]) * (3**0.5 if feed["phase"] == "three-phase" else 1)
            assert watts >= (plan.pdu or {"attributes": {}})["attributes"].get("power_limit_watts", 0)
    assert set(fed) == set(plan.host_names) | set(pdus)
    assert fed.total() == quantity["cord"] + quantity["pdu"]


@pytest.mark.parametrize("name", some([*plans.SMALL, "priced", "paper"], 4))
def test_netbox_imports_the_whole_plan(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    check(plan(name), load(rendered("netbox", name)))


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs())
def test_netbox_imports_any_plan(engine: Engine, spec: dict[str, object]) -> None:
    plan = plans.compute(engine, spec, "current-2026")
    check(plan, load(b"".join(render("netbox", plan))))


def test_two_plans_with_prefixes_share_no_device(engine: Engine) -> None:
    """NetBox finds a device of an import by its name alone, at any site."""

    def devices(prefix: str) -> set[object]:
        spec = {"topology": {"family": "bcube", "n": 4, "k": 1}, "site": {"host_prefix": prefix}}
        return {row["name"] for row in NetboxRecords(plans.compute(engine, spec, "current-2026")).devices()}

    ours = devices("dc-a")
    assert len(ours) > 24, "servers and switches, shelves and PDUs"
    assert not ours & devices("dc-b")


def test_what_plans_share_is_there_row_by_row(rendered: Callable[[str, str], bytes]) -> None:
    """A NetBox that already has some of the objects rejects the whole file, but of single rows only
    the existing ones."""
    with zipfile.ZipFile(io.BytesIO(rendered("netbox", "dcell"))) as archive:
        for model in SHARED:
            header, *rows = archive.read(f"{model}.csv").splitlines()
            single = [name for name in archive.namelist() if name.startswith(f"shared/{model}-")]
            assert [archive.read(name).splitlines() for name in sorted(single)] == [[header, row] for row in rows]


def test_interfaces_and_cables_carry_the_networks_own_words(rendered: Callable[[str, str], bytes]) -> None:
    paper, subways = load(rendered("netbox", "paper")), load(rendered("netbox", "subways"))
    assert {row["type"] for row in paper.interfaces.values()} == {"1000base-t"}
    speeds = Counter(row["speed"] for row in paper.interfaces.values())
    assert speeds == {"1000000": 2 * 8192, "": 1280 * 8 - 8192}, "the partial BCube's top switches have free ports"
    assert {row["type"] for row in paper.cables} == {"cat6"}
    # The ToRs' uplinks are of 100 Gb/s though a cable of 40 Gb/s is in them; the core's ports are
    # of 40 Gb/s.
    kinds = {"10gbase-x-sfpp", "40gbase-x-qsfpp", "100gbase-x-qsfp28"}
    assert {row["type"] for row in subways.interfaces.values()} == kinds
    uplinks = [row for row in subways.interfaces.values() if row["type"] == "100gbase-x-qsfp28" and row["speed"]]
    assert {row["speed"] for row in uplinks} == {"40000000"}
    assert {row["type"] for row in subways.cables} == {"dac-passive", "aoc"}
    first = paper.cables[0]
    assert first["label"] == "R00-01A:eth0/R00-36A:P0"
    assert (first["side_a_device"], first["side_a_name"]) == ("h0000", "eth0")
    assert first["length_unit"] == "m"


def test_device_types_are_written_as_the_community_library_has_them(rendered: Callable[[str, str], bytes]) -> None:
    """The library's keys, and components that agree with the files of interfaces, bays and power
    ports."""
    data = rendered("netbox", "subways")
    netbox = load(data)
    documents = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if name.endswith(".yaml"):
                text = archive.read(name).decode()
                assert text.startswith("---\n")
                item = yaml.safe_load(text)
                assert name == f"device-types/{slug(item['manufacturer'])}/{item['slug']}.yaml"
                documents[item["manufacturer"], item["model"]] = item
    assert documents.keys() == netbox.device_types.keys()
    known = {
        "manufacturer", "model", "slug", "part_number", "u_height", "is_full_depth", "subdevice_role", "airflow", "weight",
        "weight_unit", "description", "interfaces", "power-ports", "power-outlets", "device-bays",
    }  # fmt: skip
    assert all(set(document) <= known for document in documents.values())
    for name, device in netbox.devices.items():
        item = documents[device["manufacturer"], device["device_type"]]
        interfaces = [(port["name"], port["type"]) for port in item.get("interfaces", [])]
        assert interfaces == [(port, row["type"]) for (host, port), row in netbox.interfaces.items() if host == name]
        assert [bay["name"] for bay in item.get("device-bays", [])] == [
            bay for host, bay in netbox.device_bays if host == name
        ]
        draws = [str(port.get("maximum_draw", "")) for port in item.get("power-ports", [])]
        assert draws == [row["maximum_draw"] for (host, _), row in netbox.power_ports.items() if host == name]
        assert [(port["name"], port["type"], port["power_port"]) for port in item.get("power-outlets", [])] == [
            (port, row["type"], row["power_port"]) for (host, port), row in netbox.power_outlets.items() if host == name
        ]


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
        files: dict[str, str] = {}
        for name in archive.namelist():
            if name.startswith(("0", "1")):
                text = archive.read(name).decode()
                files[_model(name)] = files.get(_model(name), "") + (
                    text.split("\r\n", 1)[1] if _model(name) in files else text
                )

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
