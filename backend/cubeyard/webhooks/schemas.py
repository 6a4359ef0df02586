"""Requests and answers of webhooks, and the data of each event."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from cubeyard.kit.models import Model

EventType = Literal["run.ended", "plan.changed"]
PlanAction = Literal["created", "renamed", "revised", "reverted", "deleted"]
DeliveryState = Literal["queued", "delivered", "failed"]
MAX_URL_CHARACTERS = 500


class WebhookCreate(Model):
    model_config = ConfigDict(extra="forbid")

    url: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_URL_CHARACTERS,
            description="Where events are sent by POST: http or https, to a host that the server's setting lists.",
            examples=["https://hooks.example.org/cubeyard"],
        ),
    ]
    events: list[EventType] = Field(
        default=["run.ended", "plan.changed"], min_length=1, max_length=2, description="The events to send."
    )


class Webhook(Model):
    id: str
    url: str
    events: list[EventType]
    created_by: str = Field(description="The name of the token that it was made with.")
    created_at: datetime


class NewWebhook(Webhook):
    secret: str = Field(
        description="The key of its signatures: base64 after `whsec_`. It is shown this once and cannot be read again."
    )


class WebhookList(Model):
    items: list[Webhook]


class Delivery(Model):
    id: str = Field(description="The header `webhook-id`, the same for every attempt.")
    event: str = Field(description="`run.ended`, `plan.changed` or `test`.")
    state: DeliveryState
    attempts: int
    status: int | None = Field(description="The HTTP status of the latest attempt; null without an answer.")
    error: str | None = Field(description="Why the latest attempt failed.")
    created_at: datetime
    next_at: datetime | None = Field(description="When the next attempt is due; null if there is none.")
    finished_at: datetime | None


class DeliveryList(Model):
    items: list[Delivery] = Field(description="The latest first.")
    next: str | None = Field(description="The `cursor` of the next page; null on the last one.")


class RunEnded(Model):
    """The data of `run.ended`."""

    id: str
    title: str
    kind: str
    state: Literal["succeeded", "failed", "cancelled"]
    reason: str
    experiment_id: str | None
    figure: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime


class PlanChanged(Model):
    """The data of `plan.changed`."""

    id: str
    name: str
    action: PlanAction
    revision: int = Field(description="The latest one.")
    by: str | None = Field(description="The name of the token that it was changed with; null: the program itself.")


def body(event: str, at: datetime, data: Model | None) -> str:
    """The JSON text of a delivery."""
    content: dict[str, Any] = {} if data is None else data.model_dump(mode="json")
    return Body(type=event, timestamp=at, data=content).model_dump_json()


class Body(Model):
    """The body of every delivery."""

    type: str
    timestamp: datetime = Field(description="When it happened.")
    data: dict[str, Any]
