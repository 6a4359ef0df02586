"""Streams over real connections: every kind of client gets every frame exactly once."""

from __future__ import annotations

import http.client
import threading
import time
from urllib.parse import urlsplit

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from cubeyard.kit.db import Database
from cubeyard.runs import repository
from tests.conftest import LONG_RUN
from tests.processes import Server
from tests.runs.conftest import API, Follower, ended, start, sweep, wait_for

CLIENTS = 100 if LONG_RUN else 9


def _follow(followers: list[Follower]) -> list[threading.Thread]:
    threads = [threading.Thread(target=follower.follow) for follower in followers]
    for thread in threads:
        thread.start()
    return threads


def _ends_whole(followers: list[Follower], last_seq: int) -> None:
    first = followers[0].got
    assert [seq for seq, _, _ in first] == list(range(1, last_seq + 1))
    for follower in followers:
        assert follower.got == first


def _hears_of_the_end_of_a_run_that_waits(client: TestClient, live: Server) -> None:
    """After a quiet time another process ends the run, and the stream reports it at once."""
    busy = start(client, **sweep(250))
    waiting = start(client, **sweep(1))
    follower = Follower(live.base, waiting["id"])
    (thread,) = _follow([follower])
    deadline = time.monotonic() + 30
    while not follower.got:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(1.0)  # real time is the subject: a stream on which nothing happens
    assert [name for _, name, _ in follower.got] == ["state"]
    client.post(f"{API}/runs/{waiting['id']}/cancel")
    thread.join(timeout=10)
    assert not thread.is_alive(), "told by a notification: without one the stream looks again after 15 s"
    assert follower.got[-1][2]["state"] == "cancelled"
    client.post(f"{API}/runs/{busy['id']}/cancel")


def test_every_client_gets_every_frame_once_and_hears_of_an_end_at_once(client: TestClient, live: Server) -> None:
    """A third read as fast as they can, a third are slow, a third are cut off again and again; one
    comes when it is all over."""
    run = start(client, **sweep(25 if LONG_RUN else 15))
    followers = [
        Follower(
            live.base,
            run["id"],
            pause_secs=0.04 if number % 3 == 1 else 0.0,
            cut_after=4 + number % 25 if number % 3 == 2 else None,
        )
        for number in range(CLIENTS)
    ]
    threads = _follow(followers)
    done = wait_for(client, run["id"], ended)
    assert done["state"] == "succeeded", live.said()
    assert live.call("GET", "/healthz")[0] == 200, "others are served meanwhile"
    for thread in threads:
        thread.join(timeout=60)
    late = Follower(live.base, run["id"])
    late.follow()
    _ends_whole([*followers, late], done["last_seq"])
    assert all(follower.connections > 2 for follower in followers if follower.cut_after)
    assert any(follower.progress for follower in followers), "in between they hear how far it is"
    assert late.connections == 2, "the second time it is told not to come back"
    _hears_of_the_end_of_a_run_that_waits(client, live)


@pytest.mark.long
def test_a_lost_listening_connection_loses_no_frame(client: TestClient, live: Server, database: Database) -> None:
    run = start(client, **sweep(40))
    followers = [Follower(live.base, run["id"]) for _ in range(3)]
    threads = _follow(followers)
    wait_for(client, run["id"], lambda now: now["points_done"] > 2 and all(follower.got for follower in followers))
    with database.session() as session:
        ears = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN \"cubeyard_runs\"%'"
        assert list(session.scalars(text(ears))) == [True], "one connection for all streams"
    done = wait_for(client, run["id"], ended)
    for thread in threads:
        thread.join(timeout=60)
    _ends_whole(followers, done["last_seq"])


@pytest.mark.long
def test_a_client_that_never_reads_holds_nobody_up(client: TestClient, live: Server) -> None:
    stuck = []
    run = start(client, **{**sweep(10), "link_load": True})  # large frames fill the connection soon
    for _ in range(8):
        place = urlsplit(live.base)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
        connection.request("GET", f"{API}/runs/{run['id']}/events")
        stuck.append(connection)
    follower = Follower(live.base, run["id"])
    follower.follow()
    done = wait_for(client, run["id"], ended)
    _ends_whole([follower], done["last_seq"])
    for item in stuck:
        item.close()


@pytest.mark.long
def test_a_server_told_to_stop_does_not_wait_for_its_streams(client: TestClient, live: Server) -> None:
    run = start(client, **sweep(250))
    place = urlsplit(live.base)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    connection.request("GET", f"{API}/runs/{run['id']}/events")
    assert b"event: state" in connection.getresponse().read(200)
    # Real time is the subject: the run, and so its stream, would last for minutes.
    live.process.terminate()
    assert live.process.wait(timeout=20) == 0, live.said()
    connection.close()
    assert client.get(f"{API}/runs/{run['id']}").json()["state"] == "queued", "handed on"


def test_what_is_long_ago_is_told_in_seconds_if_asked(
    client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "RECENT_FRAMES", 33)
    run = start(client, **sweep(1))["id"]
    with database.session() as session:
        runs = repository.RunRepository(session)
        row = runs.run(run, lock=True)
        assert row is not None
        for number in range(10 * 11):
            runs.append(row, "tick" if (number + 1) % 11 else "second", {"number": number, "text": "0123456789"}, 40)
    client.post(f"{API}/runs/{run}/cancel")

    def told(query: str) -> list[tuple[int, str, str]]:
        text = client.get(f"{API}/runs/{run}/events{query}").text
        lines = [block.splitlines() for block in text.split("\n\n") if "id: " in block]
        return [(int(_field(line, "id")), _field(line, "event"), _field(line, "data")) for line in lines]

    every, brief = told(""), told("?older=seconds")
    assert [seq for seq, _, _ in every] == list(range(1, 113)), "the queued state, eleven a second, and the end"
    assert every[1][2] == '{"number":0,"text":"0123456789"}', "as it was made, without a space"
    seconds = [item for item in every if item[1] == "second"]
    begin = brief.index(seconds[6])
    assert [item for item in brief[:begin] if item[1] != "state"] == seconds[:6]
    assert brief[begin:] == every[every.index(seconds[6]) :], "the last three seconds are whole"
    assert told("?older=seconds&after=90") == told("?after=90")


def _field(lines: list[str], name: str) -> str:
    return next(line.removeprefix(f"{name}: ") for line in lines if line.startswith(f"{name}: "))
