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
            address, name = words
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
        if key == "dhcp-range":
            assert words[1] == "static"
            networks.append(ipaddress.IPv4Network(f"{words[0]}/{words[2]}"))
        else:
            into = {"dhcp-host": leases, "host-record": records}[key]
            assert words[0] not in into
            into[words[0]] = words[1]
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
@pytest.mark.parametrize("name", ["dcell", "torus", "paper"])
def test_dnsmasq_takes_its_file(name: str, tmp_path: Path, rendered: Callable[[str, str], bytes]) -> None:
    (tmp_path / "dnsmasq.conf").write_bytes(rendered("dnsmasq", name))
    done = subprocess.run(
        ["dnsmasq", "--test", "-C", str(tmp_path / "dnsmasq.conf")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (0, "dnsmasq: syntax check OK.")


@pytest.mark.skipif(shutil.which("kea-dhcp4") is None, reason="needs Kea's DHCPv4 server")
@pytest.mark.parametrize("name", ["dcell", "torus", "paper"])
def test_kea_takes_its_configuration(name: str, tmp_path: Path, rendered: Callable[[str, str], bytes]) -> None:
    (tmp_path / "kea.json").write_bytes(rendered("kea", name))
    done = subprocess.run(
        ["kea-dhcp4", "-t", str(tmp_path / "kea.json")], capture_output=True, text=True, check=False,
        env=os.environ | {"KEA_PIDFILE_DIR": str(tmp_path), "KEA_LOCKFILE_DIR": str(tmp_path)},
    )  # fmt: skip
    message = done.stdout + done.stderr
    assert done.returncode == 0, message
    assert not re.search(r"\b(ERROR|FATAL|WARN)\b", message), message
