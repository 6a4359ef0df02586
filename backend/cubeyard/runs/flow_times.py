"""The times of a simulation's flows, point by point: for finished points and for the latest running
or cancelled one."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from cubeyard.experiments.flow_times import Table
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError
from cubeyard.runs.repository import RunRepository
from cubeyard.runs.results import frames_of
from cubeyard.runs.schemas import Run


def tables(database: Database, run: Run) -> Iterator[Table]:
    """One table per point, in the order of points, and at the end the partial results of the latest
    running point: with many flows, one table per list that it reported. Only one table at a time is
    in memory."""
    done: set[int] = set()
    for frame in frames_of(database, run.id):
        payload = orjson.loads(frame.payload)
        done.add(payload["point"])
        if (columns := payload["result"].get("flow_times")) is not None:
            yield {"point": payload["point"], "seed": payload["seed"]}, columns
    if run.state == "succeeded":
        return
    with database.session() as session:
        latest = RunRepository(session).last_payload(run.id, "simulating")
        lists = RunRepository(session).flow_lists(run.id)
    payload = None if latest is None else orjson.loads(latest)
    if payload is not None and payload["point"] not in done and "flow_times" in payload["result"]:
        yield {"point": payload["point"], "seed": payload["seed"]}, payload["result"]["flow_times"]
    for seq, point in lists:
        if point not in done:
            with database.session() as session:
                payload = orjson.loads(RunRepository(session).payload(run.id, seq))
            yield {"point": point, "seed": payload["seed"]}, payload["result"]["flow_times"]


def refuse_without(run: Run, document: dict[str, object] | None) -> None:
    """Raises a 409 for a run that keeps no times of flows, by its experiment's document."""
    packet = (document or {}).get("packet")
    if isinstance(packet, dict) and packet.get("flow_times"):
        return
    why = "is no simulation" if run.kind != "simulation" else "keeps no times of flows"
    hint = "Simulate with packet.flow_times true: it is `Each flow's times` in the form."
    raise ProblemError(409, "no-flow-times", f"Run {run.id} {why}. {hint}")
