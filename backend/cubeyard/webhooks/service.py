"""The rules of webhooks: only to hosts that the setting lists, and a delivery commits with its
event."""

from __future__ import annotations

import base64
import secrets

from sqlalchemy.orm import Session

from cubeyard.kit.auth.who import actor
from cubeyard.kit.changes.service import ChangeLog
from cubeyard.kit.cursors import decode_cursor, encode_cursor
from cubeyard.kit.errors import ProblemError, field_error, not_found
from cubeyard.kit.ids import new_id
from cubeyard.kit.models import Model
from cubeyard.webhooks import schemas
from cubeyard.webhooks.hosts import Hosts
from cubeyard.webhooks.models import DeliveryRow, WebhookRow
from cubeyard.webhooks.queue import delivery_queue
from cubeyard.webhooks.repository import WebhookRepository

MAX_WEBHOOKS = 20
SECRET_BYTES = 32
KEY_PREFIX = "whsec_"


class WebhookEvents:
    """Records deliveries in the caller's transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._repository = WebhookRepository(session)

    def run_ended(self, data: schemas.RunEnded) -> None:
        self._record("run.ended", data)

    def plan_changed(self, plan_id: str, name: str, action: schemas.PlanAction, revision: int) -> None:
        who = actor(self._session)
        by = who.name if who is not None else None
        self._record(
            "plan.changed", schemas.PlanChanged(id=plan_id, name=name, action=action, revision=revision, by=by)
        )

    def _record(self, event: schemas.EventType, data: Model) -> None:
        for webhook in self._repository.subscribed(event):
            self.deliver(webhook, event, data)

    def deliver(self, webhook: WebhookRow, event: str, data: Model | None) -> DeliveryRow | None:
        """None if the webhook was deleted meanwhile."""
        body = schemas.body(event, self._repository.now(), data)
        row = self._repository.add_delivery(
            DeliveryRow(id=new_id(), webhook_id=webhook.id, event=event, body=body, state="queued")
        )
        if row is not None:
            row.queue_id = delivery_queue().put(self._session, row.id)
        return row


class WebhookService:
    def __init__(self, session: Session, hosts: Hosts, author: str) -> None:
        """`author`: the name of the caller."""
        self._session = session
        self._hosts = hosts
        self._author = author
        self._repository = WebhookRepository(session)
        self._log = ChangeLog(session)

    def create(self, request: schemas.WebhookCreate) -> schemas.NewWebhook:
        if not self._hosts:
            detail = "This server sends no webhooks. Set CUBEYARD_WEBHOOK_HOSTS to the hosts that it may call."
            raise ProblemError(409, "webhooks-off", detail)
        refusal = self._hosts.refusal(request.url)
        if refusal is not None:
            raise field_error("body.url", request.url, refusal.message, limit=refusal.limit, hint=refusal.hint)
        self._repository.lock_all()
        if len(self._repository.webhooks()) >= MAX_WEBHOOKS:
            raise ProblemError(409, "too-many-webhooks", f"There are {MAX_WEBHOOKS} webhooks. Delete one of them.")
        secret = KEY_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
        events = list(dict.fromkeys(request.events))
        row = self._repository.add(
            WebhookRow(id=new_id(), url=request.url, events=events, secret=secret, created_by=self._author)
        )
        self._log.record("webhook", "created", row.id, row.url, ", ".join(events))
        return schemas.NewWebhook(**_webhook(row).model_dump(), secret=secret)

    def list(self) -> schemas.WebhookList:
        return schemas.WebhookList(items=[_webhook(row) for row in self._repository.webhooks()])

    def read(self, webhook_id: str) -> schemas.Webhook:
        return _webhook(self._row(webhook_id))

    def delete(self, webhook_id: str) -> None:
        row = self._row(webhook_id)
        self._log.record("webhook", "deleted", row.id, row.url)
        for number in self._repository.delete(row):
            delivery_queue().remove(self._session, number)

    def test(self, webhook_id: str) -> schemas.Delivery:
        """Sends an event `test` without data."""
        row = WebhookEvents(self._session).deliver(self._row(webhook_id), "test", None)
        if row is None:
            raise not_found(f"webhook {webhook_id}")
        return _delivery(row)

    def deliveries(self, webhook_id: str, *, cursor: str | None, limit: int) -> schemas.DeliveryList:
        self._row(webhook_id)
        after = decode_cursor(cursor) if cursor is not None else None
        rows = self._repository.deliveries(webhook_id, after=after, limit=limit + 1)
        last = rows[limit - 1] if len(rows) > limit else None
        return schemas.DeliveryList(
            items=[_delivery(row) for row in rows[:limit]],
            next=encode_cursor(last.created_at, last.id) if last is not None else None,
        )

    def _row(self, webhook_id: str) -> WebhookRow:
        row = self._repository.webhook(webhook_id)
        if row is None:
            raise not_found(f"webhook {webhook_id}")
        return row


def _webhook(row: WebhookRow) -> schemas.Webhook:
    return schemas.Webhook.model_validate(row, from_attributes=True)


def _delivery(row: DeliveryRow) -> schemas.Delivery:
    return schemas.Delivery.model_validate(row, from_attributes=True)
