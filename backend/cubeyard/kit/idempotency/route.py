"""The route that does a request with an `Idempotency-Key` once, and the header's description."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from fastapi.routing import APIRoute
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from cubeyard.kit.errors import ProblemError, field_error
from cubeyard.kit.idempotency.repository import KeyRepository

HEADER = "Idempotency-Key"
LIMIT = "1 to 255 printable ASCII characters"
_KEY = re.compile(r"[!-~]([ -~]{0,253}[!-~])?")
CREATED = frozenset({201, 202})
CREATING = frozenset({"revert_plan", "import_prices"})
"""Operations that make a revision or a version, and answer with 200."""
SECRET = frozenset({"create_token", "create_webhook"})
"""Operations whose answers are not kept."""

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


def creates(method: str, operation: str | None, statuses: Iterable[int]) -> bool:
    return method == "POST" and (operation in CREATING or not CREATED.isdisjoint(statuses))


class _AnsweredError(Exception):
    """The request was done before."""

    def __init__(self, response: Response) -> None:
        self.response = response


class KeyedRoute(APIRoute):
    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()
        if not creates(min(self.methods or {"GET"}), self.operation_id, [self.status_code or 200]):
            return handle

        async def once(request: Request) -> Response:
            key = request.headers.get(HEADER)
            return await (handle(request) if key is None else _once(handle, request, key, self.operation_id))

        return once


async def _once(handle: Handler, request: Request, key: str, operation: str | None) -> Response:
    if _KEY.fullmatch(key) is None:
        raise field_error(
            f"header.{HEADER}",
            key,
            f"The key is not {LIMIT}.",
            limit=LIMIT,
            hint="Give a random UUID for each request.",
        )
    identity = getattr(request.state, "identity", None)
    place = {"owner": getattr(identity, "token_id", None) or "", "key": key}
    address = f"{request.method} {request.scope['path']}?{request.scope['query_string'].decode('latin-1')}\n"
    digest = hashlib.sha256(address.encode() + await request.body()).hexdigest()
    begun: list[Session] = []

    def begin(session: Session) -> None:
        _refuse_or_repeat(KeyRepository(session), place, digest)
        begun.append(session)

    request.state.begin = begin
    try:
        response = await handle(request)
    except _AnsweredError as answered:
        return answered.response
    if begun and response.status_code < 400:
        kept = {
            "request": digest,
            "status": response.status_code,
            "headers": {name: value for name, value in response.headers.items() if name != "content-length"},
            "body": None if operation in SECRET else bytes(response.body),
        }
        await run_in_threadpool(KeyRepository(begun[0]).keep, **place, **kept)
    return response


def _refuse_or_repeat(keys: KeyRepository, place: dict[str, str], digest: str) -> None:
    """At the beginning of the request's transaction. Raises for a request that must not be done."""
    if not keys.hold(**place):
        detail = f"A request with this {HEADER} is under way. Send it again in a second for its answer."
        raise ProblemError(409, "request-under-way", detail, headers={"retry-after": "1"})
    row = keys.kept(**place)
    if row is None:
        return
    if row.request != digest:
        raise field_error(
            f"header.{HEADER}",
            place["key"],
            "The key came with another request within the last 24 h: its address or its body differs.",
            limit="a key for each request",
            hint="Give another key, or send the request as it was.",
        )
    if row.body is None:
        detail = (
            "This request was done, and its answer had a secret, which is not kept. Revoke that token and make another."
        )
        raise ProblemError(409, "secret-not-kept", detail)
    raise _AnsweredError(Response(row.body, row.status, headers=row.headers))


def describe(schema: dict[str, Any]) -> None:
    """Adds the header to the API's description."""
    described = {
        "name": HEADER,
        "in": "header",
        "required": False,
        "description": "A text of yours, like a random UUID. For 24 hours, the same request with the same key is not "
        "done again and gets the first answer; another request with this key is refused with 422, and with 409 while "
        "the first is under way. Failed requests change nothing and are not kept.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": f"^{_KEY.pattern}$"},
    }
    schema["components"].setdefault("parameters", {})["IdempotencyKey"] = described
    for path in schema["paths"].values():
        for method, operation in path.items():
            if creates(method.upper(), operation["operationId"], map(int, operation["responses"])):
                operation.setdefault("parameters", []).append({"$ref": "#/components/parameters/IdempotencyKey"})
                operation["responses"].setdefault("409", {"$ref": "#/components/responses/Problem409"})
