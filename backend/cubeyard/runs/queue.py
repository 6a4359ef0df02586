"""Separate queues for runs, one per lane, so that a long sweep delays neither exports nor short
runs, and runs of real packets wait for a worker that can emulate as they need.

A run of unknown duration starts in the quick lane. After `QUICK_SECS` it continues in the long lane
and keeps its points, so that nobody has to guess its duration. Runs that were long before start in
the long lane. A worker that can emulate does the runs of real packets in turn with those: runs in
namespaces, in containers, and with images of users have three lanes. In the long lane a
sweep requests one more worker at a time, by an entry at the end of the queue: a worker takes it
if nothing else waits, and then requests the next one. [ours]
"""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy.orm import Session

from cubeyard.kit.ear import Sign
from cubeyard.kit.queue import Work, WorkQueue

Lane = Literal["quick", "long", "real", "real-containers", "real-images"]
QUEUES: dict[Lane, str] = {
    "quick": "runs-quick",
    "long": "runs",
    "real": "runs-real",
    "real-containers": "runs-real-containers",
    "real-images": "runs-real-images",
}
REAL: dict[Sign, Lane] = {"namespaces": "real", "containers": "real-containers", "images": "real-images"}
"""The lane of the runs that need a worker with this sign."""
QUICK_SECS = 5.0
"""How long a run may take in the quick lane."""
RUNS = Work(queue=QUEUES["long"], namespace="cubeyard_runs", task="run", argument="run_id", done_by="do_run")


def real_lane(document: dict[str, Any]) -> Lane:
    """The lane of an emulation, by the document of its experiment."""
    emulation = document.get("emulation") or {}
    return REAL["images" if emulation.get("images") else emulation.get("mode", "containers")]


class RunQueue(WorkQueue):
    def __init__(self) -> None:
        super().__init__(RUNS)

    def enter(self, session: Session, run_id: str, lane: Lane) -> int:
        """The queue's number for a run, last in its lane."""
        return self.put(session, run_id, QUEUES[lane])

    def invite(self, session: Session, run_id: str, lane: Lane) -> int:
        """The queue's number for one more worker at a run that is under way. Runs that wait to be
        begun come first."""
        return self.put(session, run_id, QUEUES[lane], last=True)
