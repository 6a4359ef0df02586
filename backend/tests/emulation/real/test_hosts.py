"""One run over two Docker engines: real TCP between them, faults on both, and no leftovers on
either."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cubeyard.emulation.deploy.probe import probe
from cubeyard.emulation.deploy.reaper import reap
from cubeyard.emulation.fabric.place import Place
from cubeyard.settings import EmulationHost, Settings
from tests.deployment.engine import EngineUnavailableError

from .conftest import Command, skip
from .machines import JUMBO_BYTES, Machine, two_machines

SMALL = '{"family":"bcube","n":4,"k":1}'
SHORT = ("--settle", "1", "--calibrate", "0.5")
Left = Callable[[], dict[str, set[str]]]


@pytest.fixture(scope="module")
def machines() -> Iterator[tuple[Machine, Machine]]:
    try:
        with two_machines() as both:
            yield both
    except EngineUnavailableError as error:
        skip(str(error))


@pytest.fixture
def emulate_there(tmp_path: Path, machines: tuple[Machine, Machine]) -> Command:
    """`cubeyard emulate` over both engines: one is given by its address, the other by a Docker
    context."""
    near, far = (machine.setting() for machine in machines)
    command = Command(tmp_path, machines[0].docker)
    del command.environment["DOCKER_HOST"]
    command.environment["DOCKER_CONFIG"] = str(tmp_path / "docker")
    create = ["docker", "context", "create", "far", "--docker", f"host={far['docker']}"]
    subprocess.run(create, env={**os.environ, **command.environment}, check=True, capture_output=True)
    command.environment["CUBEYARD_HOSTS"] = json.dumps([near, {**far, "docker": "far"}])
    return command


def settings_of(machines: tuple[Machine, Machine]) -> tuple[EmulationHost, ...]:
    return tuple(EmulationHost.model_validate(machine.setting()) for machine in machines)


def wait_for_servers(machines: tuple[Machine, Machine], each: int, but: frozenset[str] = frozenset()) -> frozenset[str]:
    """The containers of both machines, once each machine has `each` new ones."""
    deadline = time.monotonic() + 60
    while True:
        running = [
            set(machine.docker.run("ps", "--quiet", "--filter", "label=cubeyard.run").stdout.split()) - but
            for machine in machines
        ]
        if [len(some) for some in running] == [each, each]:
            return frozenset.union(*map(frozenset, running))
        assert time.monotonic() < deadline, running
        time.sleep(0.2)


def test_all_to_all_over_two_engines_survives_a_cable_between_them(
    emulate_there: Command, machines: tuple[Machine, Machine]
) -> None:
    """Server 00 reaches 20, on the other machine, by switch <1,0>, which has a part on each
    machine. Then server 33 on the other machine dies for a while."""
    process = emulate_there.start(
        "--spec", SMALL, "--link-rate", "20M", "--seconds", "9",
        "--fault", "cable-pulled=00/<1,0>@3-5", "--fault", "server-killed=33@5.5-7",
        "--hypothesis", "goodput-share>=0.4 for 2s", *SHORT,
    )  # fmt: skip
    wait_for_servers(machines, 8)
    result = emulate_there.finish(process)
    assert len(result["per_flow"]) == 16 * 15
    assert min(flow["goodput_bits_per_sec"] for flow in result["per_flow"]) > 0, "every server reaches every other one"
    assert result["windows"]["before"]["goodput_bits_per_sec"] > 0.8 * result["ideal_bits_per_sec"]
    assert result["windows"]["before"]["stalled_flows"] == 0
    cable, server = result["faults"]
    assert cable["detected_secs"] < 0.1, "carrier loss is detected immediately"
    assert cable["moves"] > 0
    assert server["recovered_at_secs"] > 6.9, "started again by the engine over there, however long a container takes"
    assert result["verdict"]["outcome"] == "held"
    for link in result["per_link"]:
        assert 0 < link["ab_bits_per_sec"] < 1.05 * 20e6, link
        assert 0 < link["ba_bits_per_sec"] < 1.05 * 20e6, link
    lost = [event for event in result["events"] if event["kind"] == "carrier" and not event["up"]]
    assert {(event["server"], event["port"]) for event in lost} == {(0, 1)}
    assert result["timings"]["kept"] == []
    assert [machine.left() for machine in machines] == [{}, {}]


@pytest.mark.long
@pytest.mark.parametrize(
    ("spec", "cable", "servers"),
    [
        ('{"family":"dcell","n":4,"k":1}', "[0,3]/[4,0]", 20),
        ('{"family":"torus3d","x":3,"y":2,"z":2}', "(0,0,0)/(2,0,0)", 12),
    ],
)
def test_direct_cables_between_two_engines_carry_and_break(
    emulate_there: Command, machines: tuple[Machine, Machine], spec: str, cable: str, servers: int
) -> None:
    """The ends of the cable are on different machines: both lose the carrier, and packets take
    other paths."""
    result = emulate_there.run(
        "--spec", spec, "--workload", "permutation", "--link-rate", "20M", "--seconds", "4",
        "--fault", f"cable-pulled={cable}@1.5-3", *SHORT,
    )  # fmt: skip
    assert len(result["per_flow"]) == servers
    assert min(flow["goodput_bits_per_sec"] for flow in result["per_flow"]) > 0
    (fault,) = result["faults"]
    assert fault["detected_secs"] < 1.0, "by the carrier, not by silence"
    lost = [event for event in result["events"] if event["kind"] == "carrier" and not event["up"]]
    assert len({event["server"] for event in lost}) == 2, "at both ends"
    assert result["timings"]["kept"] == []
    assert [machine.left() for machine in machines] == [{}, {}]


@pytest.mark.long
def test_both_machines_are_named_with_what_they_have(machines: tuple[Machine, Machine]) -> None:
    result = probe(Settings(hosts=settings_of(machines)))
    assert result.ready
    assert result.modes == ["containers", "namespaces"]
    assert [(host.name, host.ready, host.docker, host.underlay_mtu) for host in result.hosts] == [
        ("a", True, True, JUMBO_BYTES), ("b", True, True, JUMBO_BYTES),
    ]  # fmt: skip


@pytest.mark.long
def test_kills_on_either_machine_leave_nothing_on_any(
    emulate_there: Command, machines: tuple[Machine, Machine]
) -> None:
    """Kills first the command, whose leftovers the next command removes, and then the fabric on the
    other machine."""
    arguments = ("--spec", SMALL, "--workload", "permutation", "--seconds", "60", *SHORT)
    process = emulate_there.start(*arguments)
    first = wait_for_servers(machines, 8)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    assert all(machine.left() for machine in machines)
    process = emulate_there.start(*arguments)
    wait_for_servers(machines, 8, but=first)
    machines[1].kill_fabric()
    message = emulate_there.finish(process, code=2)["said"]
    assert re.search("error: Host b: .*cubeyard-fabric", message), message
    assert machines[0].left() == {}
    machines[1].start_fabric()
    assert machines[1].left() == {}
    # One host did not confirm that nothing is left, so the run stays recorded until all hosts are
    # checked again.
    ours = Settings(home=Path(emulate_there.environment["CUBEYARD_HOME"]), hosts=settings_of(machines))
    place = Place.of(ours)
    (remembered,) = place.locks()
    assert reap(ours, place) == [remembered]
    assert place.remove_abandoned()
