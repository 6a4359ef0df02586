"""Connections that flood, stall or crowd a real server on loopback: they end, and others are
answered meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from websockets.sync.client import connect

from cubeyard.kit.http_limits import MAX_HEAD_BYTES
from cubeyard.serve import configuration
from cubeyard.settings import Settings

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
MEBIBYTE = 1024 * 1024
Wire = tuple[socket.socket, Any]


async def application(scope: Any, receive: Any, send: Any) -> None:
    talk = {"lifespan": life, "websocket": echo}.get(scope["type"]) or (events if scope["path"] == "/events" else count)
    await talk(scope, receive, send)


async def life(scope: Any, receive: Any, send: Any) -> None:
    for _ in range(2):
        await send({"type": f"{(await receive())['type']}.complete"})


async def echo(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


async def events(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for number in range(8):
        await send({"type": "http.response.body", "body": b"data: %d\n\n" % number, "more_body": True})
        await asyncio.sleep(0.1)
    await send({"type": "http.response.body"})


async def count(scope: Any, receive: Any, send: Any) -> None:
    """Returns the path and the length of the body; `/late` reads it only after the time limit."""
    if scope["path"] == "/late":
        await asyncio.sleep(1.2)
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        length, more = length + len(message["body"]), message["more_body"]
    body = f"{scope['path']} {length}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@contextmanager
def served(**limits: Any) -> Iterator[int]:
    config = configuration(application, Settings(port=0, **limits))
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with served(head_secs=0.6, body_secs=0.6) as port:
        yield port


@contextmanager
def wire(port: int) -> Iterator[Wire]:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as sent, sent.makefile("rb") as read:
        yield sent, read


def answer(read: Any) -> tuple[int, dict[str, str], bytes]:
    """One with a length."""
    status = int(read.readline().split()[1])
    headers = {}
    while line := read.readline().strip().decode():
        name, _, value = line.partition(": ")
        headers[name.lower()] = value
    return status, headers, read.read(int(headers["content-length"]))


def problem(read: Any, status: int) -> dict[str, Any]:
    seen, headers, body = answer(read)
    assert (seen, headers["content-type"], headers["connection"]) == (status, "application/problem+json", "close"), body
    assert headers["x-content-type-options"] == "nosniff"
    assert read.read() == b"", "the connection ends with it"
    message = json.loads(body)
    assert message["status"] == status
    assert message["request_id"] == headers["x-request-id"]
    return message


def slowest_answer_during(port: int, work: Callable[[], None]) -> float:
    """The slowest response to another client, in seconds, while `work` runs in a thread."""
    thread = threading.Thread(target=work)
    thread.start()
    slowest = 0.0
    with wire(port) as (sent, read):
        while True:
            started = time.perf_counter()
            sent.sendall(GET)
            assert answer(read)[0] == 200
            slowest = max(slowest, time.perf_counter() - started)
            if not thread.is_alive():
                break
            time.sleep(0.01)
    thread.join()
    return slowest


@pytest.mark.parametrize(
    ("start", "status"),
    [
        (b"GET / HTTP/1.1\r\nX: ", 431),
        (b"GET /", 414),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: ", 431),
    ],
    ids=["header", "request line", "trailer"],
)
def test_a_flood_in_one_line_is_refused_and_nobody_waits_for_it(port: int, start: bytes, status: int) -> None:
    seen = []

    def flood() -> None:
        with wire(port) as (sent, read):
            sent.sendall(start)
            with contextlib.suppress(OSError):  # the server stops to read at some time
                for _ in range(60):
                    sent.sendall(b"a" * MEBIBYTE)
            with contextlib.suppress(OSError, IndexError):
                seen.append(answer(read)[0])

    assert slowest_answer_during(port, flood) < 1
    with wire(port) as (sent, read):  # a client that stops soon sees the reason
        sent.sendall(start + b"a" * (4 * MAX_HEAD_BYTES))
        problem(read, status)
    assert set(seen) <= {status}


@pytest.mark.parametrize("line", [b"X: %s\r\n", b"a:%s\r\n" * 8], ids=["one long", "several"])
def test_64_kib_of_headers_are_taken_and_more_are_not(port: int, line: bytes) -> None:
    times = line.count(b"%s")
    for length, status in ((MAX_HEAD_BYTES - 512, 200), (MAX_HEAD_BYTES + 512, 431)):
        value = (b"v" * (length // times),) * times
        with wire(port) as (sent, read):
            sent.sendall(GET[:-2] + line % value + b"\r\n")
            assert answer(read)[0] == status
    many = b"".join(b"h%d: v\r\n" % number for number in range(10_000))
    with wire(port) as (sent, read):
        sent.sendall(GET[:-2] + many + b"\r\n")
        problem(read, 431)


def test_a_head_behind_a_long_body_is_counted_by_itself(port: int) -> None:
    body = b"b" * (3 * MAX_HEAD_BYTES + 17)
    first = b"POST /first HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    with wire(port) as (sent, read):
        for _ in range(3):
            sent.sendall(first + body + GET[:-2] + b"X: " + b"v" * (MAX_HEAD_BYTES - 512) + b"\r\n\r\n")
            assert answer(read)[2] == b"/first %d" % len(body)
            assert answer(read)[0] == 200


def test_what_came_before_a_flood_is_answered_first(port: int) -> None:
    with wire(port) as (sent, read):
        sent.sendall(GET * 20 + b"GET / HTTP/1.1\r\nX: " + b"a" * (3 * MAX_HEAD_BYTES))
        assert [answer(read)[0] for _ in range(20)] == [200] * 20
        assert read.readline() in (b"", b"HTTP/1.1 431 Request Header Fields Too Large\r\n")


def test_what_is_not_http_is_a_problem(port: int) -> None:
    with wire(port) as (sent, read):
        sent.sendall(b"\x16\x03\x01\x02\x00 no, TLS\r\n\r\n")
        assert problem(read, 400)["type"].endswith("malformed")


@pytest.mark.parametrize("before", [b"", GET], ids=["first", "second"])
def test_a_half_sent_head_ends_even_if_a_byte_comes_now_and_then(port: int, before: bytes) -> None:
    with wire(port) as (sent, read):
        if before:
            sent.sendall(before)
            answer(read)
        started = time.monotonic()
        sent.sendall(b"GET / HTTP/1.1\r\nX: ")
        sent.settimeout(0.1)
        while True:
            try:
                sent.sendall(b"a")
                if sent.recv(1, socket.MSG_PEEK):
                    break
            except TimeoutError:
                assert time.monotonic() - started < 3
        sent.settimeout(10)
        assert "CUBEYARD_HEAD_SECS" in problem(read, 408)["detail"]


def test_a_connection_without_a_request_ends(port: int) -> None:
    with wire(port) as (_, read):
        assert read.read() == b""


@pytest.mark.parametrize("chunked", [False, True])
def test_a_half_sent_body_ends_and_a_long_one_that_makes_progress_does_not(port: int, chunked: bool) -> None:
    length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: 100000"
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\n" + length + b"\r\n\r\n"
    with wire(port) as (stalled, reported), wire(port) as (slow, read):
        stalled.sendall(head + (b"1\r\nx\r\n" if chunked else b"x"))
        slow.sendall(head)
        started = time.monotonic()
        for _ in range(20):
            slow.sendall(b"1388\r\n" + b"x" * 5000 + b"\r\n" if chunked else b"x" * 5000)
            time.sleep(0.1)
        if chunked:
            slow.sendall(b"0\r\n\r\n")
        assert time.monotonic() - started > 3 * 0.6
        assert answer(read)[2] == b"/ 100000"
        assert "CUBEYARD_BODY_SECS" in problem(reported, 408)["detail"]


def test_a_body_that_the_application_reads_late_is_no_slow_one(port: int) -> None:
    with wire(port) as (sent, read):
        sent.sendall(b"POST /late HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n")
        sent.sendall(b"x" * 3_000_000)
        assert answer(read)[2] == b"/late 3000000"
    with wire(port) as (sent, read):
        head = b"POST /late HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        sent.sendall(head)
        assert read.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert read.readline() == b"\r\n"
        sent.sendall(b"abc")
        assert answer(read)[2] == b"/late 3"


def test_streams_and_websockets_outlive_the_limits_of_requests(port: int) -> None:
    with wire(port) as (sent, read), connect(f"ws://127.0.0.1:{port}/") as talk:
        sent.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        started = time.monotonic()
        while b"data: 7" not in read.readline():
            pass
        assert time.monotonic() - started > 0.6
        time.sleep(0.4)
        talk.send("still here")
        assert talk.recv(5) == "still here"


def test_more_connections_than_the_limit_end_those_that_say_nothing() -> None:
    with served(max_connections=4, head_secs=30) as port, contextlib.ExitStack() as held:
        silent = []
        for _ in range(4):
            silent.append(held.enter_context(wire(port)))
            silent[-1][0].sendall(b"GET / HT")
            time.sleep(0.02)
        with wire(port) as (sent, read):
            sent.sendall(GET)
            assert answer(read)[0] == 200
        assert silent[0][1].read() == b"", "the oldest went"
        busy = []
        for _ in range(4):  # the next go for requests under way, which stay
            busy.append(held.enter_context(wire(port)))
            busy[-1][0].sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n")
            time.sleep(0.05)
        with wire(port) as (sent, read):
            message, headers, body = answer(read)
            assert (message, headers["retry-after"]) == (503, "5")
            assert b"CUBEYARD_MAX_CONNECTIONS" in body
        for sent, read in busy:
            sent.sendall(b"hello")
            assert answer(read)[2] == b"/ 5"
