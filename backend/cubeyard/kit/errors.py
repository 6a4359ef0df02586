"""One error shape for every room: it names the field, the value, the limit and the fix.

The API answers it as RFC 9457 problem JSON (`problems.py`), the command line prints it in words. No
web framework is imported here: the command line starts without one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

from pydantic import ConfigDict, Field

from cubeyard.kit.json_text import MAX_INTEGER
from cubeyard.kit.models import Model

MEDIA_TYPE = "application/problem+json"
MAX_SHOWN_CHARACTERS = 200


class FieldError(Model):
    """One thing wrong with one field of the request."""

    field: str = Field(description="Where the value was, like `body.spec.topology.n` or `query.limit`.")
    value: Any = Field(default=None, description="The value that was sent, shortened.")
    limit: str | None = Field(default=None, description="What the value has to be.")
    message: str
    hint: str | None = Field(default=None, description="What to do about it.")
    line: int | None = Field(
        default=None, exclude_if=lambda line: line is None, description="In a text: the line, from 1."
    )


class Acceptance(Model):
    """Keeps the plan as it is: writes the limit that it needs into the spec, where it shows as
    accepted. No repair."""

    label: str = Field(description="What a button says, like `Accept 67 %`.")
    patch: dict[str, Any] = Field(description="A JSON merge patch on the plan spec.")


class Finding(Model):
    """One thing the engine has to say about a plan."""

    severity: Literal["error", "warning", "info"]
    code: str
    where: str = Field(
        description="The field of the plan spec, like `topology.n`, or what part of the plan it is about."
    )
    message: str
    hint: str = ""
    value: Any = Field(default=None, description="The offending value, if there is one.")
    limit: Any = Field(default=None, description="The limit it broke, if there is one.")
    line: int = Field(default=0, description="In a text: the line, from 1; 0 for anything else.")
    column: int = Field(default=0, description="In a text: the column, from 1; 0 for anything else.")
    fix: Any = Field(default=None, description="A JSON merge patch on the plan spec that mends it, or null.")
    accept: Acceptance | None = Field(
        default=None, description="How to accept it as it is, for limits that a plan may exceed on purpose."
    )


class Problem(Model):
    """RFC 9457 problem details; `errors` for a malformed request, `findings` for an impossible
    plan."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:cubeyard:problem:not-found",
                    "title": "Not found",
                    "status": 404,
                    "detail": "There is no plan 0a1b2c3d4e5f6g.",
                    "instance": "/api/v1/plans/0a1b2c3d4e5f6g",
                    "request_id": "5f0c6d6a0a4e4f0f",
                    "errors": [],
                    "findings": [],
                }
            ]
        }
    )

    type: str
    title: str
    status: int
    detail: str
    instance: str
    request_id: str
    errors: list[FieldError]
    findings: list[Finding]


class ProblemError(Exception):
    """Raise this anywhere below an endpoint; it becomes the response."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        errors: Sequence[FieldError] = (),
        findings: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = list(errors)
        self.findings = list(findings)
        self.headers = dict(headers or {})


def not_found(what: str) -> ProblemError:
    return ProblemError(404, "not-found", f"There is no {what}.")


def field_error(
    field: str, value: object, message: str, *, limit: str | None = None, hint: str | None = None
) -> ProblemError:
    """422 for one field whose fault only the service can see."""
    error = FieldError(field=field, value=shown(value), limit=limit, message=message, hint=hint)
    return ProblemError(422, "invalid", message, errors=[error])


def shown(value: object) -> Any:
    """A sent value, short and safe to print back."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int) and abs(value) <= MAX_INTEGER:
        return value
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= MAX_SHOWN_CHARACTERS else text[: MAX_SHOWN_CHARACTERS - 1] + "…"


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The `responses=` of an endpoint: problem JSON for each of these, and for what every endpoint
    can answer.

    Only one has the `model`, which brings it into the API's description: FastAPI builds a validator
    for each model of each endpoint, and over 1,000 of them would be a seventh of the time that the
    service takes to start.
    """
    always = {400, 401, 403, 413, 415, 421, 422, 500, 503}
    described: dict[int | str, dict[str, Any]] = {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in sorted(always | set(statuses))
    }
    described[500]["model"] = Problem
    return described
