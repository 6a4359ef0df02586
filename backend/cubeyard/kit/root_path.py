"""The path that a reverse proxy serves this program under (`CUBEYARD_ROOT_PATH`)."""

from __future__ import annotations

from contextvars import ContextVar

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_root: ContextVar[str] = ContextVar("root_path", default="")


def public(path: str) -> str:
    """One of our paths as the client of the current request must write it."""
    root = _root.get()
    return path if not root or path.startswith(f"{root}/") else root + path


class RootPath:
    """Takes requests with the root path, which the proxy may also have removed, and adds it to
    `Location`. All other code sees paths without it."""

    def __init__(self, app: ASGIApp, root: str) -> None:
        self.app = app
        self.root = root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self.app(scope, receive, send)
            return
        _root.set(self.root)

        async def send_public(message: Message) -> None:
            if message["type"] in {"http.response.start", "websocket.http.response.start"}:
                headers = MutableHeaders(scope=message)
                location = headers.get("location", "")
                if location.startswith("/"):
                    headers["location"] = public(location)
            await send(message)

        await self.app(self._without(scope), receive, send_public)

    def _without(self, scope: Scope) -> Scope:
        path: str = scope["path"]
        if path != self.root and not path.startswith(f"{self.root}/"):
            return scope
        raw: bytes = scope.get("raw_path") or b""
        return {**scope, "path": path[len(self.root) :] or "/", "raw_path": raw[len(self.root) :] or b"/"}
