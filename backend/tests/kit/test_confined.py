"""Readers in separate processes: their results, their limits, and that they end with their
caller."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import Request

from cubeyard.kit.confined.forks import ReaderLimits
from cubeyard.kit.confined.readers import AT_ONCE, WAITING, Forks, Readers
from cubeyard.kit.errors import ProblemError
from tests.kit import hostile_readers
from tests.kit.hostile_readers import (
    MEBIBYTE,
    broken,
    crashing,
    echo,
    endless,
    greedy,
    refusing,
    told_and_waiting,
    waiting,
    wordy,
)


@pytest.fixture(scope="module")
def readers() -> Iterator[Readers]:
    forks = Forks()
    made = Readers(ReaderLimits(secs=0.5, memory_bytes=64 * MEBIBYTE), forks)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CUBEYARD_TOKEN", "kept to ourselves")
        patched.setenv("DATABASE_URL", "postgresql://somebody:secret@localhost/x")
        made.run(echo, (b"",))  # its program has started
    yield made
    forks.close()


def with_limits(readers: Readers, secs: float) -> Readers:
    """Others, of the same program."""
    return Readers(ReaderLimits(secs, memory_bytes=64 * MEBIBYTE), readers._forks)


def outcome(readers: Readers, reader: object) -> ProblemError:
    with pytest.raises(ProblemError) as error:
        readers.run(reader, (b"",))  # type: ignore[arg-type]
    return error.value


def test_a_reader_gives_what_it_returns_from_another_process(readers: Readers) -> None:
    process, data, more = readers.run(echo, (b"0123456789" * MEBIBYTE, {"a": 1}, None))
    assert (process != os.getpid(), data, more) == (True, b"0123456789", ({"a": 1}, None))
    assert readers.run(hostile_readers.secrets, (b"",)) == []


def test_the_problem_of_a_reader_is_the_request_s(readers: Readers) -> None:
    problem = outcome(readers, refusing)
    assert (problem.status, problem.code, problem.detail) == (418, "teapot", "No.")
    assert [(error.field, error.line) for error in problem.errors] == [("body.x", 3)]


@pytest.mark.parametrize(
    ("reader", "said"),
    [
        (endless, "longer than 0.5 s, the limit here (CUBEYARD_READER_SECS)"),
        (greedy, "more than 64 MiB of memory, the limit here (CUBEYARD_READER_BYTES)"),
        (broken, "damaged"),
        (crashing, "damaged"),
    ],
)
def test_a_file_that_costs_too_much_or_breaks_its_reader_is_a_422(readers: Readers, reader: object, said: str) -> None:
    started = time.monotonic()
    problem = outcome(readers, reader)
    assert (problem.status, problem.code) == (422, "invalid")
    assert said in problem.detail
    assert problem.errors[0].field == "body"
    assert time.monotonic() - started < 2


def test_a_result_may_be_larger_than_the_time_between_two_looks(
    readers: Readers, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(readers.run(wordy, (b"",))) == 2
    monkeypatch.setattr("cubeyard.kit.confined.readers.MAX_RESULT_BYTES", MEBIBYTE)
    assert "READER_BYTES" in outcome(readers, wordy).detail


def test_a_copy_begins_within_milliseconds(readers: Readers) -> None:
    took = []
    for _ in range(9):
        started = time.perf_counter()
        readers.run(echo, (b"",))
        took.append(time.perf_counter() - started)
    assert min(took) < 0.1, "20 ms and more would be new interpreters"


def test_the_program_that_forks_starts_again_if_it_was_ended(readers: Readers) -> None:
    program = readers._forks._program
    assert program is not None
    os.kill(program.pid, signal.SIGKILL)
    program.wait()
    assert readers.run(echo, (b"again",))[1] == b"again"
    for item in (signal.SIGINT, signal.SIGTERM):  # meant for the server, as Ctrl-C in its terminal
        assert readers._forks._program is not None
        os.kill(readers._forks._program.pid, item)
    assert readers.run(echo, (b"still",))[1] == b"still"


def _gone(process: int) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_a_reader_ends_when_its_client_has_left(readers: Readers, tmp_path: Path) -> None:
    patient = with_limits(readers, 60)
    reported = tmp_path / "pid"

    async def receive() -> dict[str, str]:
        while not (reported.exists() and reported.read_text()):  # noqa: ASYNC110 - written by another process
            await asyncio.sleep(0.02)
        return {"type": "http.disconnect"}

    async def ask() -> None:
        request = Request({"type": "http", "method": "POST", "headers": []}, receive)  # type: ignore[arg-type]
        await patient.read(request, told_and_waiting, os.fsencode(reported))

    with pytest.raises(ProblemError) as left:
        asyncio.run(ask())
    assert left.value.code == "client-left"
    assert _gone(int(reported.read_text()))


def test_others_go_on_while_files_are_read_and_too_many_are_told_to_come_back(readers: Readers) -> None:
    longest = 0.0

    async def receive() -> dict[str, str]:
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def ask() -> str:
        request = Request({"type": "http", "method": "POST", "headers": []}, receive)  # type: ignore[arg-type]
        try:
            await readers.read(request, waiting, b"")
        except ProblemError as error:
            return error.code
        return "read"

    async def many() -> list[str]:
        nonlocal longest
        request = []
        for _ in range(AT_ONCE + WAITING + 3):
            request.append(asyncio.create_task(ask()))
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        while any(not item.done() for item in request[: AT_ONCE + 1]):
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)
        for item in request[AT_ONCE + 1 :]:
            item.cancel()
        return [item.result() for item in request if item.done() and not item.cancelled()]

    codes = asyncio.run(many())
    assert codes.count("busy") == 3
    assert codes.count("invalid") >= AT_ONCE + 1
    assert longest < 1


def test_copies_end_with_a_server_that_is_gone(readers: Readers, tmp_path: Path) -> None:
    """The program that forks sees the end of its socket; copies at work have their time."""
    reported = tmp_path / "pid"
    asking = threading.Thread(target=lambda: outcome_of(readers, reported))
    asking.start()
    while not (reported.exists() and reported.read_text()):
        time.sleep(0.02)
    program, control = readers._forks._program, readers._forks._control
    assert program is not None
    assert control is not None
    control.shutdown(socket.SHUT_RDWR)
    assert program.wait(5) == 0
    asking.join()
    assert _gone(int(reported.read_text()))


def outcome_of(readers: Readers, told: Path) -> None:
    with pytest.raises(ProblemError):
        readers.run(told_and_waiting, (os.fsencode(told),))
