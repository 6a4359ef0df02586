"""An upgrade under traffic before it runs: the steps of the work order, what is expected before them, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from cubeyard.emulation.faults.damage import WHOLE
from cubeyard.emulation.setup.question import Question, read
from cubeyard.engine import Engine
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.kit.errors import ProblemError
from tests.conftest import SMALL

Json = dict[str, Any]
COMMON = {"family": "subways", "l": 4, "clusters": 2, "aggs_per_cluster": 2, "cores": 2}
BEFORE = {**COMMON, "type": 1, "p": 1, "q": 2}
AFTER = {**COMMON, "type": 1, "p": 2, "q": 4}
TYPE_2 = {**COMMON, "type": 2, "c": 2, "p": 1, "q": 2}
PAIR = {"kind": "one-to-one", "source": "0.0.0", "destination": "1.0.0"}


def question(engine: Engine, spec: Json = BEFORE, to: Json | None = AFTER, **emulation: Any) -> Question:
    settings = {**emulation, **({} if to is None else {"upgrade": {"to": to}})}
    asked = {"plan": spec, "workload": PAIR, "engine": "emulation", "link_gbps": 0.1, "emulation": settings}
    document = ExperimentCreate.model_validate(asked).model_dump(mode="json")
    return read(engine, {**document, "plan": {"spec": spec}})


@pytest.mark.parametrize(("before", "after"), [(BEFORE, AFTER), (TYPE_2, {**TYPE_2, "p": 2, "q": 4})])
def test_every_cable_that_is_added_is_in_one_step(engine: Engine, before: Json, after: Json) -> None:
    found = question(engine, before, after)
    assert found.upgrade is not None
    links = [strike.target["link"] for fault in found.upgrade.missing for strike in fault.strikes]
    own = question(engine, before, None).network
    ends = {(link.a[0], link.b[0]) for link in own.links}
    added = [link.id for link in found.network.links if (link.a[0], link.b[0]) not in ends]
    assert sorted(links) == sorted(added)
    assert len(added) == len(found.network.links) - len(own.links) == 16
    for step in found.upgrade.steps:
        far = {found.network.links[strike.target["link"]].b[0] for strike in step.cables.strikes}
        assert {found.network.name_of[one] for one in far} == {step.switch}


def test_before_the_first_step_the_plan_before_is_expected_and_after_the_last_the_one_after(engine: Engine) -> None:
    found = question(engine, connections=16)
    assert found.predicted_with is not None
    before = question(engine, BEFORE, None, connections=16).prediction
    after = question(engine, AFTER, None, connections=16).prediction
    assert found.prediction.ideal_bits_per_sec == pytest.approx(before.ideal_bits_per_sec) == pytest.approx(1e8)
    assert found.predicted_with(WHOLE).ideal_bits_per_sec == pytest.approx(after.ideal_bits_per_sec)
    assert after.ideal_bits_per_sec > 1.7 * before.ideal_bits_per_sec


@pytest.mark.parametrize(
    ("spec", "to", "said"),
    [
        (BEFORE, {**AFTER, "type": 2, "c": 2}, "rewires 8 cables"),
        (BEFORE, {**AFTER, "q": 8}, "the same servers"),
        (BEFORE, BEFORE, "adds no cable"),
        (BEFORE, {**AFTER, "p": 3}, "q is 4, but must be a multiple of p = 3"),
        (SMALL, {"family": "bcube", "n": 4, "k": 2}, "whose switches are routers"),
    ],
)
def test_what_is_no_upgrade_is_refused_with_the_reason(engine: Engine, spec: Json, to: Json, said: str) -> None:
    workload = PAIR if spec is BEFORE else {"kind": "permutation"}
    asked = {"plan": spec, "workload": workload, "engine": "emulation", "emulation": {"upgrade": {"to": to}}}
    document = ExperimentCreate.model_validate(asked).model_dump(mode="json")
    with pytest.raises(ProblemError) as refused:
        read(engine, {**document, "plan": {"spec": spec}})
    assert said in f"{refused.value.detail} {refused.value.errors}"
    assert "body.emulation.upgrade" in str(refused.value.errors)
