"""Probes notice a program that hangs: its kernel goes on accepting connections."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cubeyard.emulation.fabric.keys import authority, signed
from cubeyard.kit import alive
from tests.emulation.cluster.test_relay import relayed
from tests.emulation.scripted import scripted


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alive, "ANSWER_SECS", 0.3)


@pytest.fixture
def hung() -> Iterator[int]:
    """The port of a listener whose program accepts nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_fabric_answers_a_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fabric.sock"
    assert alive.main("fabric", str(path)) == 1, "nobody listens"
    with scripted(path) as fabric:
        assert alive.main("fabric", str(path)) == 0
        assert [method for method, _ in fabric.calls] == ["host"]
        fabric.fails = {"host"}
        assert alive.main("fabric", str(path)) == 0, "a refusal is an answer, too"
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        assert alive.main("fabric", str(path)) == 1
    assert "fabric.sock: timed out" in capsys.readouterr().err


def test_a_relay_does_its_part_of_a_handshake(tmp_path: Path, hung: int) -> None:
    keys = tmp_path / "keys"
    signed(authority(keys / "ca"), "cubeyard-fabric", keys / "relay")
    with relayed(tmp_path / "fabric.sock", keys, tmp_path / "api.sock") as port:
        assert alive.main("relay", str(port)) == 0
    assert alive.main("relay", str(hung)) == 1


@pytest.mark.parametrize(
    ("answer", "status"), [("HTTP/1.1 200 OK", 0), ("HTTP/1.1 503 Service Unavailable", 1), ("", 1)]
)
def test_an_api_is_alive_if_its_answer_is_good(answer: str, status: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:

        def respond() -> bytes:
            with listener.accept()[0] as connection:
                question = connection.recv(1000)
                connection.sendall(f"{answer}\r\n\r\n".encode())
                return question

        heard = pool.submit(respond)
        assert alive.main("http", f"http://127.0.0.1:{listener.getsockname()[1]}/livez") == status
        assert heard.result().startswith(b"GET /livez HTTP/1.0\r\nHost: 127.0.0.1:")


def test_an_api_that_hangs_does_not_answer(hung: int) -> None:
    assert alive.main("http", f"http://127.0.0.1:{hung}/livez") == 1


def test_a_worker_beats_while_its_loop_turns(tmp_path: Path) -> None:
    file = tmp_path / "beat"
    assert alive.main("beat", str(file)) == 1, "it has not begun"

    async def beaten(*hung: str) -> None:
        task = asyncio.create_task(alive.beat(file, lambda: hung))
        await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(beaten("run x"))
    assert not file.exists(), "a thread hangs, and the loop turns"
    asyncio.run(beaten())
    assert alive.main("beat", str(file)) == 0
    os.utime(file, (0, time.time() - alive.SILENT_SECS - 1))
    assert alive.main("beat", str(file)) == 1


def test_a_probe_imports_nothing_of_the_product(tmp_path: Path) -> None:
    """It starts every few seconds."""
    program = "import sys, cubeyard.kit.alive; print([name for name in sys.modules if 'pydantic' in name or 'sqlalchemy' in name])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]"
