"""Every format gives the plan back; a file that cannot be read is refused by line and column or by
field."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.asbuilt.cables import PlannedCable, Port
from cubeyard.asbuilt.document import as_built
from cubeyard.asbuilt.names import PlanNames
from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.plans.building import build
from cubeyard.plans.view import PlanView
from cubeyard.reading.cables import Listing, read
from cubeyard.reading.problems import BadFileError
from tests.asbuilt.lists import Json, csv_of, encoded, json0, neighbour, reports, rows_of, shortened
from tests.conftest import SMALL

SPECS = (SMALL, {"family": "torus3d", "x": 3, "y": 3, "z": 3}, {"family": "dcell", "n": 4, "k": 1})


@pytest.fixture(scope="module", params=SPECS, ids=lambda spec: spec["family"])
def plan(request: pytest.FixtureRequest, engine: Engine) -> PlanView:
    return PlanView.of(build(engine, request.param))


@pytest.fixture(scope="module")
def cables(plan: PlanView) -> list[PlannedCable]:
    return PlanNames(plan).planned()


def in_order(plan: PlanView, listing: Listing, with_length: bool) -> None:
    result = as_built(plan, listing)
    assert result.in_order
    assert (result.counts.in_order, result.list.cables) == (plan.cable_count, plan.cable_count)
    assert result.list.with_length == (plan.cable_count if with_length else 0)
    assert result.work.steps == []
    assert result.contradictions == result.remarks == []


def test_our_own_export_is_the_plan(plan: PlanView) -> None:
    in_order(plan, read(b"".join(render("csv", plan))), with_length=True)


def test_netbox_s_cables_are_the_plan_and_power_cables_are_left_out(plan: PlanView) -> None:
    archive = zipfile.ZipFile(BytesIO(b"".join(render("netbox", plan))))
    files = {name: archive.read(name) for name in archive.namelist()}
    listing = read(next(data for name, data in files.items() if name.startswith("16-cables")))
    assert listing.format == "netbox"
    in_order(plan, listing, with_length=True)
    power = next(data for name, data in files.items() if name.startswith("17-power-cables"))
    both = read(next(data for name, data in files.items() if name.startswith("16-cables")) + power.split(b"\r\n", 1)[1])
    assert "no cable between two interfaces (dcim.powerport)" in both.skipped[0].reason
    in_order(plan, both, with_length=True)
    with pytest.raises(BadFileError, match="no cable between two interfaces"):
        read(power)


@pytest.mark.parametrize("name", ["localhost", "localhost.localdomain", "Not Advertised", "(none)"])
def test_a_name_that_many_devices_have_is_no_name(name: str) -> None:
    seen = {
        "chassis": {name: {"id": {"type": "mac", "value": "02:00:00:00:00:01"}}},
        "port": {"id": {"type": "ifname", "value": "p1"}},
    }
    (cable,) = read(encoded({"lldp": {"interface": {"eth0": seen}}}), "h00").cables
    assert (cable.b.device, cable.b.address, cable.b.ports) == ("", "02:00:00:00:00:01", ("p1",))


def test_two_neighbours_of_an_interface_that_is_there_twice_are_both_read() -> None:
    far = '"eth0": {"chassis": {"%s": {}}, "port": {"id": {"type": "ifname", "value": "p"}}}'
    text = f'{{"lldp": {{"interface": {{{far % "s0-0"}, {far % "s0-1"}}}}}}}'
    assert [cable.b.device for cable in read(text.encode(), "h00").cables] == ["s0-0", "s0-1"]
    each = f'{{"lldp": {{"interface": {{{far % "s0-0"}}}}}}}, "h00": {{"lldp": {{"interface": {{{far % "s0-1"}}}}}}}'
    assert [cable.b.device for cable in read(f'{{"h00": {each}}}'.encode()).cables] == ["s0-0", "s0-1"]


def test_the_csv_of_netbox_s_list_of_cables_is_read(plan: PlanView, cables: list[PlannedCable]) -> None:
    header = ("ID", "Label", "Termination A", "Device A", "Termination B", "Device B", "Length")
    rows = [
        [i, "", cable.a.name, cable.a.device, f"{cable.b.name} (uplink)", cable.b.device, f"{cable.length_mm / 304.8:.4f} ft"]
        for i, cable in enumerate(cables)
    ]  # fmt: skip
    in_order(plan, read(csv_of(rows, header)), with_length=True)


@pytest.mark.parametrize("shape", [lambda item: item, shortened], ids=["json0", "json"])
@pytest.mark.parametrize("linux", [False, True], ids=["names", "addresses"])
def test_what_every_device_sees_is_the_plan(
    plan: PlanView, cables: list[PlannedCable], shape: Callable[[Json], Json], linux: bool
) -> None:
    outputs = {device: shape(output) for device, output in reports(cables, linux=linux).items()}
    listing = read(encoded(outputs))
    assert len(listing.cables) == 2 * len(cables)
    in_order(plan, listing, with_length=False)
    named = [{"host": device, **output} for device, output in outputs.items()]
    for document in (encoded(named), b"\n".join(encoded(item) for item in named)):
        assert read(document) == listing


def test_one_device_alone_covers_its_own_cables(plan: PlanView, cables: list[PlannedCable]) -> None:
    device = cables[0].a.device
    output = encoded(shortened(reports(cables)[device]))
    with pytest.raises(BadFileError, match="does not say which device"):
        read(output)
    result = as_built(plan, read(output, device))
    own = sum(device in (cable.a.device, cable.b.device) for cable in cables)
    assert result.in_order
    assert (result.counts.in_order, result.counts.not_covered) == (own, plan.cable_count - own)
    blind = as_built(plan, read(encoded(shortened(json0([]))), device))
    assert (blind.counts.missing, blind.counts.not_covered) == (own, plan.cable_count - own)


def test_columns_may_be_in_any_order_with_the_papers_names_and_other_separators(
    plan: PlanView, cables: list[PlannedCable]
) -> None:
    names = PlanNames(plan)
    paper = dict(zip(names.tables.hosts, names.tables.paper_names, strict=True))
    rows = [[cable.b.name, paper[cable.b.device], "x", paper[cable.a.device], cable.a.name] for cable in cables]
    data = csv_of([["Floor list"], [], *rows], ("B port", "B paper name", "Remark", "A paper name", "A port"), ";")
    header, *rest = data.decode().splitlines()
    titles = f"Made by hand;;;;\n{header}\n" + "\n".join(rest[2:])
    for text in (titles.encode("utf-16"), titles.encode("utf-8-sig"), titles.encode()):
        in_order(plan, read(text), with_length=False)


def test_devices_are_known_with_their_domain_and_in_capitals(plan: PlanView, cables: list[PlannedCable]) -> None:
    rows = [[f"{a.device}.yard.example", a.name, b.device.upper(), b.name] for a, b in (cable.ends for cable in cables)]
    in_order(plan, read(csv_of(rows, ("a_device", "a_port", "b_device", "b_port"))), with_length=False)


@pytest.mark.parametrize(
    ("written", "millimetres"),
    [("3", 3000), ("3,5", 3500), ("3 m", 3000), ("250cm", 2500), ("10 ft", 3048), ("1 in", 25), ("0.001 km", 1000), ("", None)],
)  # fmt: skip
def test_lengths_have_units(written: str, millimetres: int | None) -> None:
    (cable,) = read(csv_of([["h00", "eth0", "s0-0", "P0", written]])).cables
    assert cable.length_mm == millimetres


@pytest.mark.parametrize(
    ("data", "where", "message"),
    [
        (csv_of([["h00", "eth0", "s0-0", "", "3"]]), "line 2, column b_port", "The cell is empty."),
        (csv_of([["h00", "eth0"]]), "line 2, column b_host_name", "The cell is empty."),
        (csv_of([["#N/A", "eth0", "s0-0", "P0", "3"], ["h00", "eth0", "s0-0", "P1", "3"]]), "line 2, column a_host_name", "is #N/A"),
        (csv_of([]), "file", "The list has no cables."),
        (b"cable,x,y\r\nC1,a,b\r\n", "line 1", "No row has the columns"),
        (b"", "line 1", "No row has the columns"),
        (b'{"lldp": {"interface": ', "line 1, column 24", "The file is not JSON"),
        (b'{"h00": 1}', "document", "no output of lldpctl"),
        (b"[1]", "[0]", "no output of lldpctl"),
        (b'{"results": [{"a_terminations": [], "a_terminations": []}]}', "line 1, column 37", "occurs twice"),
        (b"[" * 5000, "document", "nested too deeply"),
        (b'{"host": 3, "lldp": {}}', "host", "must be text"),
        (b'{"a": {"lldp": {"interface": 7}}}', "a.lldp.interface", "must be an object"),
        (b'{"a": {"lldp": {"interface": {"eth0": 7}}}}', "a.lldp.interface.eth0", "must be an object with chassis"),
        (b'{"a": {"lldp": {"interface": {"eth0": {"port": {}}}}}}', "a.lldp.interface.eth0.chassis", "neither a name nor"),
        (b'{"a":{"lldp":{"interface":{"e":{"chassis":{"b":{}},"port":{}}}}}}', "a.lldp.interface.e.port", "neither an id"),
        (b"\xff\xfe{", "line 1", "No row has the columns"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_by_its_place(data: bytes, where: str, message: str) -> None:
    with pytest.raises(BadFileError) as refused:
        read(data)
    mistake = refused.value.mistakes[0]
    assert mistake.where == where
    assert message in mistake.message
    assert mistake.line == (int(where.split()[1].rstrip(",")) if where.startswith("line") else None)


def test_many_mistakes_are_told_together_and_not_without_end() -> None:
    with pytest.raises(BadFileError, match="and 19 more") as refused:
        read(csv_of([["h00", "", "s0-0", "", "3"]] * 50))
    assert len(refused.value.mistakes) == 20


def test_an_interface_with_two_neighbours_is_there_twice() -> None:
    both = json0([neighbour("eth0", Port("s0-0", "P0")), neighbour("eth0", Port("s0-1", "P1"))])
    for document in (both, shortened(both)):
        assert [cable.b.device for cable in read(encoded(document), "h00").cables] == ["s0-0", "s0-1"]


def test_an_address_is_no_name() -> None:
    unnamed = neighbour("eth0", Port("x", "P0"))
    del unnamed["chassis"][0]["name"]
    for document in (json0([unnamed]), shortened(json0([unnamed]))):
        far = read(encoded(document), "h00").cables[0].b
        assert (far.device, far.address, far.ports) == ("", "02:00:00:00:00:01", ("P0",))


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode) | st.recursive(
    st.none() | st.booleans() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["lldp", "interface", "name", "chassis", "port", "id", "value", "host", "a"]), inner, max_size=4),
    max_leaves=25,
).map(encoded))  # fmt: skip
def test_any_bytes_are_read_or_refused_in_words(data: bytes) -> None:
    mistakes = []
    try:
        listing = read(data, "h00")
    except BadFileError as error:
        mistakes = error.mistakes
    else:
        assert all(
            cable.a.device and (cable.b.device or cable.b.address) and all(cable.b.ports) for cable in listing.cables
        )
        return
    assert mistakes
    assert all(mistake.where and mistake.message for mistake in mistakes)


def test_rows_survive_their_round_trip(cables: list[PlannedCable]) -> None:
    seen = read(csv_of(rows_of(cables))).cables
    assert [(cable.a.device, cable.b.ports[0], cable.length_mm) for cable in seen] == [
        (cable.a.device, cable.b.name, cable.length_mm) for cable in cables
    ]
