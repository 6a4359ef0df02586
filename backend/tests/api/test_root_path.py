"""Page and API under a path, behind a proxy that removes the path from requests or keeps it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr, ValidationError

from cubeyard.app import ROUTES, create_app
from cubeyard.kit.db import Database
from cubeyard.settings import OWN_PATHS, Settings
from tests.conftest import SMALL

ROOT = "/lab/cubeyard"
TOKEN = "a-token-from-the-configuration"
INDEX = '<!doctype html><meta name="base" content="./" /><script src="./theme.js"></script><script src="./assets/a.js"></script>'
Send = Callable[..., Any]


@pytest.fixture(params=["removed", "kept"])
def send(request: pytest.FixtureRequest, settings: Settings, database: Database, tmp_path: Path) -> Iterator[Send]:
    """Sends a browser's request to the proxy."""
    for name, text in {"index.html": INDEX, "theme.js": "0", "assets/a.js": "import('./b.js')"}.items():
        (tmp_path / "dist" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "dist" / name).write_text(text)
    changed = {
        "root_path": ROOT,
        "host": "0.0.0.0",
        "token": SecretStr(TOKEN),
        "frontend_dir": tmp_path / "dist",
    }
    app = create_app(settings.model_copy(update=changed), database=database)
    with TestClient(app, base_url="http://10.0.0.7:8000", client=("10.1.2.3", 40000), follow_redirects=False) as client:

        def send(method: str, path: str, **options: object) -> Any:
            assert path.startswith(f"{ROOT}/"), f"{path} does not reach the proxy's location"
            headers = {"authorization": f"Bearer {TOKEN}"} | options.pop("headers", {})  # pyright: ignore[reportOperatorIssue]
            sent = path.removeprefix(ROOT) if request.param == "removed" else path
            return client.request(method, sent, headers=headers, **options)  # pyright: ignore[reportArgumentType]

        yield send


def test_each_address_of_the_page_is_below_the_path(send: Send) -> None:
    for route in ("/", "/plans/new", "/index.html"):
        page = send("GET", ROOT + route, headers={"accept": "text/html"})
        assert page.status_code == 200
        named = re.findall(r'(?:src|href|content)="([^"]+)"', page.text)
        assert f"{ROOT}/" in named
        for address in named:
            assert send("GET", address, headers={"accept": "text/html"}).status_code == 200, address
        again = send("GET", ROOT + route, headers={"accept": "text/html", "if-none-match": page.headers["etag"]})
        assert again.status_code == 304


def test_redirects_cookies_and_the_login_page_stay_below_the_path(send: Send) -> None:
    stranger = {"authorization": "", "accept": "text/html"}
    to_login = send("GET", f"{ROOT}/plans/new?x=1", headers=stranger)
    assert to_login.status_code == 303
    page = send("GET", to_login.headers["location"], headers=stranger)
    assert page.status_code == 200
    for address in re.findall(r'(?:action|href)="([^"]+)"', page.text):
        assert address.startswith(f"{ROOT}/")
    wanted = re.search(r'name="next" value="([^"]+)"', page.text)
    assert wanted is not None
    logged_in = send(
        "POST",
        f"{ROOT}/login",
        data={"token": TOKEN, "next": wanted[1]},
        headers={"authorization": "", "content-type": "application/x-www-form-urlencoded"},
    )
    assert logged_in.headers["location"] == f"{ROOT}/plans/new?x=1"
    assert f"Path={ROOT}/" in logged_in.headers["set-cookie"]
    logged_out = send("POST", f"{ROOT}/logout")
    assert logged_out.headers["location"] == f"{ROOT}/login"
    assert f"Path={ROOT}/" in logged_out.headers["set-cookie"]


def test_each_address_in_an_answer_can_be_opened(send: Send) -> None:
    made = send("POST", f"{ROOT}/api/v1/plans", json={"name": "x", "spec": SMALL})
    assert made.status_code == 201
    plan = send("GET", made.headers["location"])
    assert plan.status_code == 200
    body = {"plan": SMALL, "workload": {"kind": "all-to-all"}}
    experiment = send("POST", f"{ROOT}/api/v1/experiments", json=body).json()
    run = send("POST", f"{ROOT}/api/v1/experiments/{experiment['id']}/runs").json()
    for address in (run["results_url"], send("GET", f"{ROOT}/api/v1/runs/{run['id']}").json()["results_url"]):
        assert send("GET", address).status_code == 200
    missing = send("GET", f"{ROOT}/api/v1/plans/{'0' * 14}").json()
    assert missing["instance"].startswith(f"{ROOT}/api/v1/plans/")
    job = send("POST", f"{ROOT}/api/v1/plans/{made.json()['id']}/exports/csv/jobs").json()
    assert send("GET", f"{ROOT}/api/v1/jobs/{job['id']}").status_code == 200
    assert send("GET", f"{ROOT}/api/v1/openapi.json").json()["servers"] == [{"url": ROOT}]


def test_a_path_that_is_none_or_the_servers_own_is_refused() -> None:
    for wrong in ("cubeyard", "/a//b", "/a b", '/"x', "/../x", "https://x/y", "/api", "/assets/x"):
        with pytest.raises(ValidationError, match="root path"):
            Settings(root_path=wrong)
    assert [Settings(root_path=good).root_path for good in ("", "/", "/lab/", "/plans")] == ["", "", "/lab", "/plans"]
    first = {str(getattr(route, "path", "")).split("/")[1] for route in ROUTES}
    assert first <= OWN_PATHS, "a new first part of a path belongs into OWN_PATHS"
