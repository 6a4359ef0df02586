"""`/api/v1/tokens`, and the login page for browsers."""

from __future__ import annotations

import html
from datetime import datetime
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from cubeyard.kit.auth.guard import COOKIE, configured_token
from cubeyard.kit.auth.models import TokenRow
from cubeyard.kit.auth.service import AuthService
from cubeyard.kit.db import UnitOfWork
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import Id
from cubeyard.kit.text import PlainText

router = APIRouter(prefix="/tokens", tags=["tokens"])
pages = APIRouter(include_in_schema=False)

MAX_FORM_BYTES = 4096


class TokenCreate(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[
        PlainText, Field(min_length=1, max_length=120, description="What it is for.", examples=["nightly export"])
    ]


class Token(BaseModel):
    id: str
    name: str
    created_at: datetime
    last_used_at: datetime | None


class NewToken(Token):
    token: str = Field(description="The token itself. It is shown this once and cannot be read again.")


class TokenList(BaseModel):
    items: list[Token]


def get_service(session: UnitOfWork, request: Request) -> AuthService:
    return AuthService(session, configured_token(request.app.state.settings))


Service = Annotated[AuthService, Depends(get_service)]


def _token(row: TokenRow) -> Token:
    return Token(id=row.id, name=row.name, created_at=row.created_at, last_used_at=row.last_used_at)


@router.get("", operation_id="list_tokens", summary="API tokens, without the tokens themselves", responses=responses())
def list_tokens(service: Service) -> TokenList:
    return TokenList(items=[_token(row) for row in service.tokens()])


@router.post("", operation_id="create_token", summary="Make an API token", status_code=201, responses=responses())
def create_token(service: Service, request: TokenCreate) -> NewToken:
    row, secret = service.create_token(request.name)
    return NewToken(**_token(row).model_dump(), token=secret)


@router.delete(
    "/{id}",
    operation_id="revoke_token",
    summary="Revoke a token and its sessions",
    status_code=204,
    responses=responses(404),
)
def revoke_token(service: Service, id: Id) -> None:
    service.revoke(id)


@pages.get("/login")
def login_page(next: str = "/") -> Response:
    return _page(_local(next), "")


@pages.post("/login")
async def login(request: Request) -> Response:
    """A plain form, so that logging in needs no script."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            return _page("/", "That is too long for a token.", status=413)
    form = parse_qs(body.decode("utf-8", "replace"))
    wanted = _local(form.get("next", ["/"])[0])
    secret = await run_in_threadpool(_open, request, form.get("token", [""])[0].strip())
    if secret is None:
        return _page(wanted, "That token is not known here.", status=401)
    settings = request.app.state.settings
    response = RedirectResponse(wanted, status_code=303)
    response.set_cookie(
        COOKIE,
        secret,
        max_age=int(settings.session_hours * 3600),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )
    return response


@pages.post("/logout")
def logout(service: Service, request: Request) -> Response:
    service.close_session(request.cookies.get(COOKIE, ""))
    response = RedirectResponse("/login", status_code=303)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return response


def _open(request: Request, token: str) -> str | None:
    with request.app.state.database.session() as session:
        settings = request.app.state.settings
        return AuthService(session, configured_token(settings)).open_session(token, settings.session_hours)


def _local(path: str) -> str:
    """Only a path of ours: a login must not send anyone elsewhere."""
    parts = urlsplit(path)
    if (
        parts.scheme
        or parts.netloc
        or not path.startswith("/")
        or path.startswith(("//", "/\\"))
        or any(ord(one) < 32 for one in path)
    ):
        return "/"
    return path


def _page(wanted: str, error: str, *, status: int = 200) -> HTMLResponse:
    alert = f'<p role="alert">{html.escape(error)}</p>' if error else ""
    return HTMLResponse(
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Log in - Cubeyard</title>
<style>:root {{ color-scheme: light dark }} body {{ font: 14px/1.5 system-ui; margin: 20vh auto 0; max-width: 22rem; padding: 0 16px }}
label {{ display: block }} input, button {{ font: inherit; padding: 8px; width: 100%; box-sizing: border-box; margin-top: 4px }}
button {{ margin-top: 12px }}</style></head>
<body><main><h1>Cubeyard</h1>{alert}
<form method="post" action="/login"><input type="hidden" name="next" value="{html.escape(wanted, quote=True)}">
<label>Access token <input name="token" type="password" autocomplete="current-password" required autofocus></label>
<button>Log in</button></form>
<p>Whoever runs this server makes one with <code>cubeyard token create</code>.</p></main></body></html>""",
        status_code=status,
        headers={"cache-control": "no-store"},
    )
