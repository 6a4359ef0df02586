"""The runs' own queues, one for each lane: a long sweep keeps neither an export nor a table of a
second waiting.

A run whose duration is not known starts in the quick lane. After `QUICK_SECS` there it goes on in
the long lane, with the points that it has: nobody has to guess how long it takes. A run that is
known to take longer, and one that measures with real packets, starts in the long lane. There a
sweep asks for one more worker at a time, by an entry behind all others: a worker takes it if
nothing else waits, and then asks for the next one. [ours]
"""

from __future__ import annotations

from typing import Literal

from sqlalchemy.orm import Session

from cubeyard.kit.queue import Work, WorkQueue

Lane = Literal["quick", "long"]
QUEUES: dict[Lane, str] = {"quick": "runs-quick", "long": "runs"}
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
