"""Reads an image's manifest from its registry before a kubelet pulls the image: the bytes of its
layers, and the folders that it declares as VOLUME. No other part of a response leaves this module.
`[OCI distribution]`"""

from __future__ import annotations

import ipaddress
import platform
import posixpath
import re
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

import orjson
import structlog

from cubeyard.experiments.user_images import registry_of
from cubeyard.settings import Settings

Json = dict[str, Any]
log = structlog.get_logger(__name__)

CALL_SECS, TOTAL_SECS = 5.0, 15.0
MOST_BYTES = 4 * 1024 * 1024
"""Largest accepted response; registries limit manifests to this size too."""
MOST_REDIRECTS = 3
KEPT_SECS = 60.0
INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")
PROCESSORS = {"x86_64": "amd64", "aarch64": "arm64"}
_lock = threading.Lock()
_known: dict[str, tuple[float, Announced | None]] = {}
_PAIR = re.compile(r'(\w+)="([^"]*)"')


class Announced(NamedTuple):
    size_bytes: int
    volumes: tuple[str, ...]


Announce = Callable[[str], Announced | None]
"""Returns the manifest's data; None if the registry does not respond to this process, or requires a
password."""


def no_announcement(_: str) -> None:
    return None


class _RefusedError(Exception):
    pass


def announced(settings: Settings, image: str) -> Announced | None:
    """Calls only registries of the settings, and each once for all hosts of a run."""
    if registry_of(image) not in settings.registries:
        return None
    with _lock:
        at, result = _known.get(image, (0.0, None))
        if at == 0.0 or time.monotonic() - at > KEPT_SECS:
            result = _asked(image)
            _known[image] = (time.monotonic(), result)
        return result


def _asked(image: str) -> Announced | None:
    try:
        return _Registry(image).announced()
    except Exception as error:  # an answer can be anything, and the kubelet's pull decides
        log.warning("image_not_announced", image=image, error=f"{type(error).__name__}: {str(error)[:200]}")
        return None


def _place(image: str) -> tuple[str, str, str]:
    """Host, name, and tag or digest of an image."""
    registry, (name, _, digest) = registry_of(image), image.partition("@")
    folder, slash, last = name.rpartition("/")
    last, _, tag = last.partition(":")
    name = f"{folder}{slash}{last}"
    first, slash, rest = name.partition("/")
    if slash and (registry != "docker.io" or "." in first):
        name = rest
    if registry == "docker.io":
        return "registry-1.docker.io", name if "/" in name else f"library/{name}", digest or tag or "latest"
    return registry, name, digest or tag or "latest"


class _Registry:
    """Requests for one image, without a password."""

    def __init__(self, image: str) -> None:
        import requests

        self._host, self._name, self._reference = _place(image)
        self._session = requests.Session()
        self._session.trust_env = False
        self._until = time.monotonic() + TOTAL_SECS
        self._token = ""

    def announced(self) -> Announced:
        with self._session:
            manifest = self._get(f"manifests/{self._reference}")
            if "manifests" in manifest:
                manifest = self._get(f"manifests/{self._chosen(manifest['manifests'])}")
            sizes = [int(layer["size"]) for layer in manifest["layers"]]
            config = self._get(f"blobs/{manifest['config']['digest']}")
        volumes = {posixpath.normpath(folder) for folder in (config.get("config") or {}).get("Volumes") or {}}
        if not all(folder.startswith("/") for folder in volumes):
            raise _RefusedError("a volume without a whole path")
        return Announced(sum(sizes), tuple(sorted(volumes)))

    def _chosen(self, manifests: list[Json]) -> str:
        """Selects the manifest for this processor: the nodes of a cluster usually all have one
        kind."""
        wanted = {"os": "linux", "architecture": PROCESSORS.get(platform.machine(), platform.machine())}
        for item in manifests:
            if wanted.items() <= item.get("platform", {}).items():
                return str(item["digest"])
        raise _RefusedError(f"no variant for {wanted['architecture']}")

    def _get(self, what: str) -> Json:
        url = f"https://{self._host}/v2/{self._name}/{what}"
        status, headers, body = self._call(url)
        if status == 401 and not self._token:
            self._token = self._ask_token(headers.get("www-authenticate", ""))
            status, headers, body = self._call(url)
        if status != 200:
            raise _RefusedError(f"status {status}")
        return orjson.loads(body)

    def _ask_token(self, challenge: str) -> str:
        scheme, _, rest = challenge.partition(" ")
        pairs = dict(_PAIR.findall(rest))
        if scheme.lower() != "bearer" or "realm" not in pairs:
            raise _RefusedError("a password is needed")
        service = {"service": pairs["service"]} if "service" in pairs else {}
        status, _, body = self._call(pairs["realm"], {**service, "scope": f"repository:{self._name}:pull"})
        if status != 200:
            raise _RefusedError(f"no token, status {status}")
        answer = orjson.loads(body)
        return str(answer.get("token") or answer["access_token"])

    def _call(self, url: str, params: dict[str, str] | None = None) -> tuple[int, Any, bytes]:
        """Requests a URL and follows redirects. The token is sent only to the registry."""
        for _ in range(MOST_REDIRECTS + 1):
            _refuse_inside(url, self._host)
            headers = {"accept": ", ".join((*INDEXES, *MANIFESTS))}
            if self._token and urlsplit(url).netloc == self._host:
                headers["authorization"] = f"Bearer {self._token}"
            with self._session.get(
                url, params=params, headers=headers, timeout=CALL_SECS, stream=True, allow_redirects=False
            ) as answer:
                if not answer.is_redirect:
                    return answer.status_code, answer.headers, self._body(answer)
                url, params = urljoin(url, answer.headers["location"]), None
        raise _RefusedError("too many redirects")

    def _body(self, answer: Any) -> bytes:
        body = b""
        for piece in answer.iter_content(64 * 1024):
            body += piece
            if len(body) > MOST_BYTES or time.monotonic() > self._until:
                raise _RefusedError(f"{len(body)} bytes in {TOTAL_SECS:g} s, and more to come")
        return body


def _refuse_inside(url: str, registry: str) -> None:
    """A registry may redirect callers to other hosts, but not to addresses or names of the network
    of this process."""
    place = urlsplit(url)
    host = place.hostname or ""
    if place.scheme != "https":
        raise _RefusedError("not https")
    if place.netloc == registry:
        return
    try:
        ipaddress.ip_address(host)
    except ValueError:
        if "." in host.strip(".") and not host.endswith((".local", ".internal", ".svc")):
            return
    raise _RefusedError(f"it sends to {host}")
