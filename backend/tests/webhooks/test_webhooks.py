"""Webhooks from end to end: events arrive signed at a real HTTP server, failures are retried, and
no crash loses one."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select
from typer.testing import CliRunner

from cubeyard.cli.command import app as program
from cubeyard.engine import Engine
from cubeyard.kit import roles
from cubeyard.kit.db import Database
from cubeyard.plans import schemas
from cubeyard.plans.service import PlanService
from cubeyard.settings import Settings
from cubeyard.webhooks.models import DeliveryRow
from cubeyard.webhooks.sender import MAX_WAIT_SECS, wait_secs
from tests.api.test_auth import bearer
from tests.conftest import SMALL
from tests.kit.test_roles import logins
from tests.runs.conftest import start, start_worker, sweep
from tests.webhooks.receiver import Receiver

Json = dict[str, Any]
API = "/api/v1"
WEBHOOKS = f"{API}/webhooks"
LOOPBACK = "127.0.0.1"
BIGGER = {"family": "bcube", "n": 5, "k": 1}
_ = start_worker, logins


@pytest.fixture
def settings(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr("cubeyard.worker.POLL_SECS", 0.2)
    return settings.model_copy(
        update={"webhook_hosts": [LOOPBACK], "webhook_retry_secs": 0.1, "webhook_attempts": 3, "webhook_secs": 30.0}
    )


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as opened:
        yield opened


def create(client: TestClient, receiver: Receiver, *events: str) -> Json:
    answer = client.post(
        WEBHOOKS, json={"url": f"{receiver.url}/hook?from=cubeyard", **({"events": events} if events else {})}
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def deliveries(client: TestClient, webhook: Json) -> list[Json]:
    return client.get(f"{WEBHOOKS}/{webhook['id']}/deliveries").json()["items"]


def wait_for(client: TestClient, webhook: Json, *states: str, seconds: float = 300) -> list[Json]:
    deadline = time.monotonic() + seconds
    while True:
        items = deliveries(client, webhook)
        if items and all(item["state"] in states for item in items):
            return items
        assert time.monotonic() < deadline, items
        time.sleep(0.05)


def saved(client: TestClient) -> str:
    return client.post(f"{API}/plans", json={"name": "Yard", "spec": SMALL}).json()["id"]


def test_changes_of_plans_and_ends_of_runs_arrive_signed(working_client: TestClient, receiver: Receiver) -> None:
    webhook = create(working_client, receiver)
    plan = saved(working_client)
    path = f"{API}/plans/{plan}"
    working_client.patch(path, json={"name": "Yard two"})
    working_client.patch(path, json={"spec": BIGGER, "base_revision": 1})
    working_client.patch(path, json={"spec": BIGGER, "base_revision": 2})
    working_client.post(f"{path}/revert", json={"revision": 1})
    working_client.delete(path)
    receiver.wait_for(5)
    run = start(working_client, **sweep(1))
    received = receiver.wait_for(6)
    for item in received:
        item.verify(webhook["secret"])
        assert (item.path, item.headers["content-type"]) == ("/hook?from=cubeyard", "application/json")
    assert len({item.headers["webhook-id"] for item in received}) == 6
    changes = [item.event for item in received if item.event["type"] == "plan.changed"]
    assert sorted((change["data"]["revision"], change["data"]["action"]) for change in changes) == [
        (1, "created"), (1, "renamed"), (2, "revised"), (3, "deleted"), (3, "reverted"),
    ]  # fmt: skip
    assert {change["data"]["id"] for change in changes} == {plan}
    assert {change["data"]["by"] for change in changes} == {"this machine"}
    (end,) = [item.event["data"] for item in received if item.event["type"] == "run.ended"]
    assert (end["id"], end["state"], end["kind"]) == (run["id"], "succeeded", run["kind"])
    assert {item["state"] for item in wait_for(working_client, webhook, "delivered")} == {"delivered"}


def test_only_the_subscribed_events_are_sent(working_client: TestClient, receiver: Receiver) -> None:
    webhook = create(working_client, receiver, "run.ended")
    saved(working_client)
    run = start(working_client, **sweep(50))
    working_client.post(f"{API}/runs/{run['id']}/cancel")
    (received,) = receiver.wait_for(1)
    assert (received.event["type"], received.event["data"]["state"]) == ("run.ended", "cancelled")
    assert len(deliveries(working_client, webhook)) == 1


def test_a_failed_attempt_is_repeated_and_a_redirect_is_one(working_client: TestClient, receiver: Receiver) -> None:
    receiver.statuses = [500, 302]
    webhook = create(working_client, receiver, "plan.changed")
    saved(working_client)
    (delivery,) = wait_for(working_client, webhook, "delivered", "failed")
    assert (delivery["state"], delivery["attempts"], delivery["status"], delivery["error"]) == (
        "delivered",
        3,
        200,
        None,
    )
    assert [item.path for item in receiver.received] == ["/hook?from=cubeyard"] * 3
    assert len({(item.headers["webhook-id"], item.body) for item in receiver.received}) == 1
    for item in receiver.received:
        item.verify(webhook["secret"])


def test_after_the_last_attempt_a_delivery_has_failed(working_client: TestClient, receiver: Receiver) -> None:
    receiver.statuses = [503] * 10
    webhook = create(working_client, receiver, "plan.changed")
    saved(working_client)
    (delivery,) = wait_for(working_client, webhook, "failed")
    assert (delivery["attempts"], delivery["status"], delivery["next_at"]) == (3, 503, None)
    assert "503" in delivery["error"]
    assert len(receiver.received) == 3


def test_waits_grow_up_to_a_limit() -> None:
    waits = [wait_secs(attempts, 10.0) for attempts in range(1, 20)]
    assert waits[:3] == [10, 40, 160]
    assert waits == sorted(waits)
    assert waits[-1] == MAX_WAIT_SECS


def test_a_worker_that_is_killed_during_an_attempt_loses_no_event(
    client: TestClient, receiver: Receiver, start_worker: Callable[..., subprocess.Popen[bytes]]
) -> None:
    webhook = create(client, receiver, "plan.changed")
    saved(client)
    receiver.released.clear()
    worker = start_worker(CUBEYARD_WEBHOOK_HOSTS=LOOPBACK)
    receiver.wait_for(1)
    worker.kill()
    worker.wait()
    (delivery,) = deliveries(client, webhook)
    assert (delivery["state"], delivery["attempts"]) == ("queued", 1)
    receiver.released.set()
    start_worker(CUBEYARD_WEBHOOK_HOSTS=LOOPBACK)
    (delivery,) = wait_for(client, webhook, "delivered")
    assert delivery["attempts"] == 2
    first, second = receiver.received
    assert (first.headers["webhook-id"], first.body) == (second.headers["webhook-id"], second.body)
    second.verify(webhook["secret"])


def test_a_worker_without_the_setting_sends_nothing(
    client: TestClient, receiver: Receiver, start_worker: Callable[..., subprocess.Popen[bytes]]
) -> None:
    webhook = create(client, receiver)
    saved(client)
    assert start_worker("--until-idle").wait(300) == 0
    assert [item["state"] for item in deliveries(client, webhook)] == ["queued"]
    assert start_worker("--until-idle", CUBEYARD_WEBHOOK_HOSTS=LOOPBACK).wait(300) == 0
    assert [item["state"] for item in deliveries(client, webhook)] == ["delivered"]


def test_a_worker_with_its_own_login_records_and_sends(
    client: TestClient,
    receiver: Receiver,
    logins: dict[str, str],
    start_worker: Callable[..., subprocess.Popen[bytes]],
) -> None:
    webhook = create(client, receiver)
    start(client, **sweep(1))
    worker = start_worker("--until-idle", DATABASE_URL=logins[roles.WORKER], CUBEYARD_WEBHOOK_HOSTS=LOOPBACK)
    assert worker.wait(300) == 0
    assert [item["state"] for item in deliveries(client, webhook)] == ["delivered"]
    assert [item.event["type"] for item in receiver.received] == ["run.ended"]


def test_a_change_that_is_rolled_back_sends_nothing(
    client: TestClient, receiver: Receiver, database: Database, engine: Engine
) -> None:
    create(client, receiver)

    def half_done() -> None:
        with database.session() as session:
            PlanService(session, engine).create(schemas.PlanCreate(name="Never", spec=SMALL))
            assert session.scalar(select(func.count()).select_from(DeliveryRow)) == 1
            raise InterruptedError

    with pytest.raises(InterruptedError):
        half_done()
    with database.session() as session:
        assert session.scalar(select(func.count()).select_from(DeliveryRow)) == 0


def test_a_deleted_webhook_is_not_called(
    client: TestClient, receiver: Receiver, start_worker: Callable[..., subprocess.Popen[bytes]]
) -> None:
    webhook = create(client, receiver)
    saved(client)
    assert client.delete(f"{WEBHOOKS}/{webhook['id']}").status_code == 204
    assert client.get(f"{WEBHOOKS}/{webhook['id']}").status_code == 404
    assert start_worker("--until-idle", CUBEYARD_WEBHOOK_HOSTS=LOOPBACK).wait(300) == 0
    assert receiver.received == []


def test_a_test_event_is_sent_at_once(working_client: TestClient, receiver: Receiver) -> None:
    webhook = create(working_client, receiver, "run.ended")
    assert working_client.post(f"{WEBHOOKS}/{webhook['id']}/test").status_code == 202
    (received,) = receiver.wait_for(1)
    assert (received.event["type"], received.event["data"]) == ("test", {})


def test_a_secret_is_shown_once_and_the_log_has_who_made_a_webhook(client: TestClient, receiver: Receiver) -> None:
    webhook = create(client, receiver)
    assert webhook["secret"].startswith("whsec_")
    others = [client.get(WEBHOOKS), client.get(f"{WEBHOOKS}/{webhook['id']}")]
    assert all(answer.status_code == 200 and webhook["secret"] not in answer.text for answer in others)
    log = client.get(f"{API}/changes", params={"kind": "webhook"})
    assert [(item["action"], item["subject"]) for item in log.json()["items"]] == [("created", webhook["id"])]
    assert webhook["secret"] not in log.text
    token = client.post(f"{API}/tokens", json={"name": "reader", "read_only": True}).json()["token"]
    assert client.post(WEBHOOKS, json={"url": f"{receiver.url}/"}, headers=bearer(token)).status_code == 403


def test_no_other_host_can_be_entered(client: TestClient) -> None:
    for url in ("http://127.0.0.2/", "https://example.org/", "http://localhost/", "http://x@127.0.0.1/", "nothing"):
        answer = client.post(WEBHOOKS, json={"url": url})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "body.url")
    assert client.get(WEBHOOKS).json()["items"] == []


def test_without_the_setting_there_are_no_webhooks(client: TestClient, settings: Settings) -> None:
    settings.webhook_hosts.clear()
    answer = client.post(WEBHOOKS, json={"url": "https://example.org/"})
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:cubeyard:problem:webhooks-off")
    assert "CUBEYARD_WEBHOOK_HOSTS" in answer.json()["detail"]


def test_the_command_line_makes_lists_tests_and_deletes_them(
    database: Database, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database.conninfo)
    monkeypatch.setenv("CUBEYARD_WEBHOOK_HOSTS", LOOPBACK)

    def webhook(*words: str) -> str:
        done = CliRunner().invoke(program, ["webhook", *words])
        assert done.exit_code == 0, done.output
        return done.output

    assert "whsec_" in webhook("create", f"{receiver.url}/hook", "--event", "run.ended")
    listed = webhook("list")
    assert "run.ended" in listed
    assert "plan.changed" not in listed
    webhook_id = listed.splitlines()[1].split()[0]
    webhook("test", webhook_id)
    assert '"state": "queued"' in webhook("deliveries", webhook_id, "--json")
    webhook("delete", webhook_id)
    assert webhook_id not in webhook("list")
    refused = CliRunner().invoke(program, ["webhook", "create", "https://example.org/"])
    assert refused.exit_code == 2
    assert "CUBEYARD_WEBHOOK_HOSTS" in refused.output
