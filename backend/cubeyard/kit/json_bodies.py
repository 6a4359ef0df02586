"""Bodies of requests as `json_text` reads JSON."""

from __future__ import annotations

from typing import Any

import fastapi.routing
from starlette.requests import Request

from cubeyard.kit.json_text import loads


class StrictRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = loads(await self.body())
        return self._json


def install() -> None:
    """FastAPI has no setting for how bodies are parsed: its routes ask a `Request` of its
    module."""
    fastapi.routing.Request = StrictRequest  # pyright: ignore[reportPrivateImportUsage]
