"""Hosts file, dnsmasq and Kea: every device once, with the addresses of the lab file; read by the
programs where they are installed."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from typer.testing import CliRunner

from cubeyard.cli.command import app as program
from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.plans.view import PlanView
from tests.conftest import examples
from tests.exports import plans

Json = dict[str, Any]


def read_hosts(data: bytes) -> dict[str, str]:
    """hosts(5): address, names, and a comment behind `#`."""
    result: dict[str, str] = {}
    for line in data.decode().splitlines():
        words = line.partition("#")[0].split()
        if words:
            address, name = words[0], words[-1]
            assert words[1].partition(".")[0] == name
            assert name not in result
            result[name] = str(ipaddress.ip_address(address))
    return result


def read_dnsmasq(data: bytes) -> tuple[dict[str, str], dict[str, str], list[ipaddress.IPv4Network]]:
    """Leases and records by host name, and the networks that leases are given in."""
    leases: dict[str, str] = {}
    records: dict[str, str] = {}
    networks: list[ipaddress.IPv4Network] = []
    for line in data.decode().splitlines():
        if line.startswith("#"):
            continue
        key, _, value = line.partition("=")
        words = value.split(",")
        if key in ("domain", "dhcp-option"):
            continue
        if key == "dhcp-range":
            words = [word for word in words if not word.startswith("set:")]
            assert words[1] == "static"
            networks.append(ipaddress.IPv4Network(f"{words[0]}/{words[2]}"))
        else:
            into = {"dhcp-host": leases, "host-record": records}[key]
            assert words[0] not in into
            into[words[0]] = words[-1]
    return leases, records, networks


def check(plan: PlanView) -> None:
    hosts = read_hosts(b"".join(render("hosts", plan)))
    assert list(hosts) == plan.host_names
    assert len(set(hosts.values())) == len(hosts)
    leases, records, networks = read_dnsmasq(b"".join(render("dnsmasq", plan)))
    assert leases == records == hosts
    kea = json.loads(b"".join(render("kea", plan)))["Dhcp4"]
    reserved = {
        reservation["hostname"]: reservation["ip-address"]
        for subnet in kea["subnet4"]
        for reservation in subnet["reservations"]
    }
    assert reserved == hosts
    subnets = [ipaddress.IPv4Network(subnet["subnet"]) for subnet in kea["subnet4"]]
    assert subnets == networks
    for subnet, net in zip(kea["subnet4"], subnets, strict=True):
        inside = {ipaddress.IPv4Address(reservation["ip-address"]) for reservation in subnet["reservations"]}
        assert all(item in net for item in inside)
        assert not inside & {net.broadcast_address, net.network_address}
    check_identifiers(plan, [reservation for subnet in kea["subnet4"] for reservation in subnet["reservations"]])


def check_identifiers(plan: PlanView, reservations: list[Json]) -> None:
    """A server on a switch is known by that switch's port, which is one that the plan cables it to;
    others by their names."""
    devices, hosts = plan.scene["devices"], plan.host_names
    near: dict[str, set[str]] = {host: set() for host in hosts}
    columns = zip(
        plan.cables["a_device"].tolist(),
        plan.cables["b_device"].tolist(),
        plan.a_port_names,
        plan.b_port_names,
        strict=True,
    )
    for a, b, a_port, b_port in columns:
        for own, far, port in ((a, b, b_port), (b, a, a_port)):
            if not devices["kind"][own] and devices["kind"][far]:
                near[hosts[own]].add(f"'{hosts[far]}:{port}'")
    used: list[str] = []
    for reservation in reservations:
        if near[reservation["hostname"]]:
            assert reservation["circuit-id"] in near[reservation["hostname"]]
            used.append(reservation["circuit-id"])
        else:
            assert reservation["client-id"] == f"'{reservation['hostname']}'"
    assert len(set(used)) == len(used), "two servers on one port"


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs())
def test_any_plan_has_every_device_once(engine: Engine, spec: Json) -> None:
    check(plans.compute(engine, spec, "current-2026"))


@pytest.mark.parametrize("name", ["torus", "subways", "paper"])
def test_every_device_has_its_address(name: str, plan: Callable[[str], PlanView]) -> None:
    check(plan(name))


def test_the_addresses_are_those_of_the_lab(rendered: Callable[[str, str], bytes]) -> None:
    nodes = yaml.load(rendered("containerlab", "fat-tree"), yaml.CSafeLoader)["topology"]["nodes"]
    assert {name: node["labels"]["address"] for name, node in nodes.items()} == read_hosts(
        rendered("hosts", "fat-tree")
    )


SITE = {
    "servers": "10.20.0.0/26", "switches": "10.21.0.0/27", "gateway": "10.20.0.1",
    "dns": ["192.0.2.53", "192.0.2.54"], "domain": "dc1.example.org",
}  # fmt: skip


@pytest.fixture(scope="module")
def addressed(engine: Engine) -> PlanView:
    """A plan with its own networks; servers are behind a gateway, switches are not."""
    topology = {"family": "fat_tree", "ports": 4, "layers": 3}
    return plans.compute(engine, {"topology": topology, "site": {"addresses": SITE}}, "current-2026")


def test_every_file_has_the_sites_addresses(addressed: PlanView) -> None:
    check(addressed)
    files = {name: b"".join(render(name, addressed)) for name in ("hosts", "dnsmasq", "kea", "ansible", "containerlab")}
    hosts = read_hosts(files["hosts"])
    first, switch = addressed.host_names[0], addressed.host_names[16]
    assert (hosts[first], hosts[switch]) == ("10.20.0.2", "10.21.0.1"), "the gateway's address belongs to no server"
    assert f"10.20.0.2\t{first}.dc1.example.org {first}\t" in files["hosts"].decode()

    dnsmasq = files["dnsmasq"].decode().splitlines()
    assert [line for line in dnsmasq if line.startswith(("domain=", "dhcp-range=", "dhcp-option="))] == [
        "domain=dc1.example.org",
        "dhcp-option=option:dns-server,192.0.2.53,192.0.2.54",
        "dhcp-range=set:routed,10.20.0.0,static,255.255.255.192,86400",
        "dhcp-option=tag:routed,option:router,10.20.0.1",
        "dhcp-range=10.21.0.0,static,255.255.255.224,86400",
    ]
    assert f"host-record={first},{first}.dc1.example.org,10.20.0.2" in dnsmasq

    kea = json.loads(files["kea"])["Dhcp4"]
    assert kea["option-data"] == [
        {"name": "domain-name-servers", "data": "192.0.2.53, 192.0.2.54"},
        {"name": "domain-name", "data": "dc1.example.org"},
    ]
    servers, switches = kea["subnet4"]
    assert (servers["subnet"], switches["subnet"]) == ("10.20.0.0/26", "10.21.0.0/27")
    assert servers["option-data"] == [{"name": "routers", "data": "10.20.0.1"}]
    assert "option-data" not in switches

    inventory = yaml.load(files["ansible"], yaml.CSafeLoader)["all"]["hosts"]
    assert {name: item["address"] for name, item in inventory.items()} == hosts
    nodes = yaml.load(files["containerlab"], yaml.CSafeLoader)["topology"]["nodes"]
    assert {name: node["labels"]["address"] for name, node in nodes.items()} == hosts
    routes = re.findall(r"route add (\S+) src", " ".join(nodes[switch]["exec"]))
    assert routes
    assert all(ipaddress.IPv4Network(route).subnet_of(ipaddress.IPv4Network("10.20.0.0/26")) for route in routes)
    whole = b"".join(files.values())
    assert b"10.0.0." not in whole
    assert b"172.16." not in whole


def test_a_network_that_is_too_small_is_refused_with_its_field_and_the_fix(tmp_path: Path) -> None:
    spec = {"topology": {"family": "bcube", "n": 4, "k": 1}, "site": {"addresses": {"servers": "10.20.0.0/28"}}}
    (tmp_path / "plan.json").write_text(json.dumps(spec))
    done = CliRunner().invoke(program, ["export", "--spec", str(tmp_path / "plan.json"), "--format", "kea"])
    assert done.exit_code == 2
    words = " ".join(done.output.split())
    assert "site.addresses.servers is 10.20.0.0/28, with 14 addresses; the plan has 16 servers" in words
    assert "10.20.0.0/27" in words


def test_a_network_that_is_just_full_gets_a_larger_one(engine: Engine) -> None:
    for servers, prefix in ((254, 24), (255, 23)):
        plan = plans.compute(engine, {"family": "tree", "edge_ports": 48, "servers": servers}, "current-2026")
        _, _, networks = read_dnsmasq(b"".join(render("dnsmasq", plan)))
        assert networks[0].prefixlen == prefix


def test_the_example_is_a_line_of_the_file(rendered: Callable[[str, str], bytes]) -> None:
    lines = rendered("dnsmasq", "subways").decode().splitlines()
    example = next(line for line in lines if "by its MAC address" in line).rpartition(" ")[2]
    assert example.replace("02:00:00:00:00:01,", "") in lines


def test_a_hostile_name_stays_in_its_comment(hostile: PlanView) -> None:
    check(hostile)


@pytest.mark.skipif(shutil.which("dnsmasq") is None, reason="needs dnsmasq")
@pytest.mark.parametrize("name", ["dcell", "torus", "paper", "addressed"])
def test_dnsmasq_takes_its_file(
    name: str, tmp_path: Path, plan: Callable[[str], PlanView], addressed: PlanView
) -> None:
    view = addressed if name == "addressed" else plan(name)
    (tmp_path / "dnsmasq.conf").write_bytes(b"".join(render("dnsmasq", view)))
    done = subprocess.run(
        ["dnsmasq", "--test", "-C", str(tmp_path / "dnsmasq.conf")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (0, "dnsmasq: syntax check OK.")


@pytest.mark.skipif(shutil.which("kea-dhcp4") is None, reason="needs Kea's DHCPv4 server")
@pytest.mark.parametrize("name", ["dcell", "torus", "paper", "addressed"])
def test_kea_takes_its_configuration(
    name: str, tmp_path: Path, plan: Callable[[str], PlanView], addressed: PlanView
) -> None:
    view = addressed if name == "addressed" else plan(name)
    (tmp_path / "kea.json").write_bytes(b"".join(render("kea", view)))
    done = subprocess.run(
        ["kea-dhcp4", "-t", str(tmp_path / "kea.json")], capture_output=True, text=True, check=False,
        env=os.environ | {"KEA_PIDFILE_DIR": str(tmp_path), "KEA_LOCKFILE_DIR": str(tmp_path)},
    )  # fmt: skip
    message = done.stdout + done.stderr
    assert done.returncode == 0, message
    assert not re.search(r"\b(ERROR|FATAL|WARN)\b", message), message
