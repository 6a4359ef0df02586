"""Errors as HTTP responses: RFC 9457 problem JSON for whatever was raised below an endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from cubeyard.kit import json_bodies
from cubeyard.kit.errors import MEDIA_TYPE, FieldError, ProblemError
from cubeyard.kit.root_path import public
from cubeyard.kit.validation import in_words, of_validation


def problem_response(
    scope: Mapping[str, Any],
    status: int,
    code: str,
    detail: str,
    *,
    errors: Sequence[FieldError] = (),
    findings: Sequence[Mapping[str, Any]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The response itself, for endpoints and bare ASGI middleware alike."""
    try:
        title = HTTPStatus(status).phrase
    except ValueError:
        title = "Error"
    body = {
        "type": f"urn:cubeyard:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "instance": public(str(scope.get("path", ""))),
        "request_id": str(scope.get("state", {}).get("request_id", "")),
        "errors": [error.model_dump(mode="json") for error in errors],
        "findings": list(findings),
    }
    return Response(dumps(body), status_code=status, media_type=MEDIA_TYPE, headers=dict(headers or {}))


def dumps(body: object) -> bytes:
    """JSON for anything, even for text that holds half a surrogate pair: the error path must not
    fail."""
    try:
        return orjson.dumps(body, default=str)
    except TypeError:
        import json

        return json.dumps(body, default=str).encode("ascii")


async def _on_problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return problem_response(
        request.scope,
        error.status,
        error.code,
        error.detail,
        errors=error.errors,
        findings=error.findings,
        headers=error.headers,
    )


async def _on_validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    of_body = [item for item in error.errors() if item["loc"][:1] == ("body",)]
    errors = [of_validation(item) for item in error.errors() if item["loc"][:1] != ("body",)]
    errors += in_words(of_body, {"body": error.body})
    malformed = any(item.get("type") == "json_invalid" for item in error.errors())
    status, code = (400, "malformed") if malformed else (422, "invalid")
    first = errors[0] if errors else None
    more = f" And {len(errors) - 1} more." if len(errors) > 1 else ""
    detail = f"{first.field}: {first.message}{more}" if first else "The request is not valid."
    return problem_response(request.scope, status, code, detail, errors=errors)


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = {404: "not-found", 405: "method-not-allowed", 413: "too-large"}.get(error.status_code, "http")
    detail = str(error.detail)
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if error.status_code == 404:
        detail = f"There is nothing at {request.url.path}."
    elif error.status_code == 405:
        detail = f"{request.method} is not possible at {request.url.path}."
        headers["allow"] = ", ".join(methods_of(request.app, request.url.path))
    elif error.status_code == 400 and "body" in detail.lower():
        code = "malformed"
    return problem_response(request.scope, error.status_code, code, detail, headers=headers)


def methods_of(app: FastAPI, path: str) -> list[str]:
    """All that a path takes: routes of one path may be several, each with a method of its own."""
    scope = {"type": "http", "path": path, "root_path": "", "headers": []}
    result = [
        method
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in app.router.routes)
    ]
    return ["GET", "HEAD", *result[1:]] if result[:1] == ["GET"] else result


def install(app: FastAPI) -> None:
    json_bodies.install()
    app.add_exception_handler(ProblemError, _on_problem)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(HTTPException, _on_http)
