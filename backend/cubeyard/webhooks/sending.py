"""One attempt of a delivery: the signature, and the HTTP request. Redirects are not followed and
proxies of the environment are not used: both would lead to hosts that nobody checked."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import socket
import ssl
import threading
from contextlib import suppress
from typing import Any

from cubeyard import __version__
from cubeyard.webhooks.hosts import Hosts, RefusedError, Target, target_of
from cubeyard.webhooks.service import KEY_PREFIX

GOOD = range(200, 300)


def signature(secret: str, delivery_id: str, timestamp: int, body: str) -> str:
    """HMAC-SHA256 over id, time and body, as in the specification Standard Webhooks, so that its
    libraries can verify it."""
    key = base64.b64decode(secret.removeprefix(KEY_PREFIX))
    digest = hmac.new(key, f"{delivery_id}.{timestamp}.{body}".encode(), hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def headers(secret: str, delivery_id: str, timestamp: int, body: str) -> dict[str, str]:
    return {
        "content-type": "application/json",
        "user-agent": f"Cubeyard/{__version__}",
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(secret, delivery_id, timestamp, body),
    }


class _Connection(http.client.HTTPConnection):
    """To addresses that were checked, under the name of the target."""

    def __init__(self, target: Target, addresses: list[str], timeout_secs: float) -> None:
        super().__init__(target.host, target.port, timeout=timeout_secs)
        self.default_port = 443 if target.secure else 80
        self._secure = target.secure
        self._addresses = addresses
        self.socket: socket.socket | None = None
        """The connection, also while a TLS handshake is under way."""

    def connect(self) -> None:
        for address in self._addresses:
            try:
                self.socket = socket.create_connection((address, self.port), self.timeout)
                break
            except OSError:
                if address == self._addresses[-1]:
                    raise
        self.sock: Any = self.socket
        if self._secure:
            context = ssl.create_default_context()
            # `cut` must also end a handshake, so the socket is known before it.
            self.sock = self.socket = context.wrap_socket(
                self.sock, server_hostname=self.host, do_handshake_on_connect=False
            )
            self.sock.do_handshake()


def post(hosts: Hosts, url: str, body: str, headers: dict[str, str], timeout_secs: float) -> tuple[int | None, str]:
    """Sends it; the HTTP status, if there is one, and why the attempt failed, or nothing."""
    is_late = threading.Event()
    try:
        target = target_of(url)
        connection = _Connection(target, hosts.addresses(target), timeout_secs)
    except (RefusedError, OSError, ValueError) as error:
        return None, str(error)

    def cut() -> None:
        is_late.set()
        with suppress(OSError):
            if connection.socket is not None:
                # A TLS socket's own method also drops its state, which the other thread is using.
                socket.socket.shutdown(connection.socket, socket.SHUT_RDWR)

    # The timeout of a socket begins again with every byte.
    limit = threading.Timer(timeout_secs, cut)
    limit.daemon = True
    limit.start()
    try:
        connection.request("POST", target.path, body.encode(), headers)
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        if is_late.is_set() or isinstance(error, TimeoutError):
            return None, f"No answer within {timeout_secs:g} s."
        return None, f"{type(error).__name__}: {error}"
    finally:
        limit.cancel()
        connection.close()
    if status in GOOD:
        return status, ""
    why = "Redirects are not followed." if 300 <= status < 400 else "Only 200 to 299 count as received."
    return status, f"The host answered {status}. {why}"
