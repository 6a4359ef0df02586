"""Files for fabric managers, read back by other programs' readers or by the documented grammar, and
compared with the plan."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings

from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.plans.view import PlanView
from tests.conftest import examples, some
from tests.exports import plans

Json = dict[str, Any]
End = tuple[str, int]


def plan_ends(plan: PlanView) -> Counter[frozenset[End]]:
    """Every cable of the plan as its two ends (host name, port number)."""
    columns = plan.cables
    hosts = plan.host_names
    rows = zip(*(columns[name].tolist() for name in ("a_device", "a_port", "b_device", "b_port")), strict=True)
    return Counter(frozenset(((hosts[a], a_port), (hosts[b], b_port))) for a, a_port, b, b_port in rows)


# "SYSTEM-TYPE SYSTEM-NAME" and "LOCAL-PORT -> REM-SYS-TYPE REM-SYS-NAME REM-PORT" (manual page
# ibdm-topo-file)
_SYSTEM = re.compile(r"(\S+) (\S+)")
_LINK = re.compile(r"\s+P(\d+) -> (\S+) (\S+) P(\d+)")


def check_ufm(plan: PlanView, data: bytes) -> dict[str, str]:
    """Types by system. Each system once, each cable in the sections of both its ends."""
    types: dict[str, str] = {}
    seen: list[tuple[frozenset[End], str, str]] = []
    system = ""
    for line in data.decode("ascii").splitlines():
        if line.startswith("#") or not line:
            system = "" if not line else system
        elif matched := _LINK.fullmatch(line):
            assert system
            port, far_type, far, far_port = matched.groups()
            seen.append((frozenset(((system, int(port) - 1), (far, int(far_port) - 1))), far, far_type))
        else:
            matched = _SYSTEM.fullmatch(line)
            assert matched, line
            assert not system, line
            system = matched[2]
            assert system not in types
            types[system] = matched[1]
    assert list(types) == plan.host_names
    assert all(types[far] == far_type for _, far, far_type in seen)
    ends = plan_ends(plan)
    assert Counter(cable for cable, _, _ in seen) == Counter({cable: 2 * count for cable, count in ends.items()})
    return types


def check_apstra(plan: PlanView, data: bytes) -> None:
    links = json.loads(data)["links"]
    labels = [link["label"] for link in links]
    assert len(set(labels)) == len(labels) == plan.cable_count
    hosts = plan.host_names
    kinds = dict(zip(hosts, plan.scene["devices"]["kind"], strict=True))
    for i, link in enumerate(links):
        upper, lower = (end["system"]["label"] for end in link["endpoints"])
        assert {upper, lower} == {hosts[plan.cables["a_device"][i]], hosts[plan.cables["b_device"][i]]}
        assert re.fullmatch(rf"{upper}<->{lower}\[\d+\]", link["label"])
        assert all(
            (end["system"]["role"] == "generic") == (not kinds[end["system"]["label"]]) for end in link["endpoints"]
        )
        unit = 1 if link["speed"].endswith("G") else 1000
        assert float(link["speed"][:-1]) / unit == pytest.approx(plan.gbps[i])
        assert link["tags"][0] == plan.cable_name(i)
        assert float(link["tags"][2].removesuffix(" m")) == pytest.approx(plan.cables["stock_mm"][i] / 1000)
    ends = Counter((end["system"]["label"], end["interface"]["if_name"]) for link in links for end in link["endpoints"])
    assert set(ends.values()) <= {1}, "an interface has two links"


def check_nvidia(plan: PlanView, data: bytes) -> None:
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
    rows = list(book["P2P"].iter_rows(values_only=True))
    header, body = rows[0], rows[1:]
    assert len(body) == plan.cable_count
    devices, hosts, racks = plan.scene["devices"], plan.host_names, plan.rack_names
    for i, values in enumerate(body):
        row = dict(zip(header, values, strict=True))
        for side, unit, column, names in (("A", "A-U", "a", plan.a_port_names), ("Z", "Z-RU", "b", plan.b_port_names)):
            device = int(plan.cables[f"{column}_device"][i])
            assert row[f"{side}-Node Name"] == hosts[device]
            assert (row[f"{side}-Rack"], row[unit]) == (racks[devices["rack"][device]], devices["unit"][device])
            switch = bool(devices["kind"][device])
            assert row[f"{side}-Type"] == ("Switch" if switch else "Host")
            if switch:
                assert row[f"{side}-Port"] == f"swp{plan.cables[f'{column}_port'][i] + 1}"
            elif re.fullmatch(r"\w+", names[i]):
                assert row[f"{side}-Port"] == names[i]
        assert row["Length (m)"] == pytest.approx(plan.cables["stock_mm"][i] / 1000)
        assert row["Rate (Gb/s)"] == pytest.approx(plan.gbps[i])
        assert (row["A-Label"], row["Z-Label"]) == (plan.near_labels[i], plan.far_labels[i])


@pytest.mark.long
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs())
def test_managers_get_every_cable_of_any_plan(engine: Engine, spec: Json) -> None:
    plan = plans.compute(engine, spec, "current-2026")
    check_ufm(plan, b"".join(render("ufm", plan)))
    check_apstra(plan, b"".join(render("apstra", plan)))
    check_nvidia(plan, b"".join(render("nvidia-p2p", plan)))


@pytest.mark.parametrize("name", some(plans.SMALL, 4))
def test_managers_get_every_cable(
    name: str, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    check_ufm(plan(name), rendered("ufm", name))
    check_apstra(plan(name), rendered("apstra", name))
    check_nvidia(plan(name), rendered("nvidia-p2p", name))


def test_a_topology_file_says_in_ascii_which_plan_it_is_of(rendered: Callable[[str, str], bytes]) -> None:
    head = rendered("ufm", "dcell").decode("ascii").partition("\n")[0]
    assert head.startswith("# plan ")
    assert "?" not in head


def test_hostile_parts_stay_words_in_a_topology_file(hostile: PlanView) -> None:
    check_ufm(hostile, b"".join(render("ufm", hostile)))


@pytest.mark.skipif(shutil.which("ibdmchk") is None, reason="needs ibdmchk of Debian's package ibutils")
def test_ibutils_defines_every_system(
    tmp_path: Path, plan: Callable[[str], PlanView], rendered: Callable[[str, str], bytes]
) -> None:
    """With a definition of each system type, as a fabric has one for its own."""
    view, data = plan("fat-tree"), rendered("ufm", "fat-tree")
    devices = view.scene["devices"]
    for i, name in enumerate(check_ufm(view, data).values()):
        ports = max(devices["port_count"])
        kind = "SW" if devices["kind"][i] else "CA"
        lines = [
            f"TOPSYSTEM {name}",
            "",
            f"NODE {kind} {ports} DEV U1",
            *(f"    {port} -> P{port}" for port in range(1, ports + 1)),
        ]
        (tmp_path / f"{name}.ibnl").write_text("\n".join([*lines, "", ""]))
    (tmp_path / "plan.topo").write_bytes(data)
    done = subprocess.run(
        ["ibdmchk", "-t", str(tmp_path / "plan.topo"), "-n", f"{view.host_names[0]}/U1", "-p", "1"],
        capture_output=True, text=True, check=False, env=os.environ | {"IBDM_IBNL_PATH": str(tmp_path)},
    )  # fmt: skip
    count = len(view.host_names)
    assert f"Defined {count}/{count} systems/nodes" in done.stdout
    assert "-E-" not in done.stdout
