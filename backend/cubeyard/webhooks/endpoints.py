"""`/api/v1/webhooks`: programs that are called when a run ends or a plan changes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request

from cubeyard.kit.auth.who import actor
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import Id
from cubeyard.kit.routing import api_router
from cubeyard.kit.unit_of_work import UnitOfWork
from cubeyard.webhooks import schemas
from cubeyard.webhooks.hosts import Hosts
from cubeyard.webhooks.service import WebhookService

router = api_router("/webhooks", tags=["webhooks"])


def get_service(session: UnitOfWork, request: Request) -> WebhookService:
    author = actor(session)
    assert author is not None, "a request has a caller"
    return WebhookService(session, Hosts(request.app.state.settings.webhook_hosts), author.name)


Service = Annotated[WebhookService, Depends(get_service)]


@router.get("", operation_id="list_webhooks", summary="Webhooks, without their secrets", responses=responses())
def list_webhooks(service: Service) -> schemas.WebhookList:
    return service.list()


@router.post("", operation_id="create_webhook", summary="Create a webhook", status_code=201, responses=responses(409))
def create_webhook(service: Service, request: schemas.WebhookCreate) -> schemas.NewWebhook:
    """The setting `CUBEYARD_WEBHOOK_HOSTS` lists the hosts that may be called; without it there are
    no webhooks. The answer has the secret of the signatures."""
    return service.create(request)


@router.get("/{id}", operation_id="read_webhook", summary="A webhook", responses=responses(404))
def read_webhook(service: Service, id: Id) -> schemas.Webhook:
    return service.read(id)


@router.delete(
    "/{id}",
    operation_id="delete_webhook",
    summary="Delete a webhook and its deliveries",
    status_code=204,
    responses=responses(404),
)
def delete_webhook(service: Service, id: Id) -> None:
    service.delete(id)


@router.post(
    "/{id}/test",
    operation_id="test_webhook",
    summary="Send an event of type test",
    status_code=202,
    responses=responses(404),
)
def test_webhook(service: Service, id: Id) -> schemas.Delivery:
    """It is sent in the background; the list of deliveries has the result."""
    return service.test(id)


@router.get(
    "/{id}/deliveries",
    operation_id="list_webhook_deliveries",
    summary="The deliveries of a webhook, the latest first",
    responses=responses(404),
)
def list_webhook_deliveries(
    service: Service,
    id: Id,
    cursor: Annotated[str | None, Query(max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> schemas.DeliveryList:
    """Deliveries of the last seven days. One is sent until a 2xx answer, with growing waits; the
    same event can arrive twice with the same `webhook-id`."""
    return service.deliveries(id, cursor=cursor, limit=limit)
