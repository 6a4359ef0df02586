"""The client of cubeyard-fabric: one JSON object per line over a Unix socket, with calls answered
in order, and frames over a separate connection."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import orjson

from cubeyard.emulation.fabric.place import JOURNAL
from cubeyard.kit.disk import DiskFullError, is_full
from cubeyard.kit.errors import ProblemError

Json = dict[str, Any]

CALL_SECS = 120.0
READ_BYTES = 256 * 1024
REMOTE_SECS = 5.0
ANSWER_SECS = 5.0
"""Time limit of calls that even a busy fabric answers quickly."""
LOST_SECS = 8.0
"""A machine counts as lost if its kernel has not answered for this long."""
LOSS_OPTIONS = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 2),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 6),
    # Time limit for unacknowledged data, which also applies to keepalive probes.
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, round(LOST_SECS * 1000)),
    (socket.IPPROTO_TCP, socket.TCP_SYNCNT, 2),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
)
"""Socket options that detect a lost machine after LOST_SECS, even if nothing is sent. The kernel
answers for a program that is too busy, so only a machine that is unreachable or stopped counts as
lost."""
RELAY_NAME = "cubeyard-fabric"
"""The name in a relay's certificate, which does not depend on its address. A caller's certificate
has CALLER_NAME."""
CALLER_NAME = "cubeyard-worker"
WATCHER_NAME = "cubeyard-api"
"""The name in the API's certificate; the API changes no run."""


class FabricError(ProblemError):
    """The fabric refuses a call. Its message names the field, the value, the limit and the fix."""

    def __init__(self, error: Json) -> None:
        detail = str(error.get("message") or error.get("code") or "The fabric refused.")
        if error.get("fix"):
            detail = f"{detail.rstrip('.')}. {error['fix']}"
        super().__init__(422, f"fabric-{error.get('code', 'refused')}", detail)


class FabricGoneError(ProblemError):
    """No fabric listens at the socket, or the connection was lost."""

    def __init__(self, detail: str) -> None:
        super().__init__(503, "fabric-gone", detail)


class FabricHungError(FabricGoneError):
    """A fabric holds its place but does not answer, so no other one can start there."""


class FabricSilentError(FabricGoneError):
    """Neither the fabric nor its machine responds, not even with a refusal."""


@dataclass(frozen=True)
class Remote:
    """A fabric on another machine, behind a relay (`relay.py`) that authenticates this process by
    its key."""

    host: str
    port: int
    keys: Path
    """Folder with `ca.crt`, `tls.crt` and `tls.key`."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def context(self) -> ssl.SSLContext:
        """Raises OSError if the keys cannot be read."""
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=str(self.keys / "ca.crt"))
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_cert_chain(self.keys / "tls.crt", self.keys / "tls.key")
        return context

    def connect(self, secs: float) -> ssl.SSLSocket:
        """Raises OSError, also if the other side's key is not the expected one."""
        plain = socket.create_connection((self.host, self.port), secs)
        try:
            notice_loss(plain)
            return self.context().wrap_socket(plain, server_hostname=RELAY_NAME)
        except OSError:
            plain.close()
            raise


@dataclass(frozen=True)
class Absent:
    """The fabric of a run's host that is not ready at present."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def refusal(self) -> OSError:
        return ConnectionRefusedError(errno.ECONNREFUSED, "no ready fabric runs on it")

    def connect(self, secs: float) -> ssl.SSLSocket:  # noqa: ARG002 - as a Remote
        raise self.refusal


Socket = Path | Remote | Absent
"""The address of a fabric."""


async def open_streams(fabric: Socket, limit: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Opens a connection for asyncio, with lines of at most `limit` bytes. Raises
    FabricGoneError."""
    try:
        if isinstance(fabric, Path):
            return await asyncio.open_unix_connection(
                sock=await asyncio.to_thread(_unix, fabric, REMOTE_SECS), limit=limit
            )
        if isinstance(fabric, Absent):
            raise fabric.refusal
        async with asyncio.timeout(REMOTE_SECS):
            reader, writer = await asyncio.open_connection(
                fabric.host, fabric.port, ssl=fabric.context(), server_hostname=RELAY_NAME, limit=limit
            )
    except OSError as error:
        raise _gone(fabric, error) from error
    notice_loss(writer.get_extra_info("socket"))
    return reader, writer


def notice_loss(connection: socket.socket) -> None:
    for option in LOSS_OPTIONS:
        connection.setsockopt(*option)


def is_away(fabric: Socket) -> bool:
    """Whether neither a fabric nor its machine responds; the machine would at least refuse. Takes
    at most REMOTE_SECS and ANSWER_SECS."""
    try:
        with FabricClient(fabric) as client:
            client.call("host", ANSWER_SECS)
    except FabricSilentError:
        return True
    except (FabricGoneError, FabricError):
        return False
    return False


def _gone(fabric: Socket, error: OSError) -> FabricGoneError:
    refuses = isinstance(error, (ConnectionError, FileNotFoundError, ssl.SSLError))
    silent = isinstance(error, TimeoutError) or (isinstance(fabric, Remote) and not refuses)
    return (FabricSilentError if silent else FabricGoneError)(
        f"cubeyard-fabric does not answer at {fabric}: {error.strerror or error}."
    )


def _unix(path: Path, secs: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(secs)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        raise
    # The listener must be root's fabric or a forwarding process of this user (`ssh -L`). A listener
    # of another user would receive descriptions of runs, and could forge answers.
    if (owner := _credentials(connection)[1]) not in (0, os.geteuid()):
        connection.close()
        raise PermissionError(
            errno.EPERM, f"user {owner} listens there, who is neither root nor {os.geteuid()}; remove the file"
        )
    return connection


def _credentials(connection: socket.socket) -> tuple[int, int, int]:
    """Process, user and group of the other end, as the kernel reports them."""
    return struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))


class FabricClient:
    """One connection to a fabric. Not thread-safe."""

    def __init__(self, path: Socket, connect_secs: float = 2.0, *, looks: bool = False) -> None:
        """`looks`: whether to check, during a long call, that the fabric still answers on a second
        connection. For other machines: a forwarded socket stays open when its machine is lost."""
        self.path = path
        self._looks = looks
        self._number = 0
        self._held = bytearray()
        try:
            self._socket = _unix(path, connect_secs) if isinstance(path, Path) else path.connect(REMOTE_SECS)
        except OSError as error:
            raise _gone(path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    @property
    def pid(self) -> int:
        """The process at the other end, as the kernel reports it."""
        return _credentials(self._socket)[0]

    @property
    def key_ends(self) -> datetime | None:
        """When the certificate of the other side ends; None without one."""
        certificate = self._socket.getpeercert() if isinstance(self._socket, ssl.SSLSocket) else None
        ends = (certificate or {}).get("notAfter")
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(ends), UTC) if isinstance(ends, str) else None

    def call(self, method: str, secs: float = CALL_SECS, **params: Any) -> Json:
        """Returns the result of a call. Raises FabricError for a refusal, FabricGoneError if the
        connection is lost, FabricSilentError if there is no answer."""
        self._number += 1
        sent = orjson.dumps({"id": self._number, "method": method, "params": params}) + b"\n"
        deadline = time.monotonic() + secs
        try:
            self._socket.settimeout(secs)
            self._socket.sendall(sent)
        except OSError as error:
            raise FabricGoneError(f"cubeyard-fabric went away during {method}: {error}.") from error
        while True:
            left = deadline - time.monotonic()
            answer = self._message(min(left, ANSWER_SECS) if self._looks else left)
            if answer is None and self._looks and left > ANSWER_SECS:
                if is_away(self.path):
                    raise FabricSilentError(f"cubeyard-fabric does not answer: neither {method} nor anything else.")
                continue
            if answer is None:
                raise FabricSilentError(f"cubeyard-fabric did not answer {method} within {secs:g} s.")
            if answer.get("id") != self._number:
                continue  # the answer to a call that was given up
            if answer.get("error") is not None:
                raise self._refusal(answer["error"])
            return answer.get("result") or {}

    def _refusal(self, error: Json) -> FabricError:
        refusal = FabricError(error)
        if not is_full(refusal):
            return refusal
        full = DiskFullError(JOURNAL, self.path.parent if isinstance(self.path, Path) else None)
        return FabricError({"code": full.code, "message": full.detail})

    def subscribe(self, run_id: str) -> None:
        """Requests the run's frames on this connection."""
        self.call("subscribe", run=run_id)

    def frames(self, wait_secs: float) -> Iterator[Json | None]:
        """Yields each frame of the subscription; None if no frame arrived for `wait_secs`."""
        while True:
            message = self._message(wait_secs)
            if message is None:
                yield None
            elif "frame" in message:
                yield message["frame"]

    def fileno(self) -> int:
        """The file descriptor, for polling."""
        return self._socket.fileno()

    def arrived(self) -> list[Json]:
        """The frames that have already arrived. Waits only if there is none."""
        matches = []
        message = self._message(0.2)
        while message is not None:
            if "frame" in message:
                matches.append(message["frame"])
            message = self._message(0.0)
        return matches

    def _message(self, secs: float) -> Json | None:
        """The next line; None if the time is up."""
        deadline = time.monotonic() + max(secs, 0.0)
        while (end := self._held.find(b"\n")) < 0:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self._socket.settimeout(left)
            try:
                more = self._socket.recv(READ_BYTES)
            except TimeoutError:
                return None
            except OSError as error:
                raise FabricGoneError(f"The connection to cubeyard-fabric broke: {error}.") from error
            if not more:
                raise FabricGoneError("cubeyard-fabric went away.")
            self._held += more
        line = bytes(self._held[:end])
        del self._held[: end + 1]
        try:
            return orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise FabricGoneError(f"cubeyard-fabric said something that is not JSON: {error}.") from error
