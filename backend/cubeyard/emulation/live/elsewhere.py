"""Inspection of runs of another machine's worker, whose fabric this process does not reach: the
worker calls it, and writes the state into the table of orders."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import structlog
from sqlalchemy.exc import DBAPIError

from cubeyard.emulation.fabric.client import FabricError, FabricGoneError
from cubeyard.emulation.fabric.hosts import Hosts
from cubeyard.emulation.live import schemas
from cubeyard.emulation.live.inspection import inspect, inspect_switch
from cubeyard.emulation.live.models import OrderRow
from cubeyard.emulation.live.repository import OrderRepository
from cubeyard.emulation.network.network import Network
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError
from cubeyard.runs.repository import RunRepository

Json = dict[str, Any]
log = structlog.get_logger(__name__)
State = TypeVar("State", schemas.ServerState, schemas.SwitchState)

ANSWER_SECS = 5.0
LOOK_SECS = 0.2


def inspected(database: Database, run_id: str, name: str, kind: type[State], here: Callable[[], State]) -> State:
    """The answer of `here`; that of the run's worker if this process reaches no fabric that has the
    run. Raises the errors of either, and a 503 for a worker that does not answer."""
    try:
        return here()
    except ProblemError as error:
        if not _is_elsewhere(error) or not _has_worker(database, run_id):
            raise
    outcome = _asked(database, run_id, {"name": name, "what": kind.__name__})
    if not outcome["ok"]:
        raise ProblemError(outcome["status"], outcome["code"], outcome["reason"])
    return kind.model_validate(outcome["state"])


def _is_elsewhere(error: ProblemError) -> bool:
    reasons = (error, error.__cause__)
    return any(isinstance(item, FabricGoneError) for item in reasons) or any(
        isinstance(item, FabricError) and item.code == "fabric-not-found" for item in reasons
    )


def _has_worker(database: Database, run_id: str) -> bool:
    with database.session() as session:
        row = RunRepository(session).run(run_id)
        return row is not None and row.state == "running"


def _asked(database: Database, run_id: str, question: Json) -> Json:
    with database.session() as session:
        number = OrderRepository(session).add(OrderRow(run_id=run_id, kind="inspect", payload=question)).id
    deadline = time.monotonic() + ANSWER_SECS
    outcome: Json | None = None
    while outcome is None and time.monotonic() < deadline:
        time.sleep(LOOK_SECS / 2)
        with database.session() as session:
            outcome = OrderRepository(session).outcome(number)
    with database.session() as session:
        OrderRepository(session).delete(number)
    if outcome is None:
        detail = f"The worker of run {run_id} does not answer, and this server reaches no fabric that has the run."
        raise ProblemError(503, "worker-silent", detail)
    return outcome


@contextmanager
def answering(database: Database, hosts: Hosts, network: Network, run_id: str, mode: str) -> Iterator[None]:
    """Answers such questions about a run meanwhile."""
    over = threading.Event()

    def state_of(question: Json) -> schemas.ServerState | schemas.SwitchState:
        if question["what"] == schemas.SwitchState.__name__:
            return inspect_switch(hosts, network, run_id, question["name"])
        return inspect(hosts, network, run_id, question["name"], mode)

    def answer(question: Json) -> Json:
        try:
            return {"ok": True, "state": state_of(question).model_dump(mode="json")}
        except ProblemError as error:
            return {"ok": False, "status": error.status, "code": error.code, "reason": error.detail}

    def work() -> None:
        while not over.wait(LOOK_SECS):
            try:
                with database.session() as session:
                    questions = {row.id: row.payload for row in OrderRepository(session).questions(run_id)}
                for number, question in questions.items():
                    outcome = answer(question)
                    with database.session() as session:
                        OrderRepository(session).carried_out(number, outcome)
            except DBAPIError as error:
                log.warning("questions_not_read", run=run_id, error=str(error.orig))

    thread = threading.Thread(target=work, name=f"answers {run_id[:8]}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
