"""Properties of plans: equal content has equal hashes, history is append-only, and the engine takes
turns."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from cubeyard.engine import Engine, PlanRejectedError, canonical, content_hash
from cubeyard.kit.cursors import decode_cursor
from cubeyard.kit.db import Database
from cubeyard.kit.errors import ProblemError
from cubeyard.kit.json_text import MAX_INTEGER
from cubeyard.plans import schemas
from cubeyard.plans.service import PlanService
from cubeyard.plans.spec import normal_spec
from cubeyard.settings import Settings
from tests.conftest import SMALL, examples

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=6), inner, max_size=5),
    max_leaves=20,
)


def shuffled(value: Any) -> Any:
    """The same value with every object's keys the other way round."""
    if isinstance(value, dict):
        return {key: shuffled(item) for key, item in reversed(value.items())}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@given(value=json_values)
@hypothesis_settings(deadline=None)
def test_canonical_json_is_one_text_for_one_value(value: Any) -> None:
    text = canonical(value)
    assert orjson.loads(text) == value
    assert canonical(orjson.loads(text)) == text
    assert canonical(shuffled(value)) == text
    assert content_hash(shuffled(value)) == content_hash(value)


@pytest.mark.parametrize("value", [{"n": 2**64}, {"n": "\ud800"}, {"\ud800": 1}])
def test_what_json_cannot_hold_is_a_finding(value: Any) -> None:
    with pytest.raises(PlanRejectedError) as caught:
        canonical(value)
    assert caught.value.findings[0]["where"] == "spec"


def test_a_bare_topology_is_a_plan_spec() -> None:
    assert normal_spec(SMALL) == {"topology": SMALL} == normal_spec({"topology": SMALL})
    deep: Any = 1
    for _ in range(60):
        deep = [deep]
    for bad in ({"topology": deep}, {"topology": {"a\x00": 1}}, {"a": "\x00"}):
        with pytest.raises(ProblemError):
            normal_spec(bad)


@given(text=st.text(max_size=60))
@hypothesis_settings(deadline=None)
def test_cursors_of_others_are_refused_not_crashed_on(text: str) -> None:
    with pytest.raises(ProblemError):
        decode_cursor(text)


class History(RuleBasedStateMachine):
    """A plan edited, reverted and raced at random, against a list in memory."""

    database: Database
    engine: Engine
    revisions = Bundle("revisions")

    @initialize(target=revisions)
    def create(self) -> int:
        with self.database.session() as session:
            plan, row = self.service(session).create(schemas.PlanCreate(name="Random", spec=self.spec(2)))
            self.plan_id, self.model = plan.id, [(row.content_hash, row.plan_hash)]
        return 1

    def service(self, session: Any) -> PlanService:
        return PlanService(session, self.engine)

    @staticmethod
    def spec(n: int) -> dict[str, Any]:
        return {"family": "bcube", "n": n, "k": 1}

    @rule(target=revisions, n=st.integers(2, 4))
    def edit(self, n: int) -> int:
        with self.database.session() as session:
            request = schemas.PlanUpdate(spec=self.spec(n), base_revision=len(self.model))
            _, row = self.service(session).update(self.plan_id, request, None)
            if row.revision > len(self.model):
                self.model.append((row.content_hash, row.plan_hash))
            assert self.model[-1] == (row.content_hash, row.plan_hash)
        return len(self.model)

    @rule(target=revisions, revision=revisions)
    def revert(self, revision: int) -> int:
        with self.database.session() as session:
            _, row = self.service(session).revert(self.plan_id, schemas.RevertRequest(revision=revision), None)
            assert (row.content_hash, row.plan_hash) == self.model[revision - 1]
        self.model.append(self.model[revision - 1])
        return len(self.model)

    @rule(n=st.integers(2, 4), behind=st.integers(1, 3))
    def edit_late(self, n: int, behind: int) -> None:
        stale = len(self.model) - behind
        if stale < 1:
            return
        with pytest.raises(ProblemError) as caught, self.database.session() as session:
            self.service(session).update(self.plan_id, schemas.PlanUpdate(spec=self.spec(n), base_revision=stale), None)
        assert caught.value.status == 409

    @invariant()
    def history_is_what_happened(self) -> None:
        if not hasattr(self, "model"):
            return
        with self.database.session() as session:
            service = self.service(session)
            history = service.history(self.plan_id)
            assert [(item.content_hash, item.plan_hash) for item in reversed(history.items)] == self.model
            assert history.head_revision == len(self.model)


def test_history_only_grows_and_undo_is_exact(database: Database, engine: Engine) -> None:
    machine = type("HistoryHere", (History,), {"database": database, "engine": engine})
    run_state_machine_as_test(
        machine, settings=hypothesis_settings(max_examples=examples(12), stateful_step_count=10, deadline=None)
    )


def test_of_many_who_change_one_plan_at_once_one_wins(database: Database, engine: Engine) -> None:
    with database.session() as session:
        plan_id = PlanService(session, engine).create(schemas.PlanCreate(name="Raced", spec=SMALL))[0].id
    outcomes: list[int] = []
    barrier = threading.Barrier(8)

    def change(n: int) -> None:
        barrier.wait()
        try:
            with database.session() as session:
                request = schemas.PlanUpdate(spec={"family": "bcube", "n": n, "k": 0}, base_revision=1)
                PlanService(session, engine).update(plan_id, request, None)
            outcomes.append(200)
        except ProblemError as error:
            outcomes.append(error.status)

    threads = [threading.Thread(target=change, args=(n,)) for n in range(2, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [200] + [409] * 7


class _Slow:
    """The binding, but a plan takes until it is let go."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.begun, self.go = threading.Semaphore(0), threading.Event()
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def build_plan(self, *arguments: Any) -> Any:
        self.calls += 1
        self.begun.release()
        assert self.go.wait(20)
        return self._real.build_plan(*arguments)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Slow]:
    import cubeyard_engine

    binding = _Slow(cubeyard_engine)
    monkeypatch.setattr("cubeyard.engine.plans.binding", lambda: binding)
    yield binding
    binding.go.set()


def _in_thread(work: Any, results: list[Any]) -> threading.Thread:
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    return thread


def test_the_engine_takes_turns_and_says_so_when_it_is_busy(slow: _Slow, engine: Engine) -> None:
    book = engine.builtin_books[0]
    busy = Engine(Settings(engine_concurrency=1, engine_wait_secs=0.2))
    results: list[Any] = []
    first = _in_thread(lambda: busy.plan({"topology": SMALL, "catalog": book["book"]}, book), results)
    assert slow.begun.acquire(timeout=10)
    with pytest.raises(ProblemError) as caught:
        busy.plan({"topology": {**SMALL, "n": 5}, "catalog": book["book"]}, book)
    assert (caught.value.status, caught.value.headers["retry-after"]) == (503, "2")
    slow.go.set()
    first.join()
    assert busy.plan({"topology": {**SMALL, "n": 5}, "catalog": book["book"]}, book).summary["counts"]["servers"] == 25


def test_many_who_ask_for_one_plan_share_one_computation(slow: _Slow, engine: Engine) -> None:
    book = engine.builtin_books[0]
    shared = Engine(Settings(engine_concurrency=4))
    results: list[Any] = []
    threads = [
        _in_thread(lambda: shared.plan({"topology": SMALL, "catalog": book["book"]}, book), results) for _ in range(6)
    ]
    assert slow.begun.acquire(timeout=10)
    slow.go.set()
    for thread in threads:
        thread.join()
    assert slow.calls == 1
    assert len(results) == 6
    assert len({id(result) for result in results}) == 1


def test_the_cache_forgets_the_oldest_by_number_and_by_size(engine: Engine) -> None:
    book = engine.builtin_books[0]
    small = Engine(Settings(plan_cache_entries=2))

    def plan(n: int, of: Engine) -> str:
        return of.plan({"topology": {"family": "bcube", "n": n, "k": 1}, "catalog": book["book"]}, book).plan_hash

    hashes = [plan(n, small) for n in (2, 3, 4)]
    assert [small.remembered(item) is not None for item in hashes] == [False, True, True]
    tight = Engine(Settings(plan_cache_links=40))
    hashes = [plan(n, tight) for n in (2, 4, 6)]  # 8, 32 and 72 links
    assert [tight.remembered(item) is not None for item in hashes] == [False, False, True], (
        "the latest stays whatever its size"
    )
