"""The relay in front of a fabric: which callers it accepts, that it forwards bytes completely in
both directions, and that both connections end together."""

from __future__ import annotations

import asyncio
import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from cubeyard.emulation.deploy.probe import KERNEL, probe
from cubeyard.emulation.fabric import relay
from cubeyard.emulation.fabric.client import (
    CALLER_NAME,
    READ_BYTES,
    REMOTE_SECS,
    FabricClient,
    FabricGoneError,
    Remote,
    is_away,
)
from cubeyard.emulation.fabric.fabrics import Fabrics
from cubeyard.emulation.fabric.hosts import Host, Hosts
from cubeyard.emulation.fabric.keys import authority, make_all, signed
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.fabric.relay import HANDSHAKE_SECS, MAX_HANDSHAKES, MAX_SILENT, Relay, Unproved, listen
from cubeyard.emulation.live.captures import Target
from cubeyard.emulation.live.packets.feed import Ended, feed
from cubeyard.emulation.live.packets.schemas import StreamRequest
from cubeyard.settings import EmulationHost, Settings
from tests.emulation.scripted import scripted

Json = dict[str, Any]
LONG = 5_000_000


class Echo:
    """A fabric's socket that echoes requests and counts connections."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connected = 0
        self.changed = threading.Condition()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(8)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._attend, args=(connection,), daemon=True).start()

    def _attend(self, connection: socket.socket) -> None:
        self._count(1)
        with connection, connection.makefile("rb") as lines:
            for line in lines:
                request = orjson.loads(line)
                connection.sendall(orjson.dumps({"id": request["id"], "result": request["params"]}) + b"\n")
                if request["method"] == "end":
                    break
        self._count(-1)

    def _count(self, change: int) -> None:
        with self.changed:
            self.connected += change
            self.changed.notify_all()

    def wait_for(self, connected: int) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.connected == connected, 10)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    make_all(folder)
    signed(authority(folder / "other-ca"), CALLER_NAME, folder / "stranger")
    return folder


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[Echo]:
    echo = Echo(tmp_path / "fabric.sock")
    yield echo
    echo.close()


@pytest.fixture
def for_api(tmp_path: Path) -> Iterator[Echo]:
    """The fabric's socket for the API."""
    echo = Echo(tmp_path / "api.sock")
    yield echo
    echo.close()


@pytest.fixture
def port(fabric: Echo, for_api: Echo, keys: Path) -> Iterator[int]:
    with relayed(fabric.path, keys, for_api.path) as port:
        yield port


@contextmanager
def relayed(fabric: Path, keys: Path, for_api: Path) -> Iterator[int]:
    """The port of a relay in front of the fabric."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    with listen("127.0.0.1", 0) as listener:
        serving = asyncio.run_coroutine_threadsafe(Relay(fabric, keys / "relay", for_api).serve(listener), loop)
        yield listener.getsockname()[1]
        serving.cancel()

        async def end() -> None:
            mine = asyncio.current_task()
            await asyncio.gather(*(task for task in asyncio.all_tasks() if task is not mine), return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_packets_stream_to_the_api_through_a_relay(keys: Path, tmp_path: Path) -> None:
    async def streamed(port: int, side: str) -> list[bytes | Ended]:
        target = Target("00 p0", {"link": 0}, Host("node-a", Remote("127.0.0.1", port, keys / side)))
        return [part async for part in feed(target, "run", StreamRequest(link="00/<0,0>"))]

    with (
        scripted(tmp_path / "fabric.sock") as fabric,
        scripted(tmp_path / "api.sock") as for_api,
        relayed(tmp_path / "fabric.sock", keys, tmp_path / "api.sock") as port,
    ):
        for_api.parts = [bytes(64 * 1024)] * 3
        assert asyncio.run(streamed(port, "api")) == [*for_api.parts, b"", Ended("secs", 0, 0)]
        assert [method for method, _ in for_api.calls] == ["capture"]
        assert fabric.calls == []
        with pytest.raises(FabricGoneError, match=rf"does not answer at 127\.0\.0\.1:{port}|went away|broke"):
            asyncio.run(streamed(port, "stranger"))
    with pytest.raises(FabricGoneError, match=r"does not answer at 127\.0\.0\.1:"):
        asyncio.run(streamed(port, "api"))


def test_calls_arrive_whole_in_both_directions(port: int, keys: Path, fabric: Echo) -> None:
    with FabricClient(Remote("127.0.0.1", port, keys / "worker")) as client:
        assert client.call("ask", value=1) == {"value": 1}
        long = "x" * LONG
        assert client.call("ask", value=long) == {"value": long}
        assert fabric.wait_for(1)


def test_a_caller_that_goes_is_gone_for_the_fabric(port: int, keys: Path, fabric: Echo) -> None:
    client = FabricClient(Remote("127.0.0.1", port, keys / "worker"))
    client.call("ask")
    assert fabric.wait_for(1)
    client.close()
    assert fabric.wait_for(0)


def test_a_fabric_that_goes_is_gone_for_the_caller(port: int, keys: Path) -> None:
    with FabricClient(Remote("127.0.0.1", port, keys / "worker")) as client:
        client.call("end")
        with pytest.raises(FabricGoneError):
            client.call("ask")


def test_the_key_of_the_api_reaches_only_the_socket_for_it(port: int, keys: Path, fabric: Echo, for_api: Echo) -> None:
    with FabricClient(Remote("127.0.0.1", port, keys / "api")) as client:
        assert client.call("ask", value=1) == {"value": 1}
        assert for_api.wait_for(1)
        assert fabric.connected == 0


@pytest.mark.parametrize("who", ["stranger", "relay"])
def test_callers_without_a_certificate_of_this_authority_are_refused(
    port: int, keys: Path, fabric: Echo, who: str
) -> None:
    with pytest.raises(FabricGoneError), FabricClient(Remote("127.0.0.1", port, keys / who)) as client:
        client.call("ask")
    assert fabric.connected == 0


def test_without_a_key_nothing_is_answered(port: int, fabric: Echo) -> None:
    with socket.create_connection(("127.0.0.1", port), 5) as plain:
        plain.sendall(b'{"id": 1, "method": "probe", "params": {}}\n')
        plain.settimeout(5)
        assert b"result" not in plain.recv(4096)
    assert fabric.connected == 0


def test_callers_with_the_key_of_the_api_keep_out_no_worker(
    port: int, keys: Path, fabric: Echo, for_api: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "MAX_CALLERS", 4)
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(FabricClient(Remote("127.0.0.1", port, keys / "api")))
        assert for_api.wait_for(4)
        with FabricClient(Remote("127.0.0.1", port, keys / "worker")) as worker:
            assert worker.call("ask", x=1) == {"x": 1}
        with pytest.raises(FabricGoneError), FabricClient(Remote("127.0.0.1", port, keys / "api")) as another:
            another.call("ask")
    assert fabric.wait_for(0)


def _greeting() -> bytes:
    """The first message of a handshake."""
    out = ssl.MemoryBIO()
    beginner = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="relay")
    with suppress(ssl.SSLWantReadError):
        beginner.do_handshake()
    return out.read()


def _are_closed(crowd: list[socket.socket], at_least: int, secs: float) -> bool:
    """Whether the other side closes at least this many connections within the time."""
    deadline = time.monotonic() + secs
    waiting = {item.fileno(): item for item in crowd}
    while len(crowd) - len(waiting) < at_least and time.monotonic() < deadline:
        for number in select.select(list(waiting), [], [], 0.1)[0]:
            try:
                closed = not waiting[number].recv(READ_BYTES)
            except ConnectionError:
                closed = True
            if closed:
                del waiting[number]
    return len(crowd) - len(waiting) >= at_least


@pytest.mark.parametrize(("first", "most"), [(b"", MAX_SILENT), (_greeting(), MAX_HANDSHAKES)])
def test_handshakes_that_end_never_are_few_and_keep_nobody_out(
    port: int, keys: Path, fabric: Echo, first: bytes, most: int
) -> None:
    with ExitStack() as stack:
        crowd = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 5)) for _ in range(most + 200)]
        for item in crowd:
            item.sendall(first)
        began = time.monotonic()
        with FabricClient(Remote("127.0.0.1", port, keys / "worker")) as client:
            assert client.call("ask", x=1) == {"x": 1}
        assert _are_closed(crowd, 200, HANDSHAKE_SECS / 2), "more than the limit are closed at once"
        assert time.monotonic() - began < HANDSHAKE_SECS
    assert fabric.wait_for(0)


def test_a_handshake_that_does_not_end_is_closed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "HANDSHAKE_SECS", 0.2)
    for first in (b"", _greeting()):
        with socket.create_connection(("127.0.0.1", port), 5) as plain:
            plain.sendall(first)
            assert _are_closed([plain], 1, 5)


def test_many_connections_of_an_address_close_none_of_another() -> None:
    async def wait(unproved: Unproved, address: str) -> None:
        with unproved.one_of(address):
            await asyncio.Event().wait()

    async def left() -> list[str]:
        unproved = Unproved(4)
        tasks = {}
        for number, address in enumerate(["b", *"aaaaa", "c"]):
            tasks[f"{address}{number}"] = asyncio.create_task(wait(unproved, address))
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        alive = [name for name, task in tasks.items() if not task.done()]
        for task in tasks.values():
            task.cancel()
        return alive

    assert asyncio.run(left()) == ["b0", "a4", "a5", "c6"]


def test_a_plain_host_is_reached_by_its_relay(port: int, keys: Path, fabric: Echo, tmp_path: Path) -> None:
    address = f"tls://127.0.0.1:{port}"
    host = EmulationHost.model_validate(
        {"name": "b", "fabric": address, "keys": keys / "worker", "underlay": "10.0.0.2"}
    )
    fabrics = Fabrics(Hosts.of(Settings(hosts=(host,), home=tmp_path), Place(tmp_path)).every)
    assert fabrics.call("ask", x=1) == [{"x": 1}]
    fabrics.close()
    assert fabric.wait_for(0)


def test_keys_are_their_owners_alone_and_renewed_by_the_same_authority(port: int, fabric: Echo, keys: Path) -> None:
    before = (keys / "worker/tls.crt").read_bytes(), (keys / "ca.crt").read_bytes()
    make_all(keys, days=30)
    assert (keys / "worker/tls.crt").read_bytes() != before[0]
    assert (keys / "ca.crt").read_bytes() == before[1]
    private = [keys / "ca.key", *keys.glob("*/tls.key")]
    assert {path.stat().st_mode & 0o777 for path in private} == {0o600}
    with FabricClient(Remote("127.0.0.1", port, keys / "worker")) as client:
        assert client.call("ask", x=1) == {"x": 1}, "a relay with the older key takes the new one"
    assert fabric.wait_for(0)


@pytest.mark.parametrize(("days", "is_warned"), [(20, True), (365, False)])
def test_keys_that_end_soon_are_told(tmp_path: Path, days: int, is_warned: bool) -> None:
    keys = tmp_path / "keys"
    make_all(keys, days)
    place = tmp_path / "fabric.sock"
    with scripted(place) as fabric, relayed(place, keys, place) as port:
        fabric.probed = dict.fromkeys(KERNEL, True)
        host = EmulationHost.model_validate(
            {"name": "b", "fabric": f"tls://127.0.0.1:{port}", "keys": keys / "worker", "underlay": "10.0.0.2"}
        )
        machine = probe(Settings(hosts=(host,), home=tmp_path))
    warned = [re.search(r"Its key ends on \d{4}-\d\d-\d\d: renew the keys\.", host.reason) for host in machine.hosts]
    assert [match is not None for match in warned] == [is_warned]


def test_a_relay_of_another_authority_is_not_believed(fabric: Echo, port: int, keys: Path) -> None:
    with pytest.raises(FabricGoneError, match="does not answer at"):
        FabricClient(Remote("127.0.0.1", port, keys / "stranger")).call("ask")


def test_keys_that_are_not_there_are_an_error_of_the_relay(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Relay(tmp_path / "fabric.sock", tmp_path)


def test_a_machine_that_refuses_counts_as_present_and_a_silent_one_as_away(
    port: int, keys: Path, tmp_path: Path
) -> None:
    assert not is_away(Remote("127.0.0.1", port, keys))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert not is_away(Remote("127.0.0.1", unused.getsockname()[1], keys)), (
            "the machine refuses, so it is reachable"
        )
    assert is_away(Remote("255.255.255.255", 1, keys)), "no route leads to the address"
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(4)]
        for item in waiting:
            item.setblocking(False)
            item.connect_ex(full.getsockname())
        began = time.monotonic()
        assert is_away(Remote("127.0.0.1", full.getsockname()[1], keys)), "nothing answers"
        assert time.monotonic() - began < REMOTE_SECS + 2
        for item in waiting:
            item.close()
    assert not is_away(tmp_path / "fabric.sock"), "this machine is never away"
