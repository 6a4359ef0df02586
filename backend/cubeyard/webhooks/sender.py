"""The worker's side: sends deliveries, repeats failed ones with growing waits, and puts deliveries
of dead workers back into the queue."""

from __future__ import annotations

from datetime import timedelta

import structlog
from sqlalchemy.orm import Session

from cubeyard.kit.db import Database
from cubeyard.settings import Settings
from cubeyard.webhooks.hosts import Hosts
from cubeyard.webhooks.models import DeliveryRow
from cubeyard.webhooks.queue import delivery_queue
from cubeyard.webhooks.repository import WebhookRepository
from cubeyard.webhooks.sending import headers, post

log = structlog.get_logger(__name__)

GROWTH = 4
"""Each wait is this many times the one before."""
MAX_WAIT_SECS = 6 * 3600.0
KEPT = timedelta(days=7)
"""Deliveries are deleted after that, whatever became of them."""
MAX_ERROR_CHARACTERS = 500


def wait_secs(attempts: int, first_secs: float) -> float:
    """The wait after that many failed attempts. [ours]"""
    return min(first_secs * GROWTH ** (attempts - 1), MAX_WAIT_SECS)


class Sender:
    """Does one attempt of a delivery, by its id. Safe to call again for one that was left half
    done."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._hosts = Hosts(settings.webhook_hosts)
        self._database = database

    def __call__(self, delivery_id: str) -> None:
        with self._database.session() as session:
            repository = WebhookRepository(session)
            row = repository.delivery(delivery_id, lock=True)
            webhook = repository.webhook(row.webhook_id) if row is not None else None
            if row is None or webhook is None or row.state != "queued":
                return
            row.attempts += 1
            attempt, body = row.attempts, row.body
            signed = headers(webhook.secret, row.id, int(repository.now().timestamp()), body)
            url = webhook.url
        # The receiver may be slow: no connection to the database is held meanwhile.
        status, error = post(self._hosts, url, body, signed, self._settings.webhook_secs)
        with self._database.session() as session:
            row = WebhookRepository(session).delivery(delivery_id, lock=True)
            if row is None or row.state != "queued" or row.attempts != attempt:
                return
            self._record(session, row, status, error)
            log.info("webhook_sent", delivery=row.id, attempt=attempt, state=row.state, status=status, error=error)

    def _record(self, session: Session, row: DeliveryRow, status: int | None, error: str) -> None:
        now = WebhookRepository(session).now()
        row.status, row.error = status, error[:MAX_ERROR_CHARACTERS] or None
        if not error or row.attempts >= self._settings.webhook_attempts:
            row.state, row.finished_at, row.next_at = "failed" if error else "delivered", now, None
            return
        secs = wait_secs(row.attempts, self._settings.webhook_retry_secs)
        row.next_at = now + timedelta(seconds=secs)
        row.queue_id = delivery_queue().put(session, row.id, delay_secs=secs)


class DeliveryReaper:
    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._lease = timedelta(seconds=settings.job_lease_secs)
        self._database = database

    def once(self) -> None:
        with self._database.session() as session:
            repository = WebhookRepository(session)
            for row in repository.orphans(self._lease):
                if row.attempts >= self._settings.webhook_attempts:
                    row.state, row.error = "failed", "The worker died during the last attempt."
                    row.finished_at, row.next_at = repository.now(), None
                else:
                    row.queue_id = delivery_queue().put(session, row.id)
                    row.next_at = repository.now()
                log.warning("delivery_adopted", delivery=row.id, state=row.state)
            for number in repository.delete_created_before(KEPT):
                delivery_queue().remove(session, number)
