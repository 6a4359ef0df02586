"""The queue of deliveries."""

from __future__ import annotations

from functools import cache

from cubeyard.kit.queue import Work, WorkQueue

DELIVERIES = Work(
    queue="webhooks", namespace="cubeyard_webhooks", task="deliver", argument="delivery_id", done_by="deliver"
)


@cache
def delivery_queue() -> WorkQueue:
    return WorkQueue(DELIVERIES)
