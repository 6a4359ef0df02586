"""Probes of containers: `python -m cubeyard.kit.alive http URL | fabric SOCKET | relay PORT | beat
FILE` exits with 0 if the program answers, and prints why it does not.

A program that hangs still has its socket, and its kernel accepts connections: each probe waits for
an answer of the program itself. It starts every few seconds, so it imports little, and nothing of
Cubeyard.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

ANSWER_SECS = 10.0
BEAT_SECS = 5.0
SILENT_SECS = 60.0
"""A beat may be late on a busy machine."""


async def beat(file: Path, hangs: Callable[[], object]) -> None:
    """Touches the file for as long as the event loop turns and nothing else hangs, with or without
    a database."""
    import asyncio

    while True:
        if not hangs():
            file.touch()  # noqa: ASYNC240 - in memory
        await asyncio.sleep(BEAT_SECS)


def beats(file: str) -> None:
    silent_secs = time.time() - Path(file).stat().st_mtime
    if silent_secs > SILENT_SECS:
        raise TimeoutError(f"{file} was touched {silent_secs:.0f} s ago; a worker does that every {BEAT_SECS:g} s")


def http(url: str) -> None:
    """A URL of this machine with a port."""
    host, _, path = url.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port)), ANSWER_SECS) as connection:
        connection.sendall(f"GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n".encode())
        status = connection.makefile("rb").readline().decode("latin-1")
    if status.split(" ")[1:2] != ["200"]:
        raise ConnectionError(f"the answer is {status.strip() or 'empty'}")


def fabric(path: str) -> None:
    """Any line is an answer: a fabric with too many callers is busy, but does not hang."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_SECS)
        connection.connect(path)
        connection.sendall(b'{"id": 1, "method": "host", "params": {}}\n')
        if not connection.recv(1):
            raise ConnectionResetError(f"{path} closes without an answer")


def relay(port: str) -> None:
    """The relay's part of a TLS handshake, which it does before it looks at the caller's key."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", int(port)), ANSWER_SECS) as plain, context.wrap_socket(plain):
        pass


PROBES: dict[str, Callable[[str], None]] = {"http": http, "fabric": fabric, "relay": relay, "beat": beats}


def main(kind: str, what: str) -> int:
    try:
        PROBES[kind](what)
    except (OSError, ValueError) as error:
        print(f"{kind} {what}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
