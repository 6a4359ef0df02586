"""The runs' own queue: a long sweep keeps no export waiting."""

from __future__ import annotations

from cubeyard.kit.queue import Work, WorkQueue

RUNS = Work(queue="runs", namespace="cubeyard_runs", task="run", argument="run_id", done_by="do_run")


class RunQueue(WorkQueue):
    def __init__(self) -> None:
        super().__init__(RUNS)
