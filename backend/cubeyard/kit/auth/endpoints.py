"""`/api/v1/tokens`, `/api/v1/session`, and the login page for browsers."""

from __future__ import annotations

import html
from datetime import datetime
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

from fastapi import Depends, Request
from pydantic import ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse, Response

from cubeyard.kit.auth.guard import COOKIE, configured_token
from cubeyard.kit.auth.models import TokenRow
from cubeyard.kit.auth.service import AuthService
from cubeyard.kit.errors import responses
from cubeyard.kit.ids import Id
from cubeyard.kit.models import Model
from cubeyard.kit.root_path import public
from cubeyard.kit.routing import api_router, page_router
from cubeyard.kit.text import PlainText
from cubeyard.kit.unit_of_work import UnitOfWork

router = api_router("/tokens", tags=["tokens"])
session = api_router("/session", tags=["tokens"])
pages = page_router()

MAX_FORM_BYTES = 4096


class TokenCreate(Model):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[
        PlainText, Field(min_length=1, max_length=120, description="What it is for.", examples=["nightly export"])
    ]
    read_only: bool = Field(default=False, description="Whether it may compute and read, and change nothing.")
    expires_in_days: int | None = Field(default=None, ge=1, le=3650, description="Null: never.")


class Token(Model):
    id: str
    name: str
    created_at: datetime
    last_used_at: datetime | None
    read_only: bool
    expires_at: datetime | None


class NewToken(Token):
    token: str = Field(description="The token itself. It is shown this once and cannot be read again.")


class TokenList(Model):
    items: list[Token]


class CurrentSession(Model):
    needed: bool = Field(description="Whether this server asks for a token. It does on any address but loopback.")
    logged_in: bool = Field(
        description="Whether the request came with a session of the login page, which `/logout` ends."
    )
    token: str | None = Field(description="The name of the request's token; null without one, or if it has no name.")


def get_service(session: UnitOfWork, request: Request) -> AuthService:
    return AuthService(session, configured_token(request.app.state.settings))


Service = Annotated[AuthService, Depends(get_service)]


def _token(row: TokenRow) -> Token:
    return Token.model_validate(row, from_attributes=True)


@router.get("", operation_id="list_tokens", summary="API tokens, without the tokens themselves", responses=responses())
def list_tokens(service: Service) -> TokenList:
    return TokenList(items=[_token(row) for row in service.tokens()])


@router.post("", operation_id="create_token", summary="Make an API token", status_code=201, responses=responses())
def create_token(service: Service, request: TokenCreate) -> NewToken:
    row, secret = service.create_token(
        request.name, read_only=request.read_only, expires_in_days=request.expires_in_days
    )
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


@session.get("", operation_id="read_session", summary="Whose session this is", responses=responses())
def read_session(service: Service, request: Request) -> CurrentSession:
    identity = getattr(request.state, "identity", None)
    return CurrentSession(
        needed=request.app.state.settings.exposed,
        logged_in=identity is not None and "authorization" not in request.headers,
        token=service.name_of(identity) if identity is not None else None,
    )


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
        await request.app.state.slowing.after_failure(request.client.host if request.client else "")
        return _page(wanted, "This token is not valid here. It may have expired, or was revoked.", status=401)
    settings = request.app.state.settings
    response = RedirectResponse(wanted, status_code=303)
    response.set_cookie(
        COOKIE,
        secret,
        max_age=int(settings.session_hours * 3600),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path=public("/"),
    )
    return response


@pages.post("/logout")
def logout(service: Service, request: Request) -> Response:
    service.close_session(request.cookies.get(COOKIE, ""))
    response = RedirectResponse("/login", status_code=303)
    response.delete_cookie(COOKIE, path=public("/"), httponly=True, samesite="strict")
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
        or any(ord(item) < 32 for item in path)
    ):
        return "/"
    return path


_LOGO = (
    '<svg width="28" height="28" viewBox="0 0 18 18" fill="none" stroke="currentColor" stroke-width="1.6" '
    'stroke-linejoin="round" aria-hidden="true"><path d="M9 1.5 15.5 5v8L9 16.5 2.5 13V5zM2.5 5 9 8.6 15.5 5M9 8.6v7.9"/></svg>'
)
_STYLE = """
:root { color-scheme: light dark; --bg: #f7f9fb; --card: #fff; --border: #d9dfe7; --field: #8a92a1; --text: #161a22; --muted: #555d6c;
  --accent: #1d4ed8; --on-accent: #fff; --bad: #b3001b; --bad-soft: #fde6e9 }
@media (prefers-color-scheme: dark) { :root { --bg: #0f1318; --card: #151a21; --border: #2a323c; --field: #6b7586; --text: #e8ebf1;
  --muted: #a3acbb; --accent: #7fa9ff; --on-accent: #0a1230; --bad: #ff7b80; --bad-soft: #3d1519 } }
* { box-sizing: border-box }
body { display: grid; min-height: 100vh; margin: 0; padding: 16px; place-items: center; background: var(--bg); color: var(--text);
  font: 14px/1.5 system-ui, sans-serif }
main { width: 100%; max-width: 24rem; padding: 32px; border: 1px solid var(--border); border-radius: 10px; background: var(--card) }
h1 { display: flex; align-items: center; gap: 10px; margin: 0 0 24px; font-size: 18px }
h1 svg { color: var(--accent) }
label { display: block; font-weight: 600 }
input, button { width: 100%; height: 44px; margin-top: 6px; padding: 0 12px; border: 1px solid var(--field); border-radius: 6px;
  background: var(--card); color: var(--text); font: inherit }
button { margin-top: 16px; border-color: var(--accent); background: var(--accent); color: var(--on-accent); font-weight: 600; cursor: pointer }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
[role=alert] { margin: 0 0 16px; padding: 8px 12px; border-radius: 6px; background: var(--bad-soft); color: var(--bad) }
main > p:last-child { margin: 24px 0 0; color: var(--muted) }
"""
"""The page's own colours (`frontend/src/ui/tokens.css`): the login page is sent before anybody may
load the page."""


def _page(wanted: str, error: str, *, status: int = 200) -> HTMLResponse:
    alert = f'<p role="alert" id="error">{html.escape(error)}</p>' if error else ""
    described = ' aria-invalid="true" aria-describedby="error"' if error else ""
    return HTMLResponse(
        f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Log in · Cubeyard</title><link rel="icon" href="{public("/icon.svg")}" type="image/svg+xml">
<style>{_STYLE}</style></head>
<body><main><h1>{_LOGO}Log in to Cubeyard</h1>{alert}
<form method="post" action="{public("/login")}"><input type="hidden" name="next" value="{html.escape(wanted, quote=True)}">
<label>API token <input name="token" type="password" autocomplete="current-password" required autofocus{described}></label>
<button>Log in</button></form>
<p>No token yet? An administrator creates one with <code>cubeyard token create</code>.</p></main></body></html>""",
        status_code=status,
        headers={"cache-control": "no-store"},
    )
