"""Packet captures of a live run: packets of a link or a port, as pcapng files that are stored with
the run.

A capture can take long, so a thread of the API's process makes it over a separate connection to the
fabric. Its row in the database has the state.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from sqlalchemy.exc import DBAPIError

from cubeyard.emulation.fabric.hosts import Host, Hosts
from cubeyard.emulation.live import schemas
from cubeyard.emulation.live.elsewhere import LiveClient
from cubeyard.emulation.live.models import CaptureRow
from cubeyard.emulation.live.repository import CaptureRepository
from cubeyard.emulation.network.network import Network
from cubeyard.kit.changes.service import ChangeLog
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError, field_error, not_found
from cubeyard.kit.ids import new_id

Json = dict[str, Any]
log = structlog.get_logger(__name__)

MAX_CAPTURES = 16
"""Maximum number of captures per run."""
MAX_RUN_BYTES = 64 * 2**20
"""Total size of all captures of a run."""
GRACE_SECS = 30.0
"""If a capture exceeds its time limit by this, its process has died."""
LOST = "The server stopped before the capture ended."


@dataclass(frozen=True)
class Target:
    """What to capture, and on which host."""

    name: str
    for_fabric: Json
    host: Host


def target_of(hosts: Hosts, network: Network, asked: schemas.CaptureTarget, place: str = "body") -> Target:
    """`place` is the field of the request with the target. Raises a 422 that names the field if the
    run does not have the link, server or port."""
    spread = hosts.spread(network)
    if asked.link is not None:
        link = next((item for item in network.links if asked.link in network.link_names(item)), None)
        if link is None:
            example = network.link_name(network.links[0])
            hint = f"Links are named by their two ends, like {example}."
            raise field_error(f"{place}.link", asked.link, f"There is no link {asked.link} in this run.", hint=hint)
        at = next((node for node, _ in (link.a, link.b) if node in network.servers), None)
        host = spread.hosts[spread.host_of[at] if at is not None else 0]
        return Target(network.link_name(link), {"link": link.id}, host)
    assert asked.server is not None
    server = network.id_of.get(asked.server)
    if server is None or server not in network.servers:
        raise field_error(f"{place}.server", asked.server, f"There is no server {asked.server} in this run.")
    ports = sorted(port for link in network.links for node, port in (link.a, link.b) if node == server)
    if asked.port not in ports:
        limit = f"one of {', '.join(str(port) for port in ports)}"
        message = f"Port {asked.port} of server {asked.server} has no link in this run."
        raise field_error(f"{place}.port", asked.port, message, limit=limit)
    return Target(f"{asked.server} p{asked.port}", {"port": [server, asked.port]}, spread.hosts[spread.host_of[server]])


def capture(target: Target, run_id: str, limits: schemas.CaptureLimits) -> tuple[bytes, Json]:
    """The file, and `{packets, missed, end, interface}`. Returns when a limit is reached. Raises
    FabricError and FabricGoneError."""
    with LiveClient(target.host) as fabric:
        params = {"run": run_id, "target": target.for_fabric, "limits": limits.for_fabric()}
        answer = fabric.call("capture", limits.max_secs + GRACE_SECS, **params)
    return bytes.fromhex(answer.pop("pcapng")), answer


class CaptureService:
    """Captures of runs. Callers must check that the run exists and is live."""

    def __init__(self, repository: CaptureRepository, log: ChangeLog) -> None:
        self._rows = repository
        self._log = log

    def start(self, run_id: str, target: Target, limits: schemas.CaptureLimits) -> CaptureRow:
        """Adds a capture's row, which `make` completes. Raises a 409 if the run has too many
        captures, or not enough space for another."""
        rows = self._rows.of_run(run_id)
        used = sum(row.size_bytes or row.max_bytes for row in rows if self._state(row)[0] != "failed")
        if len(rows) >= MAX_CAPTURES or used + limits.max_bytes > MAX_RUN_BYTES:
            limit = f"at most {MAX_CAPTURES} captures with {MAX_RUN_BYTES // 2**20} MiB"
            raise ProblemError(409, "too-many-captures", f"A run has {limit}. Delete one that is not needed.")
        row = self._rows.add(
            CaptureRow(
                id=new_id(),
                run_id=run_id,
                target=target.name,
                state="running",
                max_bytes=limits.max_bytes,
                max_secs=limits.max_secs,
            )
        )
        self._log.record("capture", "started", row.id, row.target, f"run {run_id}")
        return row

    def of_run(self, run_id: str) -> schemas.CaptureList:
        return schemas.CaptureList(items=[self.described(row) for row in self._rows.of_run(run_id)])

    def described(self, row: CaptureRow) -> schemas.Capture:
        state, reason = self._state(row)
        return schemas.Capture(
            id=row.id,
            run_id=row.run_id,
            target=row.target,
            state=state,
            reason=reason,
            packets=row.packets,
            missed=row.missed,
            size_bytes=row.size_bytes,
            end=row.end,
            max_bytes=row.max_bytes,
            max_secs=row.max_secs,
            created_at=row.created_at,
        )

    def file(self, run_id: str, capture_id: str) -> tuple[Iterator[bytes], str, int]:
        """The file's content, name and size. Raises a 404, and a 409 if the capture is not
        finished."""
        row = self._found(run_id, capture_id)
        data = self._rows.data(capture_id)
        if data is None:
            raise ProblemError(409, "no-file", f"Capture {capture_id} has no file: it is {self._state(row)[0]}.")
        return iter([data]), f"{row.target}-{capture_id[:8]}.pcapng".replace("/", "-"), len(data)

    def delete(self, run_id: str, capture_id: str) -> None:
        """Raises a 404 for an unknown capture."""
        row = self._found(run_id, capture_id)
        self._rows.delete(row)
        self._log.record("capture", "deleted", row.id, row.target, f"run {run_id}")

    def _found(self, run_id: str, capture_id: str) -> CaptureRow:
        row = self._rows.capture(run_id, capture_id)
        if row is None:
            raise not_found(f"capture {capture_id} of run {run_id}")
        return row

    def _state(self, row: CaptureRow) -> tuple[Any, str]:
        if row.state == "running" and self._rows.now() - row.created_at > timedelta(seconds=row.max_secs + GRACE_SECS):
            return "failed", LOST
        return row.state, row.reason


def make_in_background(
    database: Database, capture_id: str, target: Target, run_id: str, limits: schemas.CaptureLimits
) -> None:
    """Makes a capture in a thread that the process does not wait for. Its row must be committed."""
    work = (database, capture_id, target, run_id, limits)
    threading.Thread(target=make, args=work, name=f"capture-{capture_id}", daemon=True).start()


def make(database: Database, capture_id: str, target: Target, run_id: str, limits: schemas.CaptureLimits) -> None:
    """Captures, and stores the file or the reason for the failure."""
    try:
        data, result = capture(target, run_id, limits)
        outcome: Json = {
            "state": "done",
            "data": data,
            "size_bytes": len(data),
            **{name: result[name] for name in ("packets", "missed", "end")},
        }
    except ProblemError as error:
        outcome = {"state": "failed", "reason": error.detail}
    try:
        with database.session() as session:
            CaptureRepository(session).ended(capture_id, outcome)
    except DBAPIError as error:
        # The row stays `running`; after the grace period it is reported as lost.
        log.warning("capture_not_kept", run=run_id, capture=capture_id, error=str(error.orig))
