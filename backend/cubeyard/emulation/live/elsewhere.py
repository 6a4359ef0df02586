"""Calls to the fabric of a live run. If this process does not reach the run's fabric, the run's
worker makes the calls: they are passed to it through the table of orders.

Streams are not possible this way; their error names the missing setting.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import structlog
from sqlalchemy.exc import DBAPIError

from cubeyard.emulation.fabric.client import CALL_SECS, FabricClient, FabricError, FabricGoneError
from cubeyard.emulation.fabric.hosts import Host, Hosts
from cubeyard.emulation.fabric.place import Place
from cubeyard.emulation.live.models import OrderRow
from cubeyard.emulation.live.repository import OrderRepository
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError
from cubeyard.runs.repository import RunRepository
from cubeyard.settings import Settings

Json = dict[str, Any]
log = structlog.get_logger(__name__)

ANSWER_SECS = 5.0
"""Additional time for calls through the table."""
LOOK_SECS = 0.2
CALLS = frozenset({"inspect", "tell", "program", "chip", "registers", "capture"})
"""The calls of live features, which are also available on the API's own socket."""
AT_A_TIME = 4
NOT_FOUND = "fabric-not-found"
HOW_TO = "docs/how-to/several-hosts.md"


def live_hosts(settings: Settings, database: Database) -> Hosts:
    """The hosts of the settings, with a second path for calls: through a run's worker."""
    return Hosts.of(settings, Place.of(settings)).asking(partial(_ask, database))


class LiveClient:
    """A connection to the fabric of a host with the interface of FabricClient, for live runs."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._client: FabricClient | None = None
        self._gone: FabricGoneError | None = None
        self.asked = False
        """Whether calls have gone through the run's worker."""

    def __enter__(self) -> Self:
        try:
            self._client = FabricClient(self._host.socket)
        except FabricGoneError as error:
            if self._host.ask is None:
                raise
            self._gone = error
        return self

    def __exit__(self, *_: object) -> None:
        if self._client is not None:
            self._client.close()

    def call(self, method: str, secs: float = CALL_SECS, **params: Any) -> Json:
        """Raises the errors of FabricClient, and a 503 if the worker does not respond."""
        (result,) = self.each(method, secs, [params])
        if isinstance(result, FabricError):
            raise result
        return result

    def each(self, method: str, secs: float, every: Sequence[Json]) -> list[Json | FabricError]:
        """Makes several calls for one run; returns a result or the fabric's refusal of each. Raises
        the errors of `call`."""
        why: ProblemError | None = self._gone
        if self._client is not None:
            results = _called(self._client, method, secs, every)
            refused = next((item for item in results if isinstance(item, FabricError)), None)
            if refused is None or refused.code != NOT_FOUND or self._host.ask is None:
                return results
            why = refused
        assert self._host.ask is not None
        assert why is not None
        outcomes = self._host.ask(self._host.name, method, secs, list(every), why)
        self.asked = True
        return [FabricError(item["error"]) if "error" in item else item["result"] for item in outcomes]


def _called(client: FabricClient, method: str, secs: float, every: Sequence[Json]) -> list[Json | FabricError]:
    """Makes the calls. If the fabric does not have the run, the rest are skipped."""
    results: list[Json | FabricError] = []
    for params in every:
        try:
            results.append(client.call(method, secs, **params))
        except FabricError as error:
            results.append(error)
            if error.code == NOT_FOUND:
                results += [error] * (len(every) - len(results))
                break
    return results


def _ask(database: Database, host: str, method: str, secs: float, every: list[Json], why: ProblemError) -> list[Json]:
    """Passes the calls to the run's worker. Raises `why`, the reason why the fabric was not
    reached, if no worker has the run."""
    run_id = every[0]["run"]
    if not _has_worker(database, run_id):
        # Not raised as a FabricError, which callers interpret as a server that does not respond.
        raise why if isinstance(why, FabricError) else ProblemError(why.status, why.code, why.detail)
    question = {"host": host, "method": method, "secs": secs, "every": every}
    with database.session() as session:
        number = OrderRepository(session).add(OrderRow(run_id=run_id, kind="inspect", payload=question)).id
    deadline = time.monotonic() + secs + ANSWER_SECS
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
    if "gone" in outcome:
        raise FabricGoneError(outcome["gone"])
    return outcome["outcomes"]


def _has_worker(database: Database, run_id: str) -> bool:
    with database.session() as session:
        row = RunRepository(session).run(run_id)
        return row is not None and row.state == "running"


def needs_way(database: Database, what: str, run_id: str, host: Host, error: ProblemError) -> ProblemError:
    """The error of a stream, with the missing setting if the run is on a machine that this process
    does not reach."""
    is_elsewhere = isinstance(error, FabricGoneError) or error.code == NOT_FOUND
    if not is_elsewhere or not _has_worker(database, run_id):
        return error
    machine = f"host {host.name}" if host.name else "the machine of its worker"
    detail = (
        f"{what} of this run come from {machine}, which this server does not reach: {error.detail.rstrip('.')}."
        f" Start this server and the run's worker with the same CUBEYARD_HOSTS, with {machine} in it ({HOW_TO})."
        " Inspection and captures need no such way."
    )
    return ProblemError(503, "run-elsewhere", detail)


def refuse_elsewhere(database: Database, what: str, run_id: str, host: Host) -> None:
    """Raises that error if the host's fabric does not have the run."""
    try:
        with FabricClient(host.socket) as fabric:
            runs = fabric.call("runs", ANSWER_SECS)["runs"]
        if all(run["run"] != run_id for run in runs):
            raise FabricError({"code": "not-found", "message": "The fabric here does not have the run."})
    except (FabricGoneError, FabricError) as error:
        if (named := needs_way(database, what, run_id, host, error)) is not error:
            raise named from error


@contextmanager
def answering(database: Database, hosts: Hosts, run_id: str) -> Iterator[None]:
    """Carries out such calls for a run while the context lasts."""
    over = threading.Event()
    begun: set[int] = set()

    def answer(number: int, question: Json) -> None:
        outcome = _carried_out(hosts, run_id, question)
        try:
            with database.session() as session:
                OrderRepository(session).carried_out(number, outcome)
        except DBAPIError as error:
            log.warning("answer_not_written", run=run_id, error=str(error.orig))

    def work() -> None:
        with ThreadPoolExecutor(AT_A_TIME, f"answers {run_id[:8]}") as pool:
            while not over.wait(LOOK_SECS):
                try:
                    with database.session() as session:
                        questions = {row.id: row.payload for row in OrderRepository(session).questions(run_id)}
                except DBAPIError as error:
                    log.warning("questions_not_read", run=run_id, error=str(error.orig))
                    continue
                for number in questions.keys() - begun:
                    pool.submit(answer, number, questions[number])
                begun.update(questions)

    thread = threading.Thread(target=work, name=f"answers {run_id[:8]}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _carried_out(hosts: Hosts, run_id: str, question: Json) -> Json:
    """The results of calls. Only calls of live features for this run are carried out."""
    method, every = question["method"], question["every"]
    if method not in CALLS or any(params.get("run") != run_id for params in every):
        error = {"code": "bad-input", "message": f"{method} is no call for run {run_id}."}
        return {"outcomes": [{"error": error}] * len(every)}
    known = {host.name: host for host in hosts.every}
    # A caller with other settings may use another name for the only host.
    host = known.get(question["host"]) or (hosts.every[0] if len(hosts.every) == 1 else None)
    if host is None:
        return {"gone": f"The run's worker has no host {question['host'] or 'without a name'}."}
    try:
        with FabricClient(host.socket) as fabric:
            results = _called(fabric, method, question["secs"], every)
    except FabricGoneError as error:
        return {"gone": error.detail}
    return {"outcomes": [_outcome(item) for item in results]}


def _outcome(result: Json | FabricError) -> Json:
    if isinstance(result, FabricError):
        return {"error": {"code": result.code.removeprefix("fabric-"), "message": result.detail}}
    return {"result": result}
