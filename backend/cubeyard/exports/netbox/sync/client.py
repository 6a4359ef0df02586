"""NetBox's REST API in bulk: lists page by page, and objects created, changed and deleted many at a
time."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

Json = dict[str, Any]
PAGE = 500
TIMEOUT_SECS = 120.0
"""The size of a request is chosen to take 10 seconds; gunicorn and most proxies time out before
this."""
_BUSY = frozenset({408, 429, 500, 502, 503, 504})
_MAX_SHOWN_CHARACTERS = 600


class NetboxError(Exception):
    """NetBox refused a request; the message gives the request and the reason."""


class NetboxBusyError(NetboxError):
    """No response, or a response that requests a retry: NetBox may or may not have made the
    change."""


class NetboxClient:
    """One connection to a NetBox, kept open between calls.

    `url` is the address of its home page; `token` an API token of either kind (`nbt_...` or 40
    hexadecimal digits).
    """

    def __init__(self, url: str, token: str, timeout_secs: float = TIMEOUT_SECS) -> None:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise NetboxError(f"{url} is no address of a NetBox: write it as https://netbox.example.org.")
        self._https, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._base = parts.path.rstrip("/")
        self._headers = {
            "Authorization": f"{'Bearer' if token.startswith('nbt_') else 'Token'} {token}",
            "Accept": "application/json",
            "Content-Type": "application/json",
        }
        self._timeout_secs = timeout_secs
        self._connection: http.client.HTTPConnection | None = None
        self._answered = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def all(self, path: str, query: Mapping[str, object] | None = None) -> list[Json]:
        """All objects of a list that match the query, ordered by id."""
        out: list[Json] = []
        while True:
            request = {**(query or {}), "limit": PAGE, "offset": len(out), "ordering": "id"}
            page = self.call("GET", f"{path}?{urlencode(request, doseq=True)}")
            out += page["results"]
            if len(out) >= page["count"] or not page["results"]:
                return out

    def create(self, path: str, objects: Sequence[Json]) -> list[Json]:
        """Creates all objects or none."""
        return self.call("POST", path, list(objects)) if objects else []

    def change(self, path: str, objects: Sequence[Json]) -> None:
        """Changes the given fields of the objects, each identified by its `id`; all of them or
        none."""
        if objects:
            self.call("PATCH", path, list(objects))

    def delete(self, path: str, ids: Sequence[int]) -> None:
        if ids:
            self.call("DELETE", path, [{"id": item} for item in ids])

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Sends one request. Raises `NetboxBusyError` if it can be repeated, `NetboxError` if
        repeating would not help."""
        data = None if body is None else json.dumps(body).encode()
        try:
            if self._connection is None:
                self._connection = self._connect()
            self._connection.request(method, f"{self._base}{path}", data, self._headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except ssl.SSLCertVerificationError as error:
            raise NetboxError(f"The certificate of {self._host} is not trusted: {error.verify_message}.") from None
        except TimeoutError:
            self.close()
            of = f" to {len(body)} objects" if isinstance(body, list) else ""
            raise NetboxBusyError(
                f"{method} {path}: no answer{of} from {self._host} within {self._timeout_secs:g} seconds."
            ) from None
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if not self._answered and isinstance(error, (ConnectionRefusedError, socket.gaierror)):
                raise NetboxError(
                    f"{self._host} cannot be reached: {error.strerror}. Check --url and that NetBox runs."
                ) from None
            raise NetboxBusyError(
                f"{method} {path}: no answer from {self._host} ({error or type(error).__name__})."
            ) from None
        self._answered = True
        if answer.status in _BUSY:
            self.close()
            raise NetboxBusyError(f"{method} {path}: NetBox answers {answer.status}. {_words(content)}")
        if answer.status >= 300:
            hint = " Is the token right, and may it write?" if answer.status in (401, 403) else ""
            raise NetboxError(f"{method} {path}: NetBox answers {answer.status}.{hint} {_refusal(content, body)}")
        try:
            return json.loads(content) if content else None
        except json.JSONDecodeError:
            raise NetboxError(f"{method} {path}: the answer is not JSON. Is {self._host} a NetBox?") from None

    def _connect(self) -> http.client.HTTPConnection:
        if self._https:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout_secs, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_secs)


def _words(content: bytes) -> str:
    return content.decode("utf-8", "replace")[:_MAX_SHOWN_CHARACTERS]


def _refusal(content: bytes, body: object) -> str:
    """The first object of a list that NetBox refused, with NetBox's message."""
    try:
        reported = json.loads(content)
    except json.JSONDecodeError:
        return _words(content)
    if isinstance(reported, list) and isinstance(body, list):
        for sent, load in zip(body, reported, strict=False):
            if load:
                return f"{json.dumps(load)[:_MAX_SHOWN_CHARACTERS]} of {json.dumps(sent)[:_MAX_SHOWN_CHARACTERS]}"
    return json.dumps(reported)[:_MAX_SHOWN_CHARACTERS]
