"""The engine's documents about emulations: the catalogue of fault kinds, and the network that is
emulated."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import orjson
import pytest

from cubeyard.engine import Engine, PlanRejectedError

BCUBE = {"family": "bcube", "n": 4, "k": 1}


def test_fault_kinds_agree_with_what_predictions_take(engine: Engine) -> None:
    names = [kind["name"] for kind in engine.fault_kinds]
    assert len(set(names)) == len(names)
    for kind in engine.fault_kinds:
        values = {parameter["name"]: parameter["default"] for parameter in kind["parameters"]}
        name = {"server": "00", "switch": "<0,0>", "link": "00/<0,0>", "any": "00"}[kind["target"]]
        target = {"names": [name]}
        experiment = {
            "workload": {"kind": "all-to-all"},
            "faults": [{"kind": kind["name"], "target": target, **values}],
        }
        if kind["predicted"]:
            assert engine.outline_json(BCUBE, experiment)
        else:
            with pytest.raises(PlanRejectedError):
                engine.outline_json(BCUBE, experiment)


def test_the_whole_network_is_the_topology(engine: Engine) -> None:
    network = engine.emulation_network(BCUBE)
    topology = engine.topology(BCUBE)
    assert sorted(network["servers"][5]) == sorted(["id", "name", "host", "address", "digits"])
    assert network["servers"][5] == {"id": 5, "name": "11", "host": "h11", "address": "10.0.0.6", "digits": [1, 1]}
    assert network["switches"][0] == {"id": 16, "name": "<0,0>", "host": "s0-0", "level": 0, "digits": [0, 0]}
    assert network["links"][16] == {"id": 16, "a": [0, 1], "b": [20, 0], "level": 1, "rate_ratio": 1.0}
    assert (network["outside"], network["whole"], network["picture"]) == ([], True, "rows")
    names = [node["name"] for node in network["servers"] + network["switches"]]
    assert names == topology.names(0, topology.node_count)
    assert len(network["links"]) == topology.link_count
    assert len({node["address"] for node in network["servers"]}) == 16


def test_addresses_pass_octet_borders(engine: Engine) -> None:
    servers = engine.emulation_network({"family": "bcube", "n": 8, "k": 3})["servers"]
    assert servers[254]["address"] == "10.0.0.255"
    assert servers[255]["address"] == "10.0.1.0"
    numbers = [int(ip_address(server["address"])) for server in servers]
    assert numbers == list(range(numbers[0], numbers[0] + 4096))


def test_a_slice_keeps_the_numbers_of_the_whole(engine: Engine) -> None:
    plan = {"topology": {"family": "bcube", "n": 4, "k": 2}}
    whole = engine.emulation_network(plan)
    part = engine.emulation_network(plan, {"within": "213", "k": 1})
    assert [server["name"] for server in part["servers"]] == [f"2{a}{b}" for a in range(4) for b in range(4)]
    for field in ("servers", "switches", "links"):
        assert all(item in whole[field] for item in part[field])
    assert not part["whole"]
    assert len(part["outside"]) == 48
    assert engine.emulation_network(plan, {"servers": ["000", "001"]})["switches"] == [whole["switches"][0]]


@pytest.mark.parametrize(
    ("spec", "part", "where", "says"),
    [
        (BCUBE, {"servers": ["00", "77"]}, "slice.servers.1", "77"),
        (BCUBE, {"servers": ["00"]}, "slice", "at least 2"),
        (BCUBE, {"within": "<0,0>", "k": 0}, "slice.within", "<0,0>"),
        (BCUBE, {"around": "00"}, "slice", "not a slice"),
        (
            {"family": "torus3d", "x": 3, "y": 3, "z": 3},
            {"within": "(0,0,0)", "k": 0},
            "slice.within",
            "smaller structures",
        ),
        ({"family": "bcube", "n": 8, "k": 5}, None, "plan.servers", "65534"),
    ],
)
def test_a_wrong_slice_names_its_field(
    engine: Engine, spec: dict[str, Any], part: dict[str, Any] | None, where: str, says: str
) -> None:
    with pytest.raises(PlanRejectedError) as refused:
        engine.emulation_network(spec, part)
    first = refused.value.findings[0]
    assert first["where"] == where
    assert says in first["message"]
    assert first["hint"]
    assert "value" in first


def test_the_engine_that_an_experiment_names_gives_frames(engine: Engine) -> None:
    names = [item["name"] for item in engine.engines]
    assert "flow" in names
    frames: list[Any] = []
    experiment = {"engine": "flow", "workload": {"kind": "permutation"}, "seeds": [3, 5, 7]}
    result = orjson.loads(
        engine.predict_json(BCUBE, experiment, on_frame=lambda frame: frames.append(orjson.loads(frame)))
    )
    assert frames == [{**row, "kind": "seed"} for row in result["by_seed"]]
    with pytest.raises(PlanRejectedError) as refused:
        engine.predict_json(BCUBE, {**experiment, "engine": "abacus"})
    assert refused.value.findings[0]["where"] == "engine"


def test_a_frame_callback_that_raises_ends_the_run(engine: Engine) -> None:
    def fail(_: str) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        engine.predict_json(BCUBE, {"workload": {"kind": "all-to-all"}, "seeds": list(range(500))}, on_frame=fail)
