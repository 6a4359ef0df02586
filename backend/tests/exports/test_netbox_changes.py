"""The import files for a NetBox that already has some of the plan: missing objects, and changed
ones by id."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cubeyard.cli.command import app
from cubeyard.exports.netbox.archive import COLUMNS
from cubeyard.exports.netbox.changes import CHANGED_COLUMNS, changes_archive
from cubeyard.exports.netbox.records import NetboxRecords
from cubeyard.exports.netbox.sync import NetboxClient, models, sync
from cubeyard.plans.view import PlanView
from tests.exports.netbox_importer import ALLOWED
from tests.exports.netbox_server import TOKEN, NetboxServer

Rows = list[dict[str, str]]


@pytest.fixture
def server() -> Iterator[NetboxServer]:
    with NetboxServer() as item:
        yield item


@pytest.fixture
def records(plan: Callable[[str], PlanView]) -> NetboxRecords:
    return NetboxRecords(plan("dcell"))


def made(server: NetboxServer, records: NetboxRecords) -> None:
    with NetboxClient(server.url, TOKEN) as client:
        list(sync(records, client))


def exported(server: NetboxServer, records: NetboxRecords) -> tuple[dict[str, Rows], str]:
    """Rows by file, pieces put together, and the note."""
    writes = server.writes
    with NetboxClient(server.url, TOKEN) as client:
        data = b"".join(changes_archive(records, sync(records, client, dry_run=True)))
    assert server.writes == writes
    return read(data)


def read(data: bytes) -> tuple[dict[str, Rows], str]:
    files: dict[str, Rows] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if name.endswith(".csv") and "/" not in name:
                rows = csv.DictReader(io.StringIO(archive.read(name).decode(), newline=""))
                files.setdefault(re.sub(r"(-\d{3})?\.csv$", "", name), []).extend(rows)
        return files, archive.read("README.txt").decode()


def test_an_empty_netbox_gets_the_whole_import_and_a_whole_one_nothing(
    server: NetboxServer, records: NetboxRecords, rendered: Callable[[str, str], bytes]
) -> None:
    files, note = exported(server, records)
    whole, _ = read(rendered("netbox", "dcell"))
    assert files == {name: rows for name, rows in whole.items() if rows}
    assert "write\r\nthese files again" not in note
    made(server, records)
    files, note = exported(server, records)
    assert files == {}
    assert "Nothing: the NetBox holds the whole plan." in note


def test_what_differs_goes_by_its_id_and_nothing_else_is_touched(server: NetboxServer, records: NetboxRecords) -> None:
    made(server, records)
    tables = server.tables
    host = next(device for device in tables["devices"].values() if device.get("position"))
    host["position"] += 1
    host["status"] = "active"
    cables = [
        cable for cable in tables["cables"].values() if cable["a_terminations"][0]["object_type"] == "dcim.interface"
    ]
    cables[0]["length"] = 99
    gone = tables["cables"].pop(cables[1]["id"])
    cables[2]["b_terminations"], cables[3]["b_terminations"] = cables[3]["b_terminations"], cables[2]["b_terminations"]

    files, note = exported(server, records)
    assert set(files) == {"08-devices-changed", "16-cables", "16-cables-changed"}
    (row,) = files["08-devices-changed"]
    assert (row["id"], row["name"], row["position"]) == (str(host["id"]), host["name"], str(host["position"] - 1))
    assert "status" not in row, "what the plan does not own stays as somebody set it"
    (row,) = files["16-cables-changed"]
    assert (row["id"], float(row["length"])) == (str(cables[0]["id"]), _wanted(records, cables[0]["label"])["length"])
    assert {row["label"] for row in files["16-cables"]} == {item["label"] for item in (gone, cables[2], cables[3])}
    assert all(f"  {cable['id']}\r\n" in note for cable in cables[2:4]), "a file cannot delete"


def _wanted(records: NetboxRecords, label: str) -> dict[str, Any]:
    row: dict[str, Any] = next(row for row in records.cables() if row["label"] == label)
    return row | {"length": float(row["length"])}


def test_devices_of_known_types_bring_their_ports(server: NetboxServer, records: NetboxRecords) -> None:
    """A port that comes with a device is refused when it is imported too."""
    made(server, records)
    name = records.names[0]
    tables = server.tables
    number = next(n for n, device in tables["devices"].items() if device["name"] == name)
    del tables["devices"][number]
    ports = {
        n for table in ("interfaces", "power-ports") for n, item in tables[table].items() if item["device"] == number
    }
    for table in ("interfaces", "power-ports"):
        tables[table] = {n: item for n, item in tables[table].items() if item["device"] != number}
    tables["cables"] = {
        n: cable
        for n, cable in tables["cables"].items()
        if not any(end["object_id"] in ports for side in "ab" for end in cable[f"{side}_terminations"])
    }
    for bay in tables["device-bays"].values():
        if bay.get("installed_device") == number:
            bay["installed_device"] = None
    files, note = exported(server, records)
    assert [row["name"] for row in files["08-devices"]] == [name]
    assert not {"10-interfaces", "11-power-ports"} & set(files)
    assert len(files["16-cables"]) == sum(
        row["side_a_device"] == name or row["side_b_device"] == name for row in records.cables()
    )
    assert "these files again" in note


def test_changes_have_the_columns_that_a_sync_owns() -> None:
    """The columns are also accepted by NetBox's form, which adds `id`."""
    owned = {model.title: set(model.owned) for model in vars(models).values() if isinstance(model, models.Model)}
    for name, columns in CHANGED_COLUMNS.items():
        title = "cables" if name == "17-power-cables" else name[3:].replace("-", " ")
        assert set(columns) <= {"id", *COLUMNS[name]}
        assert set(columns) - {"id"} <= ALLOWED[name[3:]]
        assert owned[title] & set(COLUMNS[name]) <= set(columns), name
    assert {name[3:].replace("-", " ") for name in CHANGED_COLUMNS} >= {
        title for title, fields in owned.items() if fields
    }


def test_the_command_writes_the_files(server: NetboxServer, tmp_path: Path) -> None:
    file = tmp_path / "changes.zip"
    arguments = ["netbox", "export", "--spec", '{"family":"bcube","n":2,"k":0}', "--url", server.url, "-o", str(file)]
    done = CliRunner().invoke(app, [*arguments, "--token", TOKEN])
    assert done.exit_code == 0, done.output
    assert "16-cables" in read(file.read_bytes())[0]
    assert server.writes == 0
    refused = CliRunner().invoke(app, [*arguments, "--token", "wrong"])
    assert refused.exit_code == 1
    assert "Is the token right" in refused.output
