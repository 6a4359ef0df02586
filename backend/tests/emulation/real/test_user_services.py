"""Users' services with real packets: the example delivers packets next to services that loop, trap
and flood, also in containers. A server that was killed and restarted hosts it again."""

from __future__ import annotations

import base64
import itertools
import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cubeyard.cli.modules import TEMPLATES, answers
from tests.deployment.engine import Docker
from tests.processes import PROGRAM, environment

from .test_live import API, Left, Live, home, rows

__all__ = ["home"]

Json = dict[str, Any]
TORUS = {"family": "torus3d", "x": 3, "y": 3, "z": 3}
NAMES = [f"({x},{y},{z})" for z in range(3) for y in range(3) for x in range(3)]
PLANE = {"family": "torus3d", "x": 3, "y": 3, "z": 1}
LOSSES = {"loops": "lost-out-of-fuel", "traps": "lost-trapped", "floods": "packets-without-room"}
ACTS = {
    "loops": "(loop $l (br $l))",
    "traps": "unreachable",
    "floods": """(loop $l
        (drop (call $transmit (i32.const 0) (i32.const 1400) (i32.and (local.get $i) (i32.const 0x020202))))
        (local.set $i (i32.add (local.get $i) (i32.const 0x10301)))
        (br_if $l (i32.lt_u (local.get $i) (i32.const 0xc1200))))""",
}


def bad(act: str) -> bytes:
    """A module that misbehaves every millisecond after its first message, and at each packet."""
    return f"""(module
        (import "cubeyard" "transmit" (func $transmit (param i32 i32 i32) (result i32)))
        (import "cubeyard" "set_timer" (func $set_timer (param i32)))
        (memory (export "memory") 1)
        (func $act (local $i i32) {act})
        (func (export "buffer") (result i32) (i32.const 0))
        (func (export "F") (param i32 i32))
        (func (export "classify") (param i32) (result i32) (i32.const 0))
        (func (export "deliver") (param i32 i32) (call $act))
        (func (export "message") (param i32) (call $set_timer (i32.const 1)) (call $act))
        (func (export "timer") (call $set_timer (i32.const 1)) (call $act)))""".encode()


def service(name: str, number: int, module: bytes) -> Json:
    return {"name": name, "id": number, "module": base64.b64encode(module).decode()}


def send(live: Live, run: str, name: str, /, **asked: Any) -> tuple[int, Json]:
    return live.call("POST", f"{API}/runs/{run}/services/{name}/messages", asked)


def counters(live: Live, run: str) -> dict[str, Counter[str]]:
    """The counters of some servers' services."""
    result: dict[str, Counter[str]] = {}
    for name in NAMES[::5]:
        code, state = live.inspect(run, name)
        assert code == 200, state
        for row in rows(state, "services"):
            result.setdefault(row["service"], Counter())[row["counter"]] += row["count"]
    return result


def first(live: Live, run: str, server: str) -> None:
    """Waits until a server's instance accepts a message, and delivers it to itself."""

    def delivered() -> bool:
        message = f"{server.strip('()')} first"
        code, result = send(live, run, "greeting", server=server, message=message, wait_secs=10)
        return code == 200 and (server, "first") in [
            (answer["server"], answer["answer"]) for answer in result["answers"]
        ]

    live.wait(f"the service of {server}", delivered)


def arrived(live: Live, run: str, text: str, to: str, senders: int) -> Counter[str]:
    """Where greetings with this text arrive, if every server sends one to the key of server
    `to`."""
    code, result = send(live, run, "greeting", message=f"{to.strip('()')} {text}", wait_secs=10, answers=senders)
    assert code == 200, result
    return Counter(answer["server"] for answer in result["answers"] if answer["answer"] == text)


def greeted(live: Live, run: str, *keys: str, servers: int = len(NAMES)) -> None:
    """Every server sends a greeting to each of these servers. Checks that each arrives once, at the
    owner of its key."""
    for to in keys:
        assert arrived(live, run, f"to {to}", to, servers) == {to: servers}


def recovers(live: Live, run: str, dead: str, servers: int) -> None:
    """Kills a server: its neighbour owns its key. After a restart, the state is as before, with the
    same services."""
    killed = {"kind": "server-killed", "target": {"names": [dead]}}
    assert live.call("POST", f"{API}/runs/{run}/faults", killed)[0] == 202
    live.wait(f"{dead} to be silent", lambda: live.inspect(run, dead)[0] == 409)
    tries = itertools.count()

    def inherited() -> bool:
        result = arrived(live, run, f"heir {next(tries)}", dead, servers - 1)
        assert dead not in result
        return len(result) == 1 and result.total() == servers - 1

    live.wait(f"an heir of {dead}", inherited)
    assert live.call("POST", f"{API}/runs/{run}/stop-all")[0] == 202
    first(live, run, dead)
    live.wait(
        "everybody to find it", lambda: arrived(live, run, f"back {next(tries)}", dead, servers) == {dead: servers}
    )


@pytest.mark.long
def test_the_example_delivers_beside_services_that_loop_trap_and_flood(home: Path, nothing_left: Left) -> None:
    greeting = (TEMPLATES / "greeting.wat").read_bytes()
    services = [service("greeting", 256, greeting)]
    services += [service(name, 257 + at, bad(act)) for at, (name, act) in enumerate(ACTS.items())]
    with Live(home) as live:
        # Links are slow: a flood fills all of them, and this machine still has time for every
        # server.
        run = live.start(TORUS, {"kind": "permutation"}, link_gbps=0.002, services=services)
        code, listed = live.call("GET", f"{API}/runs/{run}/services")
        assert code == 200
        assert [item["name"] for item in listed["items"]][-4:] == ["greeting", *ACTS]

        first(live, run, NAMES[0])
        greeted(live, run, NAMES[0], NAMES[13], NAMES[26])
        for name in ACTS:
            code, result = send(live, run, name, message="begin", wait_secs=0)
            assert code == 200, result
        greeted(live, run, NAMES[0], NAMES[13], NAMES[26])

        result = counters(live, run)
        for name, reason in LOSSES.items():
            assert result[name][reason] > 0, result[name]
        own = {
            counter: count
            for counter, count in result["greeting"].items()
            if counter.startswith(("lost-", "packets-without"))
        }
        assert own == {}
        code, result = send(live, run, "cache", server=NAMES[3], message="set colour blue", wait_secs=10)
        assert [answer["answer"] for answer in result["answers"]] == ["STORED colour"]
        # The protocol gets its share on every server: no neighbour was declared dead.
        for name in NAMES[::5]:
            assert all(row["up"] for row in rows(live.inspect(run, name)[1], "neighbours"))

        live.call("POST", f"{API}/runs/{run}/cancel")
        assert live.ended(run)["state"] == "cancelled"


@pytest.mark.long
def test_containers_host_services_and_a_server_that_was_killed_hosts_them_again(
    home: Path, docker: Docker, nothing_left: Left
) -> None:
    servers = 9
    engine = {key: value for key, value in docker.environment.items() if key.startswith("DOCKER_")}
    greeting = service("greeting", 256, (TEMPLATES / "greeting.wat").read_bytes())
    with Live(home, **engine) as live:
        run = live.start(PLANE, {"kind": "permutation"}, mode="containers", services=[greeting])
        first(live, run, NAMES[0])
        greeted(live, run, NAMES[0], NAMES[8], servers=servers)
        recovers(live, run, NAMES[4], servers)
        live.call("POST", f"{API}/runs/{run}/cancel")
        assert live.ended(run)["state"] == "cancelled"


def test_the_command_line_tries_a_service_and_runs_it(tmp_path: Path, nothing_left: Left) -> None:
    words = ["service", "run", str(TEMPLATES / "greeting.wat"), "--servers", "9", "--seconds", "2"]
    done = subprocess.run(
        [*PROGRAM, *words, "--mode", "namespaces", "--json"],
        env=environment(tmp_path, CUBEYARD_LOG_LEVEL="warning"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["trial"]["answers"] == 9
    assert [text for _, _, text in answers(result["run"]["events"])] == ["hello"] * 9


BAD = """
import time
from cubeyard_service import Service

class Bad(Service):
    def F(self, at, packet):
        return ()

    def message(self, message):
        if self.server.here == (0, 0, 0):
            time.sleep(60)  # stops reading
        while True:  # the kernel ends its process
            pass
"""


@pytest.mark.long
def test_python_services_run_beside_servers_and_bad_ones_cost_the_others_nothing(
    tmp_path: Path, nothing_left: Left
) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(BAD)
    words = ["--spec", json.dumps(PLANE), "--mode", "namespaces", "--seconds", "4", "--settle", "1", "--calibrate", "0"]
    services = [
        "--service-file", f"greeting={TEMPLATES / 'service.py'}", "--service-message", "greeting={key} hello",
        "--service-file", str(bad), "--service-message", "bad=begin",
    ]  # fmt: skip
    done = subprocess.run(
        [*PROGRAM, "emulate", "--workload", "one-to-one", *words, *services, "--json"],
        env=environment(tmp_path, CUBEYARD_LOG_LEVEL="warning"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    events = json.loads(done.stdout)["events"]
    assert [said for _, *said in answers(events)] == [["greeting", "hello"]] * 9
    assert not any(event.get("name") == "neighbour-dead" for event in events)
    folders = Path("/proc").glob("[0-9]*/cmdline")
    left = [folder for folder in folders if str(bad).encode() in (folder.read_bytes() if folder.exists() else b"")]
    assert left == []


@pytest.mark.long
def test_modules_are_refused_by_their_field(home: Path) -> None:
    with Live(home) as live:
        request = {
            "plan": TORUS,
            "workload": {"kind": "permutation"},
            "engine": "emulation",
            "emulation": {"services": [service("empty", 256, b"(module)")]},
        }
        code, problem = live.call("POST", f"{API}/experiments", request)
        assert code == 422
        (error,) = problem["errors"]
        assert error["field"] == "body.emulation.services.0.module"
        assert error["message"] == "The module does not export its memory."
        assert "service new" in error["hint"]
        long = service("long", 256, b"a" * 4_300_000)
        code, problem = live.call("POST", f"{API}/experiments", {**request, "emulation": {"services": [long]}})
        assert (code, problem["type"]) == (413, "urn:cubeyard:problem:too-large"), problem
