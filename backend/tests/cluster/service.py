"""Cubeyard as users reach it on the cluster: by the Service's address, with a configured host
name."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """The API's response. `body` is JSON parsed, or text if it is not JSON."""

    status: int
    body: Any


@dataclass(frozen=True)
class Service:
    address: str
    host: str
    token: str

    def request(self, method: str, path: str, body: object = None, *, token: str | None = "", **headers: str) -> Reply:
        """`token` is the installation's by default; None sends none. Each call uses a separate
        connection."""
        sent = {"Content-Type": "application/json", "Host": self.host, **headers}
        if token is not None:
            sent["Authorization"] = f"Bearer {token or self.token}"
        where = urlsplit(self.address)
        connection = http.client.HTTPConnection(where.hostname or "", where.port or 80, timeout=30)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        try:
            return Reply(answer.status, json.loads(content))
        except ValueError:
            return Reply(answer.status, content.decode("utf-8", errors="replace"))

    def get(self, path: str) -> Any:
        reply = self.request("GET", path)
        assert reply.status == 200, reply
        return reply.body

    def start_run(self, experiment: Json) -> str:
        """The id of a run of a new experiment."""
        made = self.request("POST", "/api/v1/experiments", experiment)
        assert made.status == 201, made
        return str(self.request("POST", f"/api/v1/experiments/{made.body['id']}/runs", {}).body["id"])

    def run(self, run: str) -> Json:
        return dict(self.get(f"/api/v1/runs/{run}"))

    def ended(self, run: str, secs: float = 120) -> Json:
        """Waits for the end of the run and returns it."""
        return self.wait(
            f"the end of run {run}",
            lambda: row if (row := self.run(run))["state"] in ("succeeded", "failed", "cancelled") else None,
            secs,
        )

    def wait(self, what: str, until: Callable[[], Any], secs: float = 90) -> Any:
        """Also through moments in which nobody answers."""
        deadline = time.monotonic() + secs
        message: object = None
        while time.monotonic() < deadline:
            try:
                if result := until():
                    return result
            except (OSError, http.client.HTTPException, AssertionError) as error:
                message = error
            time.sleep(0.2)
        raise AssertionError(f"waited {secs:g} s for {what}; {message or 'nothing was refused'}")
