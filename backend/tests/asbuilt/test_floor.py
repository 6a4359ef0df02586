"""Lists written by people and programs: correct cables stay plugged in, with any spelling of
names."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubeyard.asbuilt.cables import PlannedCable, Port
from cubeyard.asbuilt.document import as_built
from cubeyard.asbuilt.names import PlanNames
from cubeyard.asbuilt.schemas import AsBuilt
from cubeyard.engine import Engine
from cubeyard.kit.errors import ProblemError
from cubeyard.plans.building import build
from cubeyard.plans.view import PlanView
from cubeyard.reading.cables import read
from cubeyard.reading.names import is_address
from cubeyard.reading.problems import BadFileError
from tests.asbuilt.lists import HEADER, Json, csv_of, encoded, json0, neighbour, reports, rows_of
from tests.conftest import examples

SPEC = {"family": "leaf_spine", "leaves": 2, "spines": 1, "servers_per_leaf": 2}
NETBOX = (
    "side_a_device",
    "side_a_type",
    "side_a_name",
    "side_b_device",
    "side_b_type",
    "side_b_name",
    "length",
    "length_unit",
)
PAGE = ("ID", "Device A", "Termination A", "Device B", "Termination B", "Status", "Length")
Cables = Sequence[PlannedCable]


@pytest.fixture(scope="module")
def plan(engine: Engine) -> PlanView:
    return PlanView.of(build(engine, SPEC))


@pytest.fixture(scope="module")
def cables(plan: PlanView) -> list[PlannedCable]:
    return PlanNames(plan).planned()


def wide(text: str) -> str:
    return "".join(chr(ord(entry) + 0xFEE0) for entry in text)


def spelled(cables: Cables, spell: Callable[[str], str]) -> bytes:
    return csv_of([[*map(spell, row[:4]), row[4]] for row in rows_of(cables)])


def netbox(cables: Cables, kind: str) -> bytes:
    rows = [
        [a.device, kind, a.name, b.device, kind, b.name, entry.length_mm / 1000, "m"]
        for entry in cables
        for a, b in [entry.ends]
    ]
    return csv_of(rows, NETBOX)


def page(cables: Cables, unit: str, *more: Sequence[object]) -> bytes:
    rows = [
        [i, *entry.a, *entry.b, "Connected", f"{entry.length_mm / 1000:g} {unit}"] for i, entry in enumerate(cables)
    ]
    return csv_of([*rows, *more], PAGE)


def sees(far: Port, chassis: str | None, port: dict[str, str]) -> Json:
    result = neighbour("x", far)
    if chassis is None:
        del result["chassis"][0]["name"]
    result["port"][0] = {"id": [port]}
    return result


def by_switches(cables: Cables, *, named: bool) -> bytes:
    """Servers do not report, and the firmware of their cards sends MAC addresses."""
    out: dict[str, list[Json]] = {}
    for number, entry in enumerate(cables):
        for here, far in (entry.ends, entry.ends[::-1]):
            if here.device.startswith("s"):
                mac = {"type": "mac", "value": f"02:00:00:00:00:{number:02x}"}
                reported = mac if far.device.startswith("h") else {"type": "ifname", "value": far.name}
                chassis = far.device if named or far.device.startswith("s") else None
                out.setdefault(here.device, []).append({**sees(far, chassis, reported), "name": here.name})
    return encoded({device: json0(seen) for device, seen in out.items()})


def other_ports(cables: Cables) -> bytes:
    """As all devices report them, with names of ports that the plan does not have."""
    ends = {
        port: Port(port.device, f"if{number}")
        for number, port in enumerate(port for entry in cables for port in entry.ends)
    }
    return encoded(reports([replace(entry, a=ends[entry.a], b=ends[entry.b]) for entry in cables]))


def by_vendor(cables: Cables, row: Callable[[str, Port], Any], member: str = "", inner: str = "") -> bytes:
    """By device: rows, or rows by port, in the members of a vendor."""
    devices: dict[str, list[Any]] = {}
    for a, b in (entry.ends for entry in cables):
        for here, far in ((a, b), (b, a)):
            devices.setdefault(here.device, []).append(row(here.name, far))
    document: dict[str, Any] = {}
    for device, rows in devices.items():
        if isinstance(rows[0], tuple):
            output: Any = {port: {inner: lists} if inner else lists for port, lists in rows}
        else:
            output = [{inner: rows}]
        document[device] = {member: output} if member else output
    return json.dumps(document).encode()


def printed(cables: Cables, titles: Sequence[str], row: str) -> bytes:
    """The tables of all devices, each behind its prompt."""
    out: list[str] = []
    for device in dict.fromkeys(port.device for entry in cables for port in entry.ends):
        out += [f"{device}# show lldp neighbors", "", "  ".join(f"{title:{max(16, len(title))}}" for title in titles)]
        for a, b in (entry.ends for entry in cables):
            out += [row.format("", port=here.name, far=far) for here, far in ((a, b), (b, a)) if here.device == device]
        out += ["Total entries displayed: 2", ""]
    return "\n".join(out).encode()


IN_ORDER: dict[str, Callable[[Cables], bytes]] = {
    "NetBox 2's type": lambda cables: netbox(cables, "interface"),
    "NetBox 4's type": lambda cables: netbox(cables, "dcim.interface"),
    "a page's type": lambda cables: netbox(cables, "DCIM > interface"),
    "a page's unit": lambda cables: page(cables, "Meters"),
    "a cable to a circuit": lambda cables: page(cables, "m", [90, "", "C-4711", "s1-0", "P5", "Connected", ""]),
    "capitals": lambda cables: spelled(cables, str.upper),
    "spaces": lambda cables: spelled(cables, lambda name: f" {name}\u00a0"),
    "an en dash": lambda cables: spelled(cables, lambda name: name.replace("-", "\u2013")),
    "a hyphen that does not break": lambda cables: spelled(cables, lambda name: name.replace("-", "\u2011")),
    "full width": lambda cables: spelled(cables, wide),
    "underscores": lambda cables: spelled(cables, lambda name: name.replace("-", "_")),
    "spaces for hyphens": lambda cables: spelled(cables, lambda name: name.replace("-", " ")),
    "formulas of texts": lambda cables: csv_of([[f'="{word}"' for word in row] for row in rows_of(cables)]),
    "device and port in a cell": lambda cables: csv_of(
        [[f"{a.device}:{a.name}", f"{b.device}: {b.name}"] for a, b in (entry.ends for entry in cables)], ("From", "To")
    ),
    "IOS, wrapped": lambda cables: printed(cables, ("Device ID", "Local Intrfce", "Holdtme", "Platform", "Port ID"), "{far.device}.dc1.example.net\n{0:16}  {port:16}  120       X         {far.name}"),
    "EOS": lambda cables: printed(cables, ("Port", "Neighbor Device ID", "Neighbor Port ID", "TTL"), "{port:16}  {far.device:18}  {far.name:16}  120"),
    "Onyx": lambda cables: printed(cables, ("Local Interface", "Device ID", "Port ID", "System Name"), "{port:16}  02:00:00:00:00:01  {far.name:16}  {far.device}"),
    "numbers for ports": lambda cables: csv_of(
        [[a.device, a.name[-1], b.device, f"1/{b.name[-1]}", ""] for a, b in (entry.ends for entry in cables)]
    ),
    "other ports in LLDP": other_ports,
    "Arista, with details": lambda cables: by_vendor(
        cables, lambda port, far: (port, [{"systemName": far.device, "neighborInterfaceInfo": {"interfaceId": f'"{far.name}"'}}]), "lldpNeighbors", "lldpNeighborInfo"
    ),
    "Junos": lambda cables: by_vendor(
        cables,
        lambda port, far: {
            "lldp-local-port-id": [{"data": port}], "lldp-remote-system-name": [{"data": far.device}], "lldp-remote-port-id": [{"data": far.name}],
        },
        "lldp-neighbors-information", "lldp-neighbor-information",
    ),
    "NAPALM": lambda cables: by_vendor(cables, lambda port, far: (port, [{"hostname": far.device, "port": far.name}])),
    "TextFSM": lambda cables: json.dumps([
        {"local_device": here.device, "local_interface": here.name, "neighbor": far.device, "neighbor_interface": far.name}
        for a, b in (entry.ends for entry in cables) for here, far in ((a, b), (b, a))
    ]).encode(),
    "invisible characters": lambda cables: spelled(cables, lambda name: f"\u200e{name[:1]}\u00ad{name[1:]}\ufeff"),
    "whole feet": lambda cables: csv_of([[*row[:4], f"{round(float(row[4]) / 0.3048)} ft"] for row in rows_of(cables)]),
    "inches": lambda cables: csv_of([[*row[:4], round(float(row[4]) / 0.0254, 1)] for row in rows_of(cables)], (*HEADER[:4], "Length (in)")),
    "both directions": lambda cables: csv_of([row for a, b, c, d, length in rows_of(cables) for row in ((a, b, c, d, length), (c, d, a, b, length))]),
    "an apostrophe before each name": lambda cables: spelled(cables, lambda name: f"'{name}"),
    "a port in brackets": lambda cables: csv_of(
        [[f"{a.device} [{a.name}]", f"{b.device} [{b.name}]"] for a, b in (entry.ends for entry in cables)], ("From", "To")
    ),
    "management": lambda cables: csv_of([*rows_of(cables), ["h0-0", "ipmi", "s0-0", "mgmt0", "2"]]),
    "MAC addresses as ports": lambda cables: by_switches(cables, named=True),
    "a description of no text": lambda cables: encoded(reports(cables)).replace(b'"descr": [{"value": "P', b'"descr": [{"value": "\xff'),
    "PowerShell": lambda cables: encoded(reports(cables)).decode().encode("utf-16"),
}  # fmt: skip


@pytest.mark.parametrize("what", IN_ORDER)
def test_the_same_list_is_in_order_however_it_is_written(plan: PlanView, cables: Cables, what: str) -> None:
    document = as_built(plan, read(IN_ORDER[what](cables)))
    assert document.in_order
    assert (document.counts.in_order, document.work.steps) == (6, [])
    assert document.list.skipped == (what == "a cable to a circuit")


def test_a_planned_cable_of_netbox_is_named_and_a_removed_one_left_out(plan: PlanView, cables: Cables) -> None:
    text = page(cables, "m").decode().replace("Connected", "Planned", 1).replace("Connected", "Removed", 1)
    document = as_built(plan, read(text.encode()))
    assert (document.counts.in_order, document.counts.missing, document.list.skipped) == (5, 1, 1)
    assert document.remarks == [
        "The list has the status planned for 1 cables (line 2), and they are compared as plugged in."
    ]


def test_ends_that_netbox_s_list_joins_are_legs_and_a_date_is_no_port(plan: PlanView, cables: Cables) -> None:
    legs = [cable for cable in cables if cable.b.device == "s0-0"][:2]
    joined = [
        *(",".join(port) for port in zip(*(cable.a for cable in legs), strict=True)),
        legs[0].b.device,
        ",".join(cable.b.name for cable in legs),
    ]
    document = as_built(plan, read(csv_of([[9, *joined, "", ""], [10, "a", "1", "b,c,d", "2,3", "", ""]], PAGE)))
    assert (document.counts.in_order, document.list.skipped_rows[0].reason) == (
        2,
        "It has several ends that are not in pairs.",
    )
    listing = read(
        csv_of([[*cables[0].a, "s0-0", port, ""] for port in ("01-Jan", "1. Feb.", "Mrz 01", "1/1/2001", "1/1/48")])
    )
    assert [cable.b.ports for cable in listing.loose] == [()] * 4
    assert [cable.b.ports for cable in listing.cables] == [("1/1/48",)]


def test_a_server_that_is_an_address_is_unclear_and_left_alone(plan: PlanView, cables: Cables) -> None:
    document = as_built(plan, read(by_switches(cables, named=False)))
    assert (document.counts.unclear, document.counts.in_order, document.work.steps) == (4, 2, [])
    assert {entry.note for entry in document.differences if entry.found and entry.found.a == entry.found.b} == set()
    notes = [entry.note for entry in document.differences]
    assert all("is in use, and the list" in note for note in notes)


def test_both_spellings_are_kept(plan: PlanView, cables: Cables) -> None:
    rows = [
        [f"{a.device.upper()}.dc1.example.net", a.name, b.device, b.name, "9"]
        for a, b in (entry.ends for entry in cables)
    ]
    (entry, *_) = as_built(plan, read(csv_of(rows))).differences
    assert entry.found is not None
    assert (entry.kind, entry.found.a.device, entry.found.a.written) == (
        "wrong_length",
        "h0-0",
        "H0-0.dc1.example.net eth0",
    )
    assert entry.found.b.written == ""


def test_a_device_with_other_names_for_its_ports_is_matched_by_the_other_ends(plan: PlanView, cables: Cables) -> None:
    rows = [[*entry.a, entry.b.device, entry.b.name.replace("P", "Ethernet1/"), ""] for entry in cables]
    document = as_built(plan, read(csv_of([row for row in rows if row[0].startswith("h")])))
    assert (document.counts.in_order, document.counts.missing) == (4, 2)
    assert document.remarks == [
        "The list has other names than the plan for all ports of s0-0, s0-1: they are matched by their other ends, or by the devices alone."
    ]


def test_one_name_at_two_sites_is_refused(plan: PlanView) -> None:
    rows = [[site, "h0-0", f"eth{site}", site, "s0-0", f"P{site}"] for site in "12"]
    listing = read(
        csv_of(rows, ("side_a_site", "side_a_device", "side_a_name", "side_b_site", "side_b_device", "side_b_name"))
    )
    with pytest.raises(ProblemError, match="h0-0 more than once"):
        as_built(plan, listing)


SPELLINGS = (
    str, str.upper, str.title, wide, lambda name: name.replace("-", "\u2013"), lambda name: name.replace("-", "_"), lambda name: f"{name}  ", lambda name: f"\u200b{name}",
)  # fmt: skip


def touched(document: AsBuilt) -> set[Port]:
    return {Port(end.device, end.port) for step in document.work.steps for end in step.out}


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_right_cable_is_touched_whatever_noise_is_around_it(
    plan: PlanView, cables: Cables, data: st.DataObject
) -> None:
    swapped = data.draw(st.booleans())
    floor = [[*entry.a, *entry.b] for entry in cables]
    wrong: set[Port] = set()
    if swapped:
        entry, two = data.draw(st.permutations(range(len(cables))))[:2]
        floor[entry][2:], floor[two][2:] = floor[two][2:], floor[entry][2:]
        wrong = {port for at in (entry, two) for port in cables[at].ends}
    rows: list[list[str]] = []
    for right in floor:
        how = data.draw(st.integers(0, 5 if {Port(*right[:2]), Port(*right[2:])}.isdisjoint(wrong) else 0))
        row = {
            0: right,
            1: [*right[:3], "02:00:00:00:00:01"],
            2: [*right[:2], "0200.0000.0001", "02-00-00-00-00-01"],
            3: [*right[:2], "", ""],
            4: ["", "C-4711", *right[2:]],
            5: [right[0], "", *right[2:]],
        }[how]
        spell = data.draw(st.sampled_from(SPELLINGS))
        domain = data.draw(st.sampled_from(["", ".dc1.example.net"]))
        rows.append(
            [spell(words + domain * (at == 0)) if words and how != 2 else words for at, words in enumerate(row)]
        )
    noise = st.sampled_from(
        [["h0-0", "ipmi", "s0-0", "mgmt0"], ["h1-1", "bmc", "oob-1", "7"], ["a", "1", "b", "2"], ["", "", "", ""], ["-", "x", "n/a", "y"]]
    )  # fmt: skip
    rows += data.draw(st.lists(noise, max_size=3, unique_by=tuple))
    floor_list = csv_of([[*row, ""] for row in data.draw(st.permutations(rows))])
    try:
        document = as_built(plan, read(floor_list))
    except BadFileError:  # no row has a name at both ends
        assert not any(all(row) and not is_address(row[3]) for row in rows)
        return
    assert touched(document) <= wrong
    assert {Port(end.device, end.port) for step in document.work.steps for end in step.into} <= wrong
    if not swapped:
        assert document.work.steps == []


def test_a_management_network_is_left_alone_where_all_other_ports_have_other_names(
    plan: PlanView, cables: Cables
) -> None:
    rows = [[a.device, "x0", b.device, f"x{at}", ""] for at, (a, b) in enumerate(entry.ends for entry in cables)]
    document = as_built(plan, read(csv_of([["h0-0", "ipmi", "s0-0", "mgmt0", ""], *rows])))
    assert (document.counts.in_order, document.counts.outside, document.work.steps) == (6, 1, [])
