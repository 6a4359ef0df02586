"""The SQL of webhooks and deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Text, cast, column, delete, func, select, table, tuple_
from sqlalchemy.exc import IntegrityError

from cubeyard.kit.db import Repository
from cubeyard.webhooks.models import DeliveryRow, WebhookRow


class WebhookRepository(Repository):
    def webhooks(self) -> Sequence[WebhookRow]:
        return self._session.scalars(select(WebhookRow).order_by(WebhookRow.created_at, WebhookRow.id)).all()

    def webhook(self, webhook_id: str) -> WebhookRow | None:
        return self._session.get(WebhookRow, webhook_id)

    def lock_all(self) -> None:
        """Other transactions that create a webhook wait until this one ends."""
        self._session.execute(select(func.pg_advisory_xact_lock(func.hashtext("webhooks"))))

    def subscribed(self, event: str) -> Sequence[WebhookRow]:
        query = select(WebhookRow).where(WebhookRow.events.contains([event]))
        return self._session.scalars(query.order_by(WebhookRow.id)).all()

    def add_delivery(self, row: DeliveryRow) -> DeliveryRow | None:
        """None if the webhook was deleted meanwhile. Workers may not lock it."""
        try:
            with self._session.begin_nested():
                return self.add(row)
        except IntegrityError:
            return None

    def delete(self, row: WebhookRow) -> Sequence[int]:
        """Deletes its deliveries too; returns the queue's numbers of the unsent ones."""
        query = select(DeliveryRow.queue_id).where(DeliveryRow.webhook_id == row.id, DeliveryRow.state == "queued")
        queued = [number for number in self._session.scalars(query) if number is not None]
        self._session.delete(row)
        self._session.flush()
        return queued

    def delivery(self, delivery_id: str, *, lock: bool = False) -> DeliveryRow | None:
        query = select(DeliveryRow).where(DeliveryRow.id == delivery_id).execution_options(populate_existing=True)
        return self._session.scalars(query.with_for_update() if lock else query).one_or_none()

    def deliveries(self, webhook_id: str, *, after: tuple[datetime, str] | None, limit: int) -> Sequence[DeliveryRow]:
        """The latest first, after that one."""
        query = select(DeliveryRow).where(DeliveryRow.webhook_id == webhook_id)
        if after is not None:
            query = query.where(tuple_(DeliveryRow.created_at, DeliveryRow.id) < after)
        query = query.order_by(DeliveryRow.created_at.desc(), DeliveryRow.id.desc()).limit(limit)
        return self._session.scalars(query).all()

    def any_due(self) -> bool:
        query = select(DeliveryRow.id).where(
            DeliveryRow.state == "queued", DeliveryRow.next_at <= func.clock_timestamp()
        )
        return self._session.scalars(query.limit(1)).first() is not None

    def orphans(self, age: timedelta) -> Sequence[DeliveryRow]:
        """Deliveries that have been due for that long and that the queue does not have: the worker
        died during the attempt, or the queue was emptied."""
        queue = table("procrastinate_jobs", column("id"), column("status"))
        waiting = select(queue.c.id).where(
            queue.c.id == DeliveryRow.queue_id, cast(queue.c.status, Text).in_(["todo", "doing"])
        )
        query = (
            select(DeliveryRow)
            .where(
                DeliveryRow.state == "queued",
                DeliveryRow.next_at < func.clock_timestamp() - age,
                ~waiting.exists(),
            )
            .with_for_update(skip_locked=True)
        )
        return self._session.scalars(query).all()

    def delete_created_before(self, age: timedelta) -> Sequence[int]:
        """Returns the queue's numbers of the unsent ones."""
        old = delete(DeliveryRow).where(DeliveryRow.created_at < func.clock_timestamp() - age)
        gone = self._session.execute(old.returning(DeliveryRow.queue_id, DeliveryRow.state)).all()
        return [number for number, state in gone if number is not None and state == "queued"]
