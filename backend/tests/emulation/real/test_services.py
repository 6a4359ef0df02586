"""Services of a live run over REST and on the command line, with real packets: messages, answers,
and both in the replay."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

from tests.processes import PROGRAM, environment

from .test_live import API, Left, Live, home

__all__ = ["home"]

Json = dict[str, Any]
TORUS = {"family": "torus3d", "x": 3, "y": 3, "z": 3}
SERVERS = 27


def send(live: Live, run: str, service: str, /, **asked: Any) -> tuple[int, Json]:
    return live.call("POST", f"{API}/runs/{run}/services/{service}/messages", asked)


def flowing(server: Live, run: str) -> None:
    """Waits until a message is accepted and answered: a later answer would be mistaken for another
    message's."""

    def answered() -> bool:
        code, result = send(server, run, "cache", server="(0,0,0)", message="get a", wait_secs=10)
        return code == 200 and len(result["answers"]) == 1

    server.wait("a run that takes messages", answered)


def recorded(server: Live, run: str) -> list[Json]:
    """The events of an ended run from its replay, by kind, with the values of their cells."""
    with urllib.request.urlopen(f"{server.base}{API}/runs/{run}/events", timeout=30) as stream:
        text = stream.read().decode()
    frames = [dict(line.split(": ", 1) for line in frame.splitlines() if ": " in line) for frame in text.split("\n\n")]
    ticks = [json.loads(frame["data"]) for frame in frames if frame.get("event") == "tick"]
    events = [event for tick in ticks for event in tick.get("events", [])]
    return [
        {"kind": event["name"], "server": event["server"], **{cell["name"]: cell["value"] for cell in event["cells"]}}
        for event in events
        if event["kind"] == "protocol"
    ]


def command(place: Path, *words: str, code: int = 0) -> tuple[str, str]:
    """Runs `cubeyard service`; returns its output and its errors."""
    done = subprocess.run(
        [*PROGRAM, "service", *words], env=environment(place), capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def test_messages_are_answered_recorded_and_replayed(home: Path, nothing_left: Left) -> None:
    with Live(home) as server:
        run = server.start(TORUS, {"kind": "permutation"}, seconds=600)
        flowing(server, run)
        code, result = send(server, run, "cache", server="(0,0,1)", message="set colour deep blue", wait_secs=10)
        assert code == 200, result
        assert [(answer["server"], answer["answer"]) for answer in result["answers"]] == [("(0,0,1)", "STORED colour")]
        for name in ("(0,0,0)", "(1,1,1)", "(2,2,2)"):
            code, result = send(server, run, "cache", server=name, message="get colour", wait_secs=10)
            assert [(answer["server"], answer["answer"]) for answer in result["answers"]] == [
                (name, "VALUE colour deep blue")
            ]

        words = "a much longer text " * 20
        message = f"count 1 1,1,1 full\n{words}"
        code, result = send(server, run, "aggregation", message=message, wait_secs=10)
        assert (len(result["told"]), result["silent"]) == (SERVERS, [])
        counts = f"1 {SERVERS}\na 540\nlonger 540\nmuch 540\ntext 540\n"
        assert [(answer["server"], answer["answer"]) for answer in result["answers"]] == [("(1,1,1)", counts)]
        long = "".join(f"word{i:03} " for i in range(200))
        send(server, run, "aggregation", message=f"count 2 0,0,0 full\n{long}", wait_secs=0)
        output, _ = command(home, "send", run, "aggregation", "count 3 0,0,0 full\nnone", "--json", "--wait", "10")
        assert len(json.loads(output)["told"]) == SERVERS

        output, _ = command(home, "list", run)
        assert "get colour" in output
        output, _ = command(home, "send", run, "cache", "get colour", "--server", "(2,0,1)", "--wait", "10")
        assert "(2,0,1)  VALUE colour deep blue" in output
        _, complaint = command(home, "send", run, "cash", "get colour", code=2)
        assert "no service cash" in complaint
        _, complaint = command(home, "send", run, "cache", "get colour", "--server", "h", code=2)
        assert "no server h" in complaint

        killed = {"kind": "server-killed", "target": {"names": ["(2,2,2)"]}}
        assert server.call("POST", f"{API}/runs/{run}/faults", killed)[0] == 202
        server.wait(
            "a killed server to take no message",
            lambda: send(server, run, "cache", server="(2,2,2)", message="get a", wait_secs=1)[0] == 409,
        )
        code, result = send(server, run, "cache", message="get colour", wait_secs=10, answers=SERVERS - 1)
        assert result["silent"] == ["(2,2,2)"]
        assert len(result["answers"]) == SERVERS - 1

        server.call("POST", f"{API}/runs/{run}/cancel")
        server.ended(run)
        events = recorded(server, run)
        reported = [
            event for event in events if event["kind"] == "service-message" and event["message"].startswith("set ")
        ]
        assert [(event["server"], event["service"], event["bytes"]) for event in reported] == [(1, "cache", 20)]
        answers = [event for event in events if event["kind"] == "service-answer" and event["service"] == "aggregation"]
        assert counts in [answer["answer"] for answer in answers]
        parts = "".join(answer["answer"] for answer in answers)
        assert all(f"word{i:03} 27\n" in parts for i in range(200)), "a long answer is recorded completely"
        assert send(server, run, "cache", message="get a")[0] == 409
