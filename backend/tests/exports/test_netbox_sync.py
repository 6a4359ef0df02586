"""The sync against a NetBox that fails, loses answers and holds other people's objects."""

from __future__ import annotations

import copy
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from cubeyard.cli.command import app
from cubeyard.cli.netbox import told
from cubeyard.engine import Engine
from cubeyard.exports.netbox.records import NetboxRecords
from cubeyard.exports.netbox.sync import ModelChange, NetboxBusyError, NetboxClient, NetboxError, sync
from cubeyard.exports.netbox.sync.pace import TARGET_SECS, Pace
from tests.conftest import examples
from tests.exports import plans
from tests.exports.netbox_server import ENDS, TOKEN, NetboxServer, counts

SPEC = {"family": "bcube", "n": 3, "k": 1}
SMALLER = {"family": "bcube", "n": 2, "k": 1}
"""For tests that write it many times: it has every kind of object too."""


@pytest.fixture
def server() -> Iterator[NetboxServer]:
    with NetboxServer() as item:
        yield item


def records_of(engine: Engine, spec: dict[str, Any], name: str = "Container one") -> NetboxRecords:
    return NetboxRecords(plans.compute(engine, spec, "current-2026", name))


def run(server: NetboxServer, records: NetboxRecords, **options: Any) -> dict[str, ModelChange]:
    with NetboxClient(server.url, TOKEN, timeout_secs=5) as client:
        matches = list(sync(records, client, pause=lambda secs: None, **options))  # noqa: ARG005
    return {change.model: change for change in matches}


def written(found: dict[str, ModelChange]) -> int:
    return sum(change.written for change in found.values())


def check(server: NetboxServer, records: NetboxRecords) -> None:
    """The whole plan exists: each device at its position, each cable between its ports."""
    plan, tables = records.plan, server.tables
    devices = {item["name"]: item for item in tables["devices"].values()}
    assert set(plan.host_names) <= set(devices)
    ports = {
        (kind, number): (kind, item.get("device") or item["power_panel"], item["name"])
        for kind, table in ENDS.items()
        for number, item in tables[table].items()
    }
    joined = {
        frozenset(ports[end["object_type"], end["object_id"]] for side in ("a_terminations", "b_terminations") for end in cable[side])
        for cable in tables["cables"].values()
    }  # fmt: skip
    panels = {item["name"]: item["id"] for item in tables["power-panels"].values()}

    def end(row: dict[str, Any], side: str) -> tuple[str, int, str]:
        device = row[f"side_{side}_device"]
        owner = devices[device]["id"] if device else panels[row[f"side_{side}_power_panel"]]
        return row[f"side_{side}_type"], owner, row[f"side_{side}_name"]

    rows = [*records.cables(), *records.power.cables()]
    assert joined == {frozenset({end(row, "a"), end(row, "b")}) for row in rows}
    assert len(tables["cables"]) == len(rows)
    bundles = {item["id"]: item["name"] for item in tables["cable-bundles"].values()}
    assert Counter(bundles[cable["bundle"]] for cable in tables["cables"].values() if cable.get("bundle")) == Counter(
        row["bundle"] for row in records.cables() if row["bundle"]
    )
    assert len(tables["power-outlets"]) == sum(1 for _ in records.power.power_outlets())
    assert len(tables["power-feeds"]) == sum(1 for _ in records.power.feeds())
    assert len(tables["interfaces"]) == sum(1 for _ in records.interfaces())
    installed = {item["installed_device"] for item in tables["device-bays"].values() if item.get("installed_device")}
    assert installed == {
        devices[str(row["installed_device"])]["id"] for row in records.device_bays() if row["installed_device"]
    }


@settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs().filter(lambda spec: spec.get("servers", 0) <= 40))
def test_any_plan_is_made_whole_and_a_second_sync_writes_nothing(engine: Engine, spec: dict[str, Any]) -> None:
    records = records_of(engine, spec)
    with NetboxServer() as server:
        run(server, records)
        check(server, records)
        state, writes = server.state(), server.writes
        again = run(server, records)
        assert written(again) == 0
        assert server.writes == writes
        assert server.state() == state


@pytest.mark.long
@settings(max_examples=examples(6), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fail=st.sampled_from(["refuse", "lose"]), seed=st.integers(0, 2**20), piece=st.integers(1, 40))
def test_failing_requests_change_nothing_of_the_outcome(engine: Engine, fail: str, seed: int, piece: int) -> None:
    """About a third of the requests fail, before or after they were done."""
    records = records_of(engine, SMALLER)
    with NetboxServer() as calm, NetboxServer() as rough:
        run(calm, records)
        rough.fails = lambda number, method: fail if (number * 2654435761 + seed) % 3 == 0 else None  # noqa: ARG005
        run(rough, records, piece=piece)
        assert rough.state() == calm.state()


@pytest.mark.long
@settings(max_examples=examples(5), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_interrupted_sync_goes_on_where_it_stopped(engine: Engine, data: st.DataObject) -> None:
    records = records_of(engine, SMALLER)
    with NetboxServer() as calm, NetboxServer() as cut:
        run(calm, records)
        last = data.draw(st.integers(1, calm.requests))
        cut.fails = lambda number, method: "lose" if number >= last else None  # noqa: ARG005
        with pytest.raises(NetboxError, match="no answer"):
            run(cut, records)
        cut.fails = lambda number, method: None  # noqa: ARG005
        run(cut, records)
        assert cut.state() == calm.state()


@pytest.mark.long
@settings(max_examples=examples(4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**20))
def test_a_request_that_completes_late_is_not_repeated(engine: Engine, seed: int) -> None:
    """NetBox completes a request after its client has given up; the objects appear while the client
    retries."""
    records = records_of(engine, SMALLER)
    with NetboxServer() as calm, NetboxServer() as slow:
        run(calm, records)
        slow.fails = lambda number, method: (
            "late" if method != "GET" and (number * 2654435761 + seed) % 5 == 0 else None
        )
        run(slow, records)
        assert slow.state() == calm.state()


def test_a_dry_run_writes_nothing_and_says_what_a_run_does(engine: Engine, server: NetboxServer) -> None:
    records = records_of(engine, SPEC)
    reported = run(server, records, dry_run=True)
    assert server.writes == 0
    done = run(server, records)
    cords = sum(1 for _ in records.power.cables())
    assert done["cables"].created == reported["cables"].created == records.plan.cable_count + cords
    for model in ("sites", "racks", "devices", "device types", "interface templates"):
        assert reported[model].created == done[model].created > 0, model
    # NetBox creates a device's components with it, so they are counted but not created one by one.
    assert reported["interfaces"].created == len(server.tables["interfaces"])
    assert written(run(server, records, dry_run=True)) == 0


def test_what_somebody_changed_is_shown_and_put_right(engine: Engine, server: NetboxServer) -> None:
    records = records_of(engine, SPEC)
    run(server, records)
    state = server.state()
    tables = server.tables
    shelf, other = [device for device in tables["devices"].values() if device.get("position")][:2]
    tables["devices"][shelf["id"]]["position"], tables["devices"][other["id"]]["position"] = (
        other["position"],
        shelf["position"],
    )
    cables = list(tables["cables"].values())
    cables[0]["b_terminations"], cables[1]["b_terminations"] = cables[1]["b_terminations"], cables[0]["b_terminations"]
    cables[2]["length"] = 99
    full, second = [item for item in tables["device-bays"].values() if item.get("installed_device")][:2]
    full["installed_device"], second["installed_device"] = second["installed_device"], full["installed_device"]
    del tables["cables"][cables[3]["id"]]

    reported, done = run(server, records, dry_run=True), run(server, records)
    for result in (reported, done):
        assert (result["devices"].changed, result["device bays"].changed) == (2, 2)
        assert (result["cables"].deleted, result["cables"].created, result["cables"].changed) == (2, 3, 1)
        assert any("'length': 99" in words for words in result["cables"].examples)
    assert server.state() == state


def test_other_peoples_objects_are_used_or_left_alone(engine: Engine, server: NetboxServer) -> None:
    """A role called Server, a second plan, and a rack that somebody added."""
    with NetboxClient(server.url, TOKEN) as client:
        client.create("/api/dcim/device-roles/", [{"name": "Server", "slug": "server", "color": "123456"}])
    first, second = (
        records_of(engine, SPEC),
        records_of(engine, {"topology": SPEC, "site": {"host_prefix": "b"}}, "Two"),
    )
    run(server, first)
    before = counts(server)
    assert run(server, second)["device types"].created == 0, "the first plan's types serve"
    after = counts(server)
    assert after["devices"] == 2 * before["devices"]
    assert after["device-roles"] == before["device-roles"]
    assert [item["color"] for item in server.tables["device-roles"].values() if item["slug"] == "server"] == ["123456"]
    site = next(iter(server.tables["sites"]))
    location = next(iter(server.tables["locations"]))
    server.tables["racks"][10**6] = {"id": 10**6, "name": "Mine", "site": site, "location": location}
    untouched = copy.deepcopy(server.tables)
    result = run(server, first)
    assert result["racks"].extra == 1
    assert written(result) == 0
    assert server.tables == untouched


def test_a_netbox_without_bundles_gets_the_rest(engine: Engine, server: NetboxServer) -> None:
    """NetBox 4.4 and 4.5 have none."""
    del server.tables["cable-bundles"]
    records = records_of(engine, {"family": "tree", "edge_ports": 16, "servers": 150})
    assert any(row["bundle"] for row in records.cables())
    result = run(server, records)
    assert "cable bundles" not in result
    assert not any("bundle" in cable for cable in server.tables["cables"].values())
    assert result["cables"].created == len(server.tables["cables"]) > records.plan.cable_count
    assert written(run(server, records)) == 0


def test_refusals_say_what_was_refused(engine: Engine, server: NetboxServer) -> None:
    records = records_of(engine, SPEC)
    with NetboxClient(server.url, "wrong") as stranger, pytest.raises(NetboxError, match="Is the token right"):
        list(sync(records, stranger))
    with pytest.raises(NetboxError, match="no address of a NetBox"):
        NetboxClient("ftp://x", TOKEN)
    with NetboxClient(server.url, TOKEN) as client:
        client.create("/api/dcim/device-roles/", [{"name": "Server", "slug": "other", "color": "123456"}])
        with pytest.raises(NetboxError, match="name"):
            list(sync(records, client))


@given(
    secs_per_object=st.floats(0.001, 30),
    overhead_secs=st.floats(0, 5),
    most=st.integers(1, 1000),
    limit=st.floats(5, 60),
)
def test_pieces_take_about_ten_seconds(secs_per_object: float, overhead_secs: float, most: int, limit: float) -> None:
    """At any cost per object, behind a proxy that times out after `limit` seconds."""
    pace, lost = Pace(most), 0
    for _ in range(40):
        assert 1 <= pace.size <= most
        secs = overhead_secs + pace.size * secs_per_object
        if secs > limit:
            lost += 1
            pace.lost(limit)
        else:
            pace.took(pace.size, secs)
    assert lost <= 4 or overhead_secs + secs_per_object > limit
    if most > 1 and overhead_secs + secs_per_object < TARGET_SECS:
        assert overhead_secs + pace.size * secs_per_object <= max(2 * TARGET_SECS, overhead_secs + 2 * secs_per_object)
    if secs_per_object * most + overhead_secs < min(TARGET_SECS, limit):
        assert pace.size == most, "a fast NetBox gets pieces of the full size"


def test_a_request_without_an_answer_is_named(engine: Engine, server: NetboxServer) -> None:
    """The command ends with the request, its objects and how long it waited."""
    held = threading.Event()

    def hold(number: int, method: str) -> str | None:
        if method == "POST":
            held.wait(10)
        return None

    server.fails = hold
    with NetboxClient(server.url, TOKEN, timeout_secs=0.05) as client:
        try:
            with pytest.raises(
                NetboxBusyError, match=r"POST .*sites/: no answer to 1 objects from .* within 0.05 seconds"
            ):
                client.create("/api/dcim/sites/", [{"name": "a", "slug": "a"}])
        finally:
            held.set()


@pytest.mark.parametrize(("terminal", "lines"), [(True, 4), (False, 2)])
def test_progress_says_how_long_it_still_takes(terminal: bool, lines: int) -> None:
    now = [0.0]
    message: list[str] = []
    tell = told(terminal, lambda words, end="\n": message.append(words.strip()), lambda: now[0])  # noqa: ARG005
    for done, secs in ((10, 5), (20, 25), (60, 20), (100, 20)):
        now[0] += secs
        tell("cables", done, 400)
    assert len(message) == lines
    assert message[-1] == "cables: 100 of 400, about 4 min left"


def test_the_command_tells_what_it_did(server: NetboxServer) -> None:
    given_args = [
        "netbox", "sync", "--spec", '{"family":"bcube","n":2,"k":0}', "--url", server.url, "--token", TOKEN,
        "--site", "Berlin", "--prefix", "dc-a",
    ]  # fmt: skip
    invoke = CliRunner().invoke
    reported = invoke(app, [*given_args, "--dry-run"])
    assert reported.exit_code == 0, reported.output
    assert "would be" in reported.output
    assert server.writes == 0
    done = invoke(app, given_args)
    assert done.exit_code == 0, done.output
    assert {site["name"] for site in server.tables["sites"].values()} == {"Berlin"}
    assert "dc-a-h0" in {device["name"] for device in server.tables["devices"].values()}
    again = invoke(app, given_args)
    assert "0 objects created, changed or deleted." in again.output
    refused = invoke(app, [*given_args[:7], "wrong"])
    assert refused.exit_code == 1
    assert "continues from there" in refused.output
