"""Endpoints that cost nothing before they are used.

FastAPI looks at an endpoint's parameters and answers when it is declared, once more for each
application that includes its router, and makes a validator for each: most of what a start and an
application would cost. Here that happens at an endpoint's first request, or when the API is
described, once a process: applications share the routes.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from pydantic.warnings import UnsupportedFieldAttributeWarning
from starlette.routing import BaseRoute, Match, compile_path, get_name
from starlette.types import Scope

from cubeyard.kit.idempotency.route import KeyedRoute

PREFIX = "/api/v1"
"""Of the API's paths."""

# FastAPI gives the name of a body's parameter to that body's validator, and hides the warning only
# while it makes the validator. Those of our models are made later.
warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)

_making = threading.RLock()
_OF_PATH = ("path_regex", "path_format", "param_convertors")


class LateRoute(APIRoute):
    """A route that is made when something of it is needed beyond its path and its methods."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self._options = options
        self._fixed = path.partition("{")[0]
        self.path = path
        self.endpoint = endpoint
        self.name = options.get("name") or get_name(endpoint)
        self.methods = {method.upper() for method in options.get("methods") or ("GET",)}
        self.include_in_schema = options.get("include_in_schema", True)

    @property
    def made(self) -> bool:
        return "app" in self.__dict__

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        return super().matches(scope) if path.startswith(self._fixed) else (Match.NONE, {})

    def __getattr__(self, name: str) -> Any:
        """What is not there yet."""
        if name in _OF_PATH:
            self.path_regex, self.path_format, self.param_convertors = compile_path(self.path)
        else:
            with _making:
                if not self.made:
                    self.__dict__.update(KeyedRoute(self.path, self.endpoint, **self._options).__dict__)
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"a route has no {name}") from None


def api_router(prefix: str = "", *, tags: list[str] | None = None) -> APIRouter:
    """For endpoints of the API, below its prefix and this one."""
    return APIRouter(prefix=PREFIX + prefix, tags=[*(tags or [])], route_class=LateRoute)


def page_router() -> APIRouter:
    """For what people open with a browser: no part of the API, so its description says nothing of
    it."""
    return APIRouter(include_in_schema=False, route_class=LateRoute)


def routes_of(*routers: APIRouter) -> list[BaseRoute]:
    """Their routes, for any number of applications; the first that matches a request answers it."""
    return [route for router in routers for route in router.routes]
