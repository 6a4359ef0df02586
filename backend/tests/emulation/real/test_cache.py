"""A cache at a relay of a live run answers requests of a client in place of a server.
`[serverswitch §6.1]`"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import PROGRAM, environment

from .inside import inside, named
from .test_live import API, Left, Live, home

pytestmark = pytest.mark.long

__all__ = ["home"]

CACHE = Path(__file__).parents[4] / "emulator" / "crates" / "chip" / "programs" / "bcube-cache.chip"
THREE = {"family": "bcube", "n": 2, "k": 1}
CLIENT, RELAY, SERVER = "01", "00", "10"
CONTENTS, ROUNDS = 5, 4
REQUEST_BYTES, BODY_BYTES = 86, 1300

ANSWER = """
import hashlib, socket, sys
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.bind((sys.argv[1], 9095))
print("ready", flush=True)
asked = 0
while True:
    request, client = end.recvfrom(2000)
    if request[:4] == b"over":
        print(asked, flush=True)
        break
    asked += 1
    end.sendto(request[:4] + hashlib.shake_256(request[:4]).digest(int(sys.argv[2])), client)
"""
ASK = """
import hashlib, json, socket, struct, sys
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.connect((sys.argv[1], 9095))
end.settimeout(0.5)
answered = wrong = 0
for number in json.loads(sys.argv[3]):
    content = struct.pack(">I", number)
    for _ in range(10):
        end.send(content.ljust(86, b"?"))
        try:
            response = end.recv(2000)
        except TimeoutError:
            continue
        answered += 1
        wrong += response != content + hashlib.shake_256(content).digest(int(sys.argv[2]))
        break
print(answered, wrong)
"""
OVER = """
import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"over", (sys.argv[1], 9095))
"""


@pytest.mark.parametrize("dataplane", ["serverswitch", "serverswitch-software"])
def test_hits_are_answered_by_the_relay_and_misses_by_the_server(
    home: Path, nothing_left: Left, dataplane: str
) -> None:
    with Live(home) as live:
        run = live.start(
            THREE,
            {"kind": "matrix", "entries": [[CLIENT, SERVER, 1.0]]},
            dataplane=dataplane,
            chip_program=CACHE.read_text(),
            slice={"servers": [RELAY, CLIENT, SERVER]},
        )
        live.wait("the relay to answer", lambda: live.inspect(run, RELAY)[0] == 200)
        place = subprocess.run(
            [*PROGRAM, "chip", "socket", run, RELAY], env=environment(home), capture_output=True, text=True, check=True
        )
        assert Path(place.stdout.strip()).is_socket()
        (client, server), address = (named(f"cy-{run[:8]}-{item}") for item in (1, 2)), "10.0.0.3"

        def ask(numbers: list[int]) -> str:
            command = inside(client, sys.executable, "-c", ASK, address, str(BODY_BYTES), json.dumps(numbers))
            return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout.strip()

        def began(*command: str) -> subprocess.Popen[str]:
            return subprocess.Popen(command, env=environment(home), stdout=subprocess.PIPE, text=True)

        answers = began(*inside(server, sys.executable, "-c", ANSWER, address, str(BODY_BYTES)))
        cache = None
        try:
            assert answers.stdout is not None
            assert answers.stdout.readline() == "ready\n"
            assert ask([0]) == "1 0", "without a cache"
            cache = began(*PROGRAM, "chip", "cache", run, RELAY, "--json")

            def listens() -> bool:
                shown = [*PROGRAM, "chip", "show", run, RELAY, "--json"]
                message = subprocess.run(shown, env=environment(home), capture_output=True, text=True, check=True)
                return any(entry["own"] for entry in json.loads(message.stdout)["entries"])

            live.wait("the cache", listens)
            assert ask(list(range(CONTENTS)) * ROUNDS) == f"{CONTENTS * ROUNDS} 0", (
                "all answered, each with its content"
            )
            cache.send_signal(signal.SIGINT)
            counts = json.loads(cache.communicate(timeout=20)[0])
            assert ask([0]) == "1 0", "without it again"
            request = inside(client, sys.executable, "-c", OVER, address)
            subprocess.run(request, check=True, timeout=30)
            upstream = int(answers.communicate(timeout=20)[0])
        finally:
            for process in (answers, cache):
                if process is not None:
                    process.kill()
                    process.wait()
        hits = counts["hits"]
        assert hits >= CONTENTS * (ROUNDS - 1), counts
        assert counts["missed"] == counts["kept"] >= CONTENTS, counts
        # A lost request is sent again. Either the cache or the server answers each request.
        assert upstream - 2 >= counts["missed"], (upstream, counts)
        assert counts["saved_request_bytes"] == hits * (14 + 36 + 28 + REQUEST_BYTES), counts
        assert counts["saved_response_bytes"] == hits * (14 + 36 + 28 + 4 + BODY_BYTES), counts
        live.call("POST", f"{API}/runs/{run}/cancel")
        live.ended(run)
