"""A live session through the API: inspected servers, faults by order, Stop-all, and ends at bad
moments."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from cubeyard.emulation.fabric.client import FabricClient
from cubeyard.emulation.fabric.place import Place
from cubeyard.engine import Engine
from cubeyard.kit.embedded import EmbeddedPostgres
from cubeyard.settings import Settings
from tests.processes import PROGRAM, Server, environment

Json = dict[str, Any]
API = "/api/v1"
TINY = {"family": "bcube", "n": 2, "k": 1}
FINISHED = ("succeeded", "failed", "cancelled")
Left = Callable[[], dict[str, set[str]]]


def rows(state: Json, section: str) -> list[Json]:
    """The rows of a section of a server's state, as dicts by column name."""
    result = next(item for item in state["sections"] if item["name"] == section)
    names = [column["name"] for column in result["columns"]]
    return [dict(zip(names, row, strict=True)) for row in result["rows"]]


class Live(Server):
    """A server with a separate home, which ends as on Ctrl-C."""

    def start(
        self, plan: Json = TINY, workload: Json | None = None, *, link_gbps: float = 0.02, **emulation: Any
    ) -> str:
        """The id of a new run."""
        request = {
            "plan": plan,
            "workload": workload or {"kind": "all-to-all"},
            "engine": "emulation",
            "link_gbps": link_gbps,
            "seeds": [7],
            "emulation": {
                "mode": "namespaces",
                "seconds": 120,
                "settle_secs": 0.5,
                "calibrate_secs": 0,
                **emulation,
            },
        }
        status, experiment = self.call("POST", f"{API}/experiments", request)
        assert status == 201, experiment
        status, run = self.call("POST", f"{API}/experiments/{experiment['id']}/runs", {})
        assert status in (201, 202), run
        return run["id"]

    def wait(self, what: str, until: Callable[[], Any], secs: float = 40) -> Any:
        deadline = time.monotonic() + secs
        while not (result := until()):
            assert time.monotonic() < deadline, (what, self.said()[-3000:])
            time.sleep(0.05)
        return result

    def inspect(self, run: str, server: str) -> tuple[int, Any]:
        return self.call("GET", f"{API}/runs/{run}/servers/{server}")

    def flowing(self, run: str) -> Json:
        """The state of a server once its three flows have paths."""

        def found() -> Json | None:
            status, state = self.inspect(run, "00")
            if status != 200:
                return None
            matches = [row for row in rows(state, "flows") if row["flow"]["flow"] is not None and row["paths"]]
            return state if len(matches) == 3 else None

        return self.wait("flows with paths", found)

    def ended(self, run: str) -> Json:
        def found() -> Json | None:
            row = self.call("GET", f"{API}/runs/{run}")[1]
            return row if row["state"] in FINISHED else None

        return self.wait("the end of the run", found)

    def __exit__(self, *failed: object) -> None:
        """Ends the server as on Ctrl-C, which removes its resources, also after a failed test."""
        try:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
                code = self.process.wait(40)
                assert failed[0] is not None or code == 0, self.said()[-3000:]
        finally:
            super().__exit__(*failed)


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cubeyard-live-") as folder:
        yield Path(folder)
        last = EmbeddedPostgres(Path(folder))
        last.start()
        last.stop()


def test_a_server_reports_its_state_while_packets_flow(home: Path, nothing_left: Left) -> None:
    with Live(home) as server:
        run = server.start()
        state = server.flowing(run)
        neighbours = rows(state, "neighbours")
        assert {neighbour["server"] for neighbour in neighbours} == {"01", "10"}
        assert all(neighbour["up"] for neighbour in neighbours)
        flows = {row["flow"]["flow"]: row for row in rows(state, "flows") if row["flow"]["flow"] is not None}
        assert len(flows) == 3, "one to each other server"
        for flow in flows.values():
            assert flow["flow"]["dst"] in ("01", "10", "11")
            for path in flow["paths"]:
                assert (path["servers"][0], path["servers"][-1]) == ("00", flow["flow"]["dst"])
            assert sum(path["used"] for path in flow["paths"]) == 1
        assert rows(state, "failed-links") == []
        assert state["counts"]["own-bytes"] > 0

        fault = {"kind": "cable-pulled", "target": {"names": ["00/<0,0>"]}}
        status, order = server.call("POST", f"{API}/runs/{run}/faults", fault)
        assert status == 202, order

        def down() -> bool:
            neighbours = rows(server.inspect(run, "00")[1], "neighbours")
            return [neighbour["server"] for neighbour in neighbours if not neighbour["up"]] == ["01"]

        server.wait("the neighbour behind the pulled cable to be dead", down)
        assert server.inspect(run, "nobody")[0] == 404

        killed = {"kind": "server-killed", "target": {"names": ["11"]}}
        assert server.call("POST", f"{API}/runs/{run}/faults", killed)[0] == 202
        server.wait("the killed server to be silent", lambda: server.inspect(run, "11")[0] == 409)

        assert server.call("POST", f"{API}/runs/{run}/stop-all")[0] == 202

        def healed() -> bool:
            status, item = server.inspect(run, "11")
            return status == 200 and all(each["up"] for each in rows(item, "neighbours"))

        server.wait("everything to be mended", healed)
        assert server.call("POST", f"{API}/runs/{run}/cancel")[0] in (200, 202)
        assert server.ended(run)["state"] == "cancelled"
        assert server.inspect(run, "00")[0] == 409


@pytest.mark.long
@pytest.mark.parametrize("mode", ["containers", "namespaces"])
def test_a_run_deleted_while_it_starts_leaves_nothing(home: Path, nothing_left: Left, docker: Any, mode: str) -> None:
    with Live(home, **{key: item for key, item in docker.environment.items() if key.startswith("DOCKER_")}) as server:
        for wait_secs in (0.2, 0.8):
            run = server.start(mode=mode)
            time.sleep(wait_secs)
            status, message = server.call("DELETE", f"{API}/runs/{run}")
            if status == 409:  # a worker has the run, which must be cancelled first
                assert server.call("POST", f"{API}/runs/{run}/cancel")[0] in (200, 202), message
                row = server.ended(run)
                assert row["state"] == "cancelled", (row["reason"], server.said()[-2500:])
                status, message = server.call("DELETE", f"{API}/runs/{run}")
            assert status == 204, message
            assert server.call("GET", f"{API}/runs/{run}")[0] == 404
        last = server.start(mode=mode, seconds=1)
        row = server.ended(last)
        assert row["state"] == "succeeded", row


@pytest.mark.long
def test_a_killed_service_does_its_run_again(home: Path, nothing_left: Left) -> None:
    with Live(home, CUBEYARD_JOB_LEASE_SECS="2") as server:
        run = server.start(seconds=6)
        server.flowing(run)
        server.process.kill()
        server.process.wait()
    with Live(home, CUBEYARD_JOB_LEASE_SECS="2") as server:
        row = server.ended(run)
        assert row["state"] == "succeeded", row


def test_a_run_whose_fabric_is_killed_fails_and_says_so(home: Path, nothing_left: Left) -> None:
    place = Place.of(Settings(home=home))
    with Live(home) as server:
        run = server.start()
        server.flowing(run)
        with FabricClient(place.socket) as fabric:
            os.kill(fabric.pid, signal.SIGKILL)
        row = server.ended(run)
        assert row["state"] == "failed", row
        assert "cubeyard-fabric" in str(row["reason"]), row
        assert server.ended(server.start(seconds=1))["state"] == "succeeded", "the next run starts another"


@pytest.mark.long
def test_a_router_reports_its_controller_and_its_current_weights(
    engine: Engine, home: Path, nothing_left: Left
) -> None:
    spec = {"family": "subways", "type": 1, "p": 2, "q": 4, "l": 4, "clusters": 2, "aggs_per_cluster": 2, "cores": 2}
    with Live(home) as server:
        run = server.start(
            plan=spec, workload={"kind": "permutation"}, balance="lb", timers={"rebind_secs": 0.5}, seconds=60
        )
        network = engine.emulation_network(spec)
        servers = {item["name"] for item in network["servers"]}
        tors = [switch["name"] for switch in network["switches"] if switch["level"] == 0]

        def told() -> Json | None:
            status, state = server.call("GET", f"{API}/runs/{run}/switches/{quote(tors[1])}")
            return state if status == 200 and rows(state, "controllers") and rows(state, "tor-weights") else None

        state = server.wait("weights at a ToR", told)
        own = next(row for row in rows(state, "controllers") if row["loop"] == 0)
        assert own["controller"] == tors[0], "the lowest of its loop"
        assert own["period"] == 0.5
        uplinks = rows(state, "tor-uplinks")
        assert [uplink["tor"] for uplink in uplinks] == tors[:4]
        assert all(0 <= float(uplink["up"].split()[0]) <= 100 for uplink in uplinks)
        weights = rows(state, "tor-weights")
        assert {weight["server"] for weight in weights} <= servers
        for name in {weight["server"] for weight in weights}:
            total = sum(float(weight["source"].split()[0]) for weight in weights if weight["server"] == name)
            assert total == pytest.approx(100, abs=0.3)
        words = [*PROGRAM, "routes", run, tors[0]]
        printed = subprocess.run(words, env=environment(home), capture_output=True, check=True, text=True).stdout
        for title in (
            "Controllers, as known here",
            "Uplinks of ToRs",
            "Weights of servers' links",
            "Next hops by group",
        ):
            assert title in printed
        assert server.call("POST", f"{API}/runs/{run}/cancel")[0] in (200, 202)
        assert server.ended(run)["state"] == "cancelled"


@pytest.mark.long
def test_a_router_reports_its_routes_and_weighted_next_hops(engine: Engine, home: Path, nothing_left: Left) -> None:
    spec = {
        "family": "subways", "type": 2, "p": 2, "q": 4, "l": 4, "c": 2, "clusters": 2, "aggs_per_cluster": 2, "cores": 2,
        "cluster_gbps": [10, 25], "uplink_gbps": 25,
    }  # fmt: skip
    with Live(home) as server:
        run = server.start(plan=spec, workload={"kind": "permutation"}, balance="wcmp")

        def told(kind: str, name: str) -> Json | None:
            status, state = server.call("GET", f"{API}/runs/{run}/{kind}/{quote(name)}")
            return (
                state if status == 200 and any(section["name"] == "routes" for section in state["sections"]) else None
            )

        network = engine.emulation_network(spec)
        tor, source = network["switches"][0]["name"], network["servers"][0]["name"]
        state = server.wait("the routes of a ToR", lambda: told("switches", tor))
        below = {row["neighbour"] for row in rows(state, "groups")} & {item["name"] for item in network["servers"]}
        assert len(below) > 1, "a ToR leads down to its servers"
        groups = {row["group"] for row in rows(state, "groups")}
        assert {row["group"] for row in rows(state, "routes")} <= groups
        own = server.wait("the routes of a server", lambda: told("servers", source))
        shares = {row["share"] for row in rows(own, "groups")}
        assert {"2/7", "5/7"} <= shares
        assert server.call("GET", f"{API}/runs/{run}/switches/nobody")[0] == 404
        words = [*PROGRAM, "routes", run, tor, "--json"]
        printed = subprocess.run(words, env=environment(home), capture_output=True, check=True).stdout
        assert json.loads(printed)["sections"] == state["sections"]
        assert server.call("POST", f"{API}/runs/{run}/cancel")[0] in (200, 202)
        assert server.ended(run)["state"] == "cancelled"
        assert server.call("GET", f"{API}/runs/{run}/switches/{quote(tor)}")[0] == 409
