"""Endpoints that are looked at when they are called, once a process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from fastapi import FastAPI, Path
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from cubeyard.app import ROUTES, create_app
from cubeyard.kit import routing
from cubeyard.kit.idempotency.route import KeyedRoute
from cubeyard.kit.routing import LateRoute, api_router, page_router, routes_of
from cubeyard.settings import Settings


def number(number: Annotated[int, Path(ge=1)]) -> dict[str, int]:
    """A number."""
    return {"number": number}


@pytest.fixture
def routes() -> list[LateRoute]:
    api, pages = api_router("/numbers", tags=["numbers"]), page_router()
    api.get("/{number}", operation_id="read_number")(number)
    api.delete("/{number}", operation_id="delete_number")(number)
    api.get("", operation_id="list_numbers")(lambda: [1])
    pages.get("/login")(lambda: "in")
    return routes_of(api, pages)  # pyright: ignore[reportReturnType]


def made(routes: list[Any]) -> list[str]:
    return [f"{min(route.methods)} {route.path}" for route in routes if isinstance(route, LateRoute) and route.made]


def test_a_request_makes_the_route_that_answers_it_and_no_other(routes: list[LateRoute]) -> None:
    client = TestClient(FastAPI(routes=list(routes)))
    assert made(routes) == []
    assert client.get("/api/v1/numbers/7").json() == {"number": 7}
    assert client.get("/api/v1/numbers/0").status_code == 422
    assert client.get("/elsewhere").status_code == 404
    assert client.post("/api/v1/numbers/7").status_code == 405
    assert made(routes) == ["GET /api/v1/numbers/{number}"]


def test_applications_share_what_is_made(routes: list[LateRoute], monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[str] = []

    class Counted(KeyedRoute):
        def __init__(self, path: str, *given: Any, **more: Any) -> None:
            times.append(path)
            super().__init__(path, *given, **more)

    monkeypatch.setattr(routing, "KeyedRoute", Counted)

    def asked(_: int) -> int:
        return TestClient(FastAPI(routes=list(routes))).get("/api/v1/numbers/3").json()["number"]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(asked, range(8))) == [3] * 8
    assert times == ["/api/v1/numbers/{number}"]


def test_the_description_has_every_route_of_the_api(routes: list[LateRoute]) -> None:
    paths = FastAPI(routes=list(routes)).openapi()["paths"]
    assert {path: sorted(operations) for path, operations in paths.items()} == {
        "/api/v1/numbers/{number}": ["delete", "get"],
        "/api/v1/numbers": ["get"],
    }
    assert paths["/api/v1/numbers/{number}"]["get"]["tags"] == ["numbers"]


def test_a_route_has_no_made_up_attributes(routes: list[LateRoute]) -> None:
    with pytest.raises(AttributeError, match="a route has no colour"):
        _ = routes[0].colour  # pyright: ignore[reportAttributeAccessIssue]


def test_every_endpoint_of_ours_waits_for_its_first_request() -> None:
    assert len(ROUTES) > 130
    assert [route for route in ROUTES if isinstance(route, APIRoute) and not isinstance(route, LateRoute)] == []
    item, another = (create_app(Settings()) for _ in range(2))
    assert [route for route in ROUTES if route not in item.routes or route not in another.routes] == []
