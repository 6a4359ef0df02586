"""Reading an image's manifest from its registry. The registry is scripted, in place of the
library's session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import requests

from cubeyard.emulation.deploy import manifests
from cubeyard.emulation.deploy.manifests import INDEXES, Announced, announced
from cubeyard.settings import Settings

Json = dict[str, Any]
PROCESSOR = "amd64"
INDEX = {
    "mediaType": INDEXES[0],
    "manifests": [
        {"digest": "sha256:0", "platform": {"os": "linux", "architecture": "s390x"}},
        {"digest": "sha256:1", "platform": {"os": "linux", "architecture": PROCESSOR}},
    ],
}
MANIFEST = {"config": {"digest": "sha256:c"}, "layers": [{"size": 10}, {"size": 32}]}
CONFIG = {"config": {"Volumes": {"/data/": {}, "/var/log": {}}}}
HUB = "https://registry-1.docker.io/v2/library/web"
CHALLENGE = 'Bearer realm="https://auth.docker.io/token",service="registry.docker.io"'


class Answer:
    def __init__(self, status: int, document: Json | bytes, **headers: str) -> None:
        self.status_code, self.headers = status, headers
        self.is_redirect = status == 307
        self._body = document if isinstance(document, bytes) else orjson.dumps(document)

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def iter_content(self, size: int) -> Iterator[bytes]:
        yield from (self._body[at : at + size] for at in range(0, len(self._body), size))


class Registry:
    """Answers by URL. `guarded` hosts answer only requests with the token."""

    def __init__(self, answers: dict[str, Answer], guarded: str = "") -> None:
        self.answers, self._guarded = answers, guarded
        self.asked: list[tuple[str, str | None]] = []

    def get(self, url: str, params: Json | None, headers: Json, **__: Any) -> Answer:
        given = headers.get("authorization")
        self.asked.append((url, given))
        if self._guarded and url.startswith(self._guarded) and given != "Bearer t":
            return Answer(401, {}, **{"www-authenticate": CHALLENGE})
        assert params is None or params["scope"] == "repository:library/web:pull"
        return self.answers.get(url, Answer(404, {}))


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """docker.io with an image `web`, whose configuration is on another host."""
    made = Registry(
        {
            f"{HUB}/manifests/1": Answer(200, INDEX),
            f"{HUB}/manifests/sha256:1": Answer(200, MANIFEST),
            f"{HUB}/blobs/sha256:c": Answer(307, {}, location="https://cdn.example.com/c"),
            "https://cdn.example.com/c": Answer(200, CONFIG),
            "https://auth.docker.io/token": Answer(200, {"token": "t"}),
        },
        guarded=HUB,
    )
    monkeypatch.setattr(requests.Session, "get", made.get)
    monkeypatch.setattr(manifests.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(manifests, "_known", {})
    return made


def test_size_and_folders_are_those_of_the_manifest_and_the_token_stays_with_the_registry(registry: Registry) -> None:
    assert announced(Settings(), "web:1") == Announced(42, ("/data", "/var/log"))
    assert {url for url, token in registry.asked if token} == {url for url in registry.answers if url.startswith(HUB)}
    calls = len(registry.asked)
    assert announced(Settings(), "web:1") == Announced(42, ("/data", "/var/log"))
    assert len(registry.asked) == calls, "the hosts of a run make one request"


@pytest.mark.parametrize(
    ("image", "place"),
    [
        ("web", ("registry-1.docker.io", "library/web", "latest")),
        ("me/web:2", ("registry-1.docker.io", "me/web", "2")),
        ("docker.io/me/web", ("registry-1.docker.io", "me/web", "latest")),
        ("ghcr.io/a/b/web:1@sha256:ab", ("ghcr.io", "a/b/web", "sha256:ab")),
        ("reg.example:5000/web", ("reg.example:5000", "web", "latest")),
    ],
)
def test_references_are_read_as_engines_read_them(image: str, place: tuple[str, str, str]) -> None:
    assert manifests._place(image) == place


@pytest.mark.parametrize(
    "answer",
    [
        Answer(307, {}, location="http://cdn.example.com/c"),
        Answer(307, {}, location="https://10.0.0.7/c"),
        Answer(307, {}, location="https://[::1]/c"),
        Answer(307, {}, location="https://payroll/c"),
        Answer(307, {}, location="https://payroll.default.svc/c"),
        Answer(307, {}, location=f"{HUB}/blobs/sha256:c"),
        Answer(200, b"x" * (manifests.MOST_BYTES + 1)),
        Answer(200, {"config": {"Volumes": {"data": {}}}}),
        Answer(200, b"[]"),
        Answer(500, {}),
    ],
)
def test_a_registry_leads_nowhere_inside_and_any_answer_is_survived(registry: Registry, answer: Answer) -> None:
    registry.answers[f"{HUB}/blobs/sha256:c"] = answer
    assert announced(Settings(), "web:1") is None
    hosts = {url.split("/")[2] for url, _ in registry.asked}
    assert hosts == {"registry-1.docker.io", "auth.docker.io"}


def test_only_registries_of_the_settings_get_requests(registry: Registry) -> None:
    assert announced(Settings(), "reg.example:5000/web") is None
    assert registry.asked == []
