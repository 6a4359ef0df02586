"""An upgrade under traffic before it runs: the steps of the work order, the prediction before them,
and errors."""

from __future__ import annotations

from typing import Any

import pytest

from cubeyard.emulation.faults.damage import Damage
from cubeyard.emulation.network.network import Network
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
    request = {"plan": spec, "workload": PAIR, "engine": "emulation", "link_gbps": 0.1, "emulation": settings}
    document = ExperimentCreate.model_validate(request).model_dump(mode="json")
    return read(engine, {**document, "plan": {"spec": spec}})


@pytest.mark.parametrize(("before", "after"), [(BEFORE, AFTER), (TYPE_2, {**TYPE_2, "p": 2, "q": 4})])
def test_every_cable_that_is_added_is_in_one_step(engine: Engine, before: Json, after: Json) -> None:
    result = question(engine, before, after)
    assert result.upgrade is not None
    links = [strike.target["link"] for fault in result.upgrade.missing for strike in fault.strikes]
    own = question(engine, before, None).network
    ends = {(link.a[0], link.b[0]) for link in own.links}
    added = [link.id for link in result.network.links if (link.a[0], link.b[0]) not in ends]
    assert sorted(links) == sorted(added)
    assert len(added) == len(result.network.links) - len(own.links) == 16
    for step in result.upgrade.steps:
        assert step.after.strikes == []
        far = {result.network.links[strike.target["link"]].b[0] for strike in step.before.strikes}
        assert {result.network.name_of[item] for item in far} == {step.switch}


def ends(network: Network) -> set[tuple[str, str]]:
    return {(network.name_of[link.a[0]], network.name_of[link.b[0]]) for link in network.links}


@pytest.mark.parametrize("p", [1, 2])
def test_from_type_1_to_2_uplinks_are_moved_and_servers_keep_their_tors(engine: Engine, p: int) -> None:
    before = {**BEFORE, "p": p, "q": 2 * p}
    result = question(engine, before, {**TYPE_2, "p": 2, "q": 4})
    assert result.upgrade is not None
    run = result.network
    old, new = (ends(question(engine, item, None).network) for item in (before, {**TYPE_2, "p": 2, "q": 4}))
    assert ends(run) == old | new
    name = {link.id: run.link_name(link) for link in run.links}
    steps = [step.described() for step in result.upgrade.steps]
    removed = [name[link] for step in steps for link in step.get("removed", [])]
    assert sorted(removed) == sorted(f"{a}/{b}" for a, b in old - new)
    assert all(item.startswith("<0,") for item in removed)
    added = [name[link] for step in steps for link in step["links"]]
    assert sorted(added) == sorted(f"{a}/{b}" for a, b in new - old)
    assert all(name[link].endswith(f"/{step['switch']}") for step in steps for link in step["links"])


def test_ports_get_faster_switch_by_switch_on_one_scale(engine: Engine) -> None:
    rates = {"server_gbps": 25, "uplink_gbps": 100}
    slow, fast = {**AFTER, "server_gbps": 10, "uplink_gbps": 40}, {**AFTER, **rates}
    result = question(engine, slow, fast)
    assert result.upgrade is not None
    run = result.network
    assert {run.rate_of(link) for link in run.links} == {2.5e8, 1e9}
    steps = [step.described() for step in result.upgrade.steps]
    faster = [link for step in steps for link in step["faster"]]
    assert sorted(faster) == [link.id for link in run.links]
    assert all(step["links"] == [] for step in steps)
    was = dict(zip(faster, [rate for step in steps for rate in step["former_bits_per_sec"]], strict=True))
    assert {run.rate_of(link) / was[link.id] for link in run.links} == {2.5}


@pytest.mark.parametrize(
    ("before", "after", "times"),
    [
        (BEFORE, AFTER, (1.7, 2.05)),
        ({**AFTER, "server_gbps": 10}, {**AFTER, "server_gbps": 25}, (2.45, 2.55)),
        (AFTER, {**TYPE_2, "p": 2, "q": 4}, (0.9, 1.2)),
    ],
)
def test_before_the_first_step_the_plan_before_is_expected_and_after_the_last_the_one_after(
    engine: Engine, before: Json, after: Json, times: tuple[float, float]
) -> None:
    result = question(engine, before, after, connections=16)
    assert result.predicted_with is not None
    assert result.upgrade is not None
    first = question(engine, before, None, connections=16).prediction.ideal_bits_per_sec
    last = result.predicted_with(Damage.of(result.upgrade.removed)).ideal_bits_per_sec
    # A flow's path depends on the numbers of links. If uplinks move, the run has more links than
    # the plan.
    assert result.prediction.ideal_bits_per_sec == pytest.approx(first, rel=0.15 if before is AFTER else 1e-6)
    assert times[0] < last / first < times[1]


def test_an_upgrade_after_the_end_is_refused(engine: Engine) -> None:
    settings = {"seconds": 30, "upgrade": {"to": AFTER, "at_secs": 40}}
    request = {"plan": BEFORE, "workload": PAIR, "engine": "emulation", "emulation": settings}
    document = ExperimentCreate.model_validate(request).model_dump(mode="json")
    with pytest.raises(ProblemError) as refused:
        read(engine, {**document, "plan": {"spec": BEFORE}})
    (error,) = refused.value.errors or []
    assert (error.field, error.limit) == ("body.emulation.upgrade.at_secs", "less than 30")


@pytest.mark.parametrize(
    ("spec", "to", "said"),
    [
        ({**BEFORE, "type": 0, "p": 2, "q": 4}, {**AFTER, "type": 2, "c": 2}, "rewires 16 cables"),
        (BEFORE, {**AFTER, "q": 8}, "the same servers"),
        (BEFORE, BEFORE, "changes no cable"),
        (BEFORE, {**BEFORE, "server_gbps": 5}, "0.5 times its rate"),
        (BEFORE, {**AFTER, "former_type": 1}, "former_type"),
        (BEFORE, {**TYPE_2, "former_type": 1}, "former_type"),
        (BEFORE, {**AFTER, "p": 3}, "q is 4, but must be a multiple of p = 3"),
        (SMALL, {"family": "bcube", "n": 4, "k": 2}, "whose switches are routers"),
    ],
)
def test_plans_that_are_no_upgrade_are_refused_with_the_reason(engine: Engine, spec: Json, to: Json, said: str) -> None:
    workload = PAIR if spec["family"] == "subways" else {"kind": "permutation"}
    request = {"plan": spec, "workload": workload, "engine": "emulation", "emulation": {"upgrade": {"to": to}}}
    document = ExperimentCreate.model_validate(request).model_dump(mode="json")
    with pytest.raises(ProblemError) as refused:
        read(engine, {**document, "plan": {"spec": spec}})
    assert said in f"{refused.value.detail} {refused.value.errors}"
    assert "body.emulation.upgrade" in str(refused.value.errors)
