"""Separate queues for runs, one per lane, so that a long sweep delays neither exports nor short
runs, and runs of real packets wait for a worker that can emulate.

A run of unknown duration starts in the quick lane. After `QUICK_SECS` it continues in the long lane
and keeps its points, so that nobody has to guess its duration. Runs that were long before start in
the long lane. A worker that can emulate does the runs of real packets in turn with those. There a
sweep requests one more worker at a time, by an entry at the end of the queue: a worker takes it if
nothing else waits, and then requests the next one. [ours]
"""

from __future__ import annotations

from typing import Literal

from sqlalchemy.orm import Session

from cubeyard.kit.queue import Work, WorkQueue

Lane = Literal["quick", "long", "real"]
QUEUES: dict[Lane, str] = {"quick": "runs-quick", "long": "runs", "real": "runs-real"}
QUICK_SECS = 5.0
"""How long a run may take in the quick lane."""
RUNS = Work(queue=QUEUES["long"], namespace="cubeyard_runs", task="run", argument="run_id", done_by="do_run")


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
