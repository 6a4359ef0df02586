"""Lifetime simulations over the API: the stream and its document, saved plans, errors, and that
disconnecting ends the work."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubeyard.engine import Engine
from cubeyard.life import schemas
from cubeyard.search.service import streamed
from tests.conftest import examples
from tests.search.test_api import told

LIFE = "/api/v1/life"
SMALL: dict[str, Any] = {
    "plan": {"topology": {"family": "bcube", "n": 4, "k": 1}},
    "seeds": 20,
    "step_months": 6,
    "rate_factor": 4,
    "policies": [{}, {"visit_months": 6}],
}


def test_the_example_is_of_the_plan_as_it_is_now(client: TestClient) -> None:
    example = client.get(f"{LIFE}/example").json()
    question = schemas.LifeQuestion.model_validate(example["question"])
    result = example["result"]
    now = client.post("/api/v1/plans/preview", json={"spec": question.plan}).json()["summary"]
    assert result["plan_hash"] == now["plan_hash"], "bin/example-results computes it again"
    assert (result["years"], result["seeds"], len(result["policies"])) == (
        question.years,
        question.seeds,
        len(question.policies),
    )
    rates = {item["part"]: item["afr"] for item in client.get(f"{LIFE}/rates").json()["items"]}
    assert {rate["part"]: rate["afr"] for rate in result["rates"]}.items() <= rates.items()


def test_a_life_streams_its_curves_and_ends_with_the_document(client: TestClient) -> None:
    answer = client.post(LIFE, json=SMALL)
    assert answer.status_code == 200, answer.text
    events = told(answer.text)
    kinds = [kind for kind, _ in events]
    assert (kinds[0], kinds[-1]) == ("plan", "result")
    assert kinds.count("servers") == 2
    document = events[-1][1]
    sealed, visited = document["policies"]
    assert document["months"] == [6 * step for step in range(11)]
    assert sealed["curves"]["servers"]["median"][-1] < visited["curves"]["servers"]["median"][-1] <= 16
    assert visited["buys"]["server_years"] > 0
    assert visited["cost"]["total"] > sealed["cost"]["total"] == 0
    # The whole plan's throughput is that of a prediction, and so is a curve's start.
    assert sealed["curves"]["abt_gbps"]["median"][0] == document["abt_gbps"]
    assert client.post(LIFE, json=SMALL).text == answer.text


def test_a_saved_plan_lives_as_its_spec_does(client: TestClient) -> None:
    made = client.post("/api/v1/plans", json={"name": "container", "spec": SMALL["plan"]}).json()
    by_id = client.post(LIFE, json={**SMALL, "plan": {"id": made["id"], "revision": 1}})
    assert by_id.status_code == 200, by_id.text
    document, same = (told(text)[-1][1] for text in (by_id.text, client.post(LIFE, json=SMALL).text))
    assert document["policies"] == same["policies"]
    assert client.post(LIFE, json={**SMALL, "plan": {"id": "00000000-0000-4000-8000-000000000000"}}).status_code == 404
    assert client.post(LIFE, json={**SMALL, "plan": {"id": made["id"], "revision": "two"}}).status_code == 422


def test_what_cannot_be_simulated_is_refused_by_field(client: TestClient) -> None:
    for change, where in [
        ({"years": 40}, "years"),
        ({"rates": {"disk": 2}}, "rates.disk"),
        ({"rates": {"wheel": 0.1}}, "rates.wheel"),
        ({"policies": [{"spares": {"server": 1}}]}, "policies[0].spares"),
        ({"floors": {"abt": 2}}, "floors.abt"),
        ({"plan": {"topology": {"family": "bcube", "n": 1, "k": 1}}}, "topology.n"),
    ]:
        answer = client.post(LIFE, json={**SMALL, **change})
        assert answer.status_code == 422, change
        findings = answer.json()["findings"]
        assert where in [finding["where"] for finding in findings]
        assert all(finding["message"] and finding["hint"] for finding in findings)


def test_the_rates_have_sources_and_the_example_is_a_question(client: TestClient, engine: Engine) -> None:
    listed = client.get(f"{LIFE}/rates").json()["items"]
    assert listed == engine.failure_rates
    assert {item["part"] for item in listed} >= {
        "server",
        "disk",
        "psu",
        "fan",
        "nic",
        "switch",
        "port",
        "cable",
        "optic",
        "pdu",
    }
    assert all(item["source"] and item["date"] and item["confidence"] for item in listed)
    assert client.post(LIFE, json={**schemas.EXAMPLE, "seeds": 3}).status_code == 200


def test_a_life_that_nobody_reads_ends(engine: Engine) -> None:
    """The stream of a long life is closed after its first event; then the engine takes the next
    call at once."""
    long = {"plan": {"family": "bcube", "n": 8, "k": 3, "servers": 2048}, "seeds": 2000}
    book = engine.builtin_books[-1]

    async def read_one() -> bytes:
        stream = streamed(lambda on_frame, on_progress: engine.life(long, book, on_frame, on_progress))
        first = await anext(stream)
        await stream.aclose()
        return first

    assert asyncio.run(read_one()).startswith(b"event: plan")
    assert engine.life({**SMALL, "seeds": 2}, book)["seeds"] == 2


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**63 - 1),
    every=st.integers(3, 24),
    kit=st.fixed_dictionaries({"server": st.integers(0, 8), "switch": st.integers(0, 4), "pdu": st.integers(0, 2)}),
    more=st.integers(1, 8),
)
def test_more_spares_never_leave_less(engine: Engine, seed: int, every: int, kit: dict[str, int], more: int) -> None:
    larger = {unit: count + more for unit, count in kit.items()}
    policies = [{}, *({"visit_months": every, "spares": spares} for spares in (kit, larger))]
    question = {**SMALL, "seeds": 4, "first_seed": seed, "policies": policies, "exact_states": 2}
    document = engine.life(question, engine.builtin_books[-1])
    none, some, many = (policy["curves"]["connected"] for policy in document["policies"])
    for quantile in ("p5", "median", "p95"):
        rows = list(zip(none[quantile], some[quantile], many[quantile], strict=True))
        assert all(least <= middle <= most for least, middle, most in rows)
    assert engine.life(question, engine.builtin_books[-1]) == document
