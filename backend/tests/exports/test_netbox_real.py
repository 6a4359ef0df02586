"""The sync against a real NetBox, where the environment names one:
`NETBOX_URL=... NETBOX_TOKEN=... make test TEST=netbox`.

NetBox 4.7 needs Python 3.12, which Debian 12 does not have, and six minutes of a processor for its
migrations, so that the tests start none. It gets a site of the test's own, which stays.
"""

from __future__ import annotations

import os
import secrets

import pytest

from cubeyard.engine import Engine
from cubeyard.exports.netbox.records import NetboxRecords
from cubeyard.exports.netbox.sync import NetboxClient, sync
from tests.exports import plans

URL, TOKEN = os.environ.get("CUBEYARD_TEST_NETBOX_URL", ""), os.environ.get("CUBEYARD_TEST_NETBOX_TOKEN", "")


@pytest.mark.skipif(
    not (URL and TOKEN),
    reason="no NetBox: name one for tests in NETBOX_URL and NETBOX_TOKEN, and run make test TEST=netbox (NetBox needs "
    "Python 3.12, PostgreSQL and Redis)",
)
def test_a_real_netbox_holds_the_plan_and_a_second_sync_changes_nothing(engine: Engine) -> None:
    """At a new site; cables end at the ports that the plan names, as NetBox itself traces them."""
    name = f"Test {secrets.token_hex(4)}"
    records = NetboxRecords(plans.compute(engine, {"family": "dcell", "n": 3, "k": 1}, "current-2026", name))
    with NetboxClient(URL, TOKEN) as client:
        first = list(sync(records, client))
        assert sum(change.created for change in first) > records.plan.cable_count
        again = list(sync(records, client))
        assert [change.model for change in again if change.created or change.changed or change.deleted] == []
        site = client.all("/api/dcim/sites/", {"name": name})[0]["id"]
        traced = set()
        for port in client.all("/api/dcim/interfaces/", {"site_id": site, "cabled": "true"}):
            (far,) = port["connected_endpoints"]
            traced.add(frozenset({(port["device"]["name"], port["name"]), (far["device"]["name"], far["name"])}))
    assert traced == {
        frozenset({(row[f"side_{side}_device"], row[f"side_{side}_name"]) for side in "ab"}) for row in records.cables()
    }
