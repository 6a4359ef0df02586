"""The queue of the export jobs."""

from __future__ import annotations

from cubeyard.kit.queue import Work, WorkQueue

EXPORTS = Work(queue="exports", namespace="cubeyard", task="export", argument="job_id", done_by="run_export")


class Queue(WorkQueue):
    def __init__(self) -> None:
        super().__init__(EXPORTS)
