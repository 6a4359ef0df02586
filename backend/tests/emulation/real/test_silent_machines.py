"""A connection to a fabric on another machine is lost soon if that machine's kernel does not
answer, but not if only the fabric is busy."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

import pytest

from cubeyard.emulation.fabric.client import LOST_SECS, Remote, is_away, notice_loss

pytestmark = pytest.mark.long

LATE_SECS = 3.0
"""How late a kernel's timers may be on a busy machine."""


def drop(action: str, port: int) -> None:
    """Inserts (`-I`) or deletes (`-D`) rules that drop all packets to or from a port of this
    machine."""
    for end in ("--dport", "--sport"):
        words = ["iptables", action, "INPUT", "-i", "lo", "-p", "tcp", end, str(port), "-j", "DROP"]
        subprocess.run(words, check=True, capture_output=True, timeout=10)


def test_a_silent_machine_is_lost_and_a_busy_program_is_not(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            notice_loss(connection)
            peer, _ = listener.accept()
            with peer:
                connection.settimeout(LOST_SECS + LATE_SECS)
                with pytest.raises(TimeoutError, match=r"^timed out$"):
                    connection.recv(1)
                connection.settimeout(60)
                drop("-I", port)
                began = time.monotonic()
                try:
                    with pytest.raises(TimeoutError, match="Connection timed out"):
                        connection.recv(1)
                    took = time.monotonic() - began
                    assert is_away(Remote("127.0.0.1", port, tmp_path))
                finally:
                    drop("-D", port)
    assert LOST_SECS - 2 <= took <= LOST_SECS + LATE_SECS, took
