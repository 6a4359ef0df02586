"""The built page: hashed assets for ever, everything else that is not the API answered by
`index.html`. Below /docs, the built documentation."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from cubeyard.kit.problems import problem_response
from cubeyard.kit.responses import matches
from cubeyard.kit.root_path import public

NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Cubeyard</title>
<p>The page is not built here. Run <code>make setup</code> in the checkout, or use the API: <a href="./api/v1/openapi.json">its description</a>.</p></html>"""
DOCS_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Cubeyard documentation</title>
<p>The documentation is not built here. Run <code>make docs</code> in the checkout, or read its folder <code>docs</code>.</p></html>"""
DOCS_NOT_FOUND = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Cubeyard documentation</title>
<p>The documentation has no such page. <a href="./docs/">Its start</a>.</p></html>"""
_NO_PAGE = re.compile(r"/+(?:api/+[^/]|(?:healthz|livez|metrics)(?:/|$))", re.IGNORECASE)
IMMUTABLE = "public, max-age=31536000, immutable"


class Pages:
    """The router's last resort."""

    def __init__(self, folder: Path, docs: Path) -> None:
        self._folder = folder
        self._files = StaticFiles(directory=folder, check_dir=False)
        self._docs = StaticFiles(directory=docs, check_dir=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            detail = f"There is no WebSocket at {scope['path']}."
            await problem_response(scope, 404, "not-found", detail)(scope, receive, send)
            return
        is_document = scope["path"] == "/docs" or scope["path"].startswith("/docs/")
        response = await run_in_threadpool(self._document if is_document else self._response, scope)
        await response(scope, receive, send)

    def _response(self, scope: Scope) -> Response:
        path: str = scope["path"]
        # Other letters and a slash behind make no page of a path of the API.
        if _NO_PAGE.match(path):
            return problem_response(scope, 404, "not-found", f"There is nothing at {path}.")
        if scope["method"] not in {"GET", "HEAD"}:
            detail = f"{scope['method']} is not possible at {path}."
            return problem_response(scope, 405, "method-not-allowed", detail, headers={"allow": "GET, HEAD"})
        relative = path.lstrip("/")
        full, result = self._files.lookup_path(relative) if relative and "\x00" not in relative else ("", None)
        if result is not None and Path(full).is_file() and relative != "index.html":
            response = self._files.file_response(full, result, scope)
            response.headers["cache-control"] = IMMUTABLE if relative.startswith("assets/") else "no-cache"
            return response
        if relative.startswith("assets/") or not (relative == "index.html" or _wants_page(scope, relative)):
            return problem_response(scope, 404, "not-found", f"There is nothing at {path}.")
        return self._index(Headers(scope=scope).get("if-none-match"))

    def _index(self, if_none_match: str | None) -> Response:
        """`index.html` is built with relative addresses; the browser's are below the root path."""
        try:
            text = (self._folder / "index.html").read_text(encoding="utf-8")
        except OSError:
            text = NOT_BUILT
        html = _with_root(text).encode()
        headers = {"cache-control": "no-cache", "etag": f'"{hashlib.sha256(html).hexdigest()[:32]}"'}
        if matches(if_none_match, headers["etag"]):
            return Response(status_code=304, headers=headers)
        return HTMLResponse(html, headers=headers)

    def _document(self, scope: Scope) -> Response:
        if scope["path"] == "/docs":
            return RedirectResponse("docs/", status_code=308)
        relative = scope["path"].removeprefix("/docs/") or "index.html"
        full, stat = self._docs.lookup_path(relative) if "\x00" not in relative else ("", None)
        if stat is None or not Path(full).is_file():
            is_built = self._docs.lookup_path("index.html")[1] is not None
            return HTMLResponse(_with_root(DOCS_NOT_FOUND if is_built else DOCS_NOT_BUILT), status_code=404)
        response = self._docs.file_response(full, stat, scope)
        response.headers["cache-control"] = "no-cache"
        return response


def _with_root(html: str) -> str:
    """Addresses that begin with `./`, below the root path."""
    return html.replace('="./', f'="{public("/")}')


def _wants_page(scope: Scope, relative: str) -> bool:
    """A route of the page, not a missing file."""
    return "text/html" in Headers(scope=scope).get("accept", "") or "." not in relative.rpartition("/")[2]
