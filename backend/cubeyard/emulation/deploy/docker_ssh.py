"""A Docker engine of another machine, over `ssh -- docker system dial-stdio`, as the docker command
reaches it: one ssh process per connection, with the user's own keys, hosts and agent.

Docker's client needs paramiko for this, which reads neither the configuration of ssh nor a socket's
time limit. Here the connection is a pair of sockets, so everything else works as with a local
engine. A machine that falls silent ends its ssh within `SILENT_SECS`. [ours]
"""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from typing import IO, Any
from urllib.parse import urlsplit

import docker
import urllib3
import urllib3.connection
from docker.transport.unixconn import UnixHTTPAdapter

ALIVE_SECS, ALIVE_TRIES = 2, 2
SILENT_SECS = 5
"""Time after which ssh gives up a machine that does not respond."""
OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": SILENT_SECS,
    "ServerAliveInterval": ALIVE_SECS,
    "ServerAliveCountMax": ALIVE_TRIES,
    "ControlPath": "none",
}
DIAL = ("docker", "system", "dial-stdio")
MOST_WORDS = 300
END_SECS = 0.5


def client(url: str, secs: int, version: str) -> Any:
    """An API client for `ssh://[user@]host[:port]`. Connects with the first call."""
    made: Any = docker.APIClient(base_url="unix:///over-ssh", timeout=secs, version=version)
    adapter = _Adapter(command(url), secs)
    made._custom_adapter = adapter  # noqa: SLF001 - the client tries it before the mounted adapters
    made.mount("http+docker://", adapter)
    return made


def command(url: str) -> list[str]:
    """The ssh command for a URL. Raises ValueError if the URL has no host."""
    place = urlsplit(url)
    if not place.hostname:
        raise ValueError(f"{url} names no host; write ssh://user@host")
    words = [word for name, value in OPTIONS.items() for word in ("-o", f"{name}={value}")]
    words += ["-l", place.username] if place.username else []
    words += ["-p", str(place.port)] if place.port else []
    return ["ssh", "-T", *words, "--", place.hostname, *DIAL]


class _Connection(urllib3.connection.HTTPConnection):
    def __init__(self, words: list[str], secs: int) -> None:
        super().__init__("localhost", timeout=secs)
        self._words = words
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._end = ""
        """The last output of ssh, or that the machine was silent."""

    def connect(self) -> None:
        ours, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the connection
        with theirs:
            self._process = subprocess.Popen(
                self._words, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=self._errors, start_new_session=True
            )
        ours.settimeout(self.timeout if isinstance(self.timeout, int | float) else None)
        self.sock = ours

    def getresponse(self) -> Any:
        try:
            return super().getresponse()
        except (OSError, urllib3.exceptions.HTTPError) as error:
            self.close()
            raise ConnectionError(f"{' '.join(self._words[-4:])}: {self._end}") from error

    def close(self) -> None:
        """Closes the connection. The ssh process loses its input and exits; if the machine is
        silent, it is ended."""
        super().close()
        if self._process is None or self._errors is None:
            return
        try:
            self._process.wait(END_SECS)
            size = os.fstat(self._errors.fileno()).st_size
            written = os.pread(self._errors.fileno(), MOST_WORDS, max(size - MOST_WORDS, 0)).decode(errors="replace")
            self._end = " ".join(written.split()) or "the connection ended"
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            self._end = f"no answer within {self.timeout} s"
        self._errors.close()
        self._process = self._errors = None


class _Pool(urllib3.connectionpool.HTTPConnectionPool):
    def __init__(self, words: list[str], secs: int, most: int) -> None:
        super().__init__("localhost", timeout=secs, maxsize=most)
        self._words, self._secs = words, secs

    def _new_conn(self) -> _Connection:  # pyright: ignore[reportIncompatibleMethodOverride]
        return _Connection(self._words, self._secs)


class _Adapter(UnixHTTPAdapter):
    def __init__(self, words: list[str], secs: int) -> None:
        super().__init__("http+unix:///over-ssh", secs)
        self._words = words

    def get_connection(self, url: Any, proxies: Any = None) -> Any:  # noqa: ARG002 - ssh has its own
        with self.pools.lock:
            pool = self.pools.get(url)
            if pool is None:
                self.pools[url] = pool = _Pool(self._words, self.timeout, self.max_pool_size)
        return pool
