"""Bodies of requests as `json_text` reads JSON."""

from __future__ import annotations

from json import JSONDecodeError
from typing import Any

import fastapi.routing
from starlette.requests import Request

from cubeyard.kit.json_text import loads


class StrictRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            try:
                self._json = loads(body)
            # For these errors FastAPI names neither place nor reason.
            except UnicodeDecodeError as error:
                raise JSONDecodeError(f"This byte is no {error.encoding.upper()}", "", error.start) from None
            except RecursionError:
                raise JSONDecodeError("It is nested too deeply", "", 0) from None
        return self._json


def install() -> None:
    """FastAPI has no setting for how bodies are parsed: its routes ask a `Request` of its
    module."""
    fastapi.routing.Request = StrictRequest  # pyright: ignore[reportPrivateImportUsage]
