"""Users' programs for the servers' chips: which are valid in an experiment, and what the fabric
gets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cubeyard.emulation.network import network as networks
from cubeyard.emulation.network.network import Network
from cubeyard.emulation.network.programs import programmed
from cubeyard.engine import Engine
from cubeyard.experiments.emulation import Emulation
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings

Json = dict[str, Any]
BCUBE: Json = {"family": "bcube", "n": 4, "k": 1}
FIELD = "body.emulation.chip_program"
PREFIX = "SetLookupTable(LPM_IPV4, 0, 0, 10.0.0.0, 255.0.0.0, {act=DISCARD});"
TUNNEL = (
    "SetProfile(extended); SetVIfTable(0, NULL, NULL, 0); "
    "SetLookupTable(LPM_IPV4, 0, 0, 10.0.0.0, 255.0.0.0, {act=REDIRECT_VIF, vif=0, tunnel=POP});"
)


@pytest.fixture(name="engine", scope="module")
def _engine() -> Engine:
    return Engine(Settings())


def network(engine: Engine, spec: Json = BCUBE, slice: Json | None = None) -> Network:
    return networks.build(engine, spec, 1e8, 9000, slice)


def refused(engine: Engine, dataplane: str, program: str, found: Network | None = None) -> tuple[str, str]:
    """The message about an invalid program, and the fix."""
    with pytest.raises(ProblemError) as raised:
        programmed(engine, found or network(engine), dataplane, program, FIELD)
    (error,) = raised.value.errors
    assert (raised.value.status, error.field) == (422, FIELD)
    return error.message, error.hint or ""


@pytest.mark.parametrize("dataplane", ["serverswitch", "serverswitch-software"])
def test_the_papers_program_goes_to_the_fabric_as_it_is(engine: Engine, dataplane: str) -> None:
    text = engine.chip_bcube(BCUBE)
    result = programmed(engine, network(engine), dataplane, text, FIELD)
    assert result.for_fabric("0a1b2c3d4e5f6g", 1, dataplane, {})["program"] == text
    assert network(engine).for_fabric("0a1b2c3d4e5f6g", 1, dataplane, {})["program"] is None
    assert replace(result, program=None) == network(engine)


def test_an_experiment_without_a_program_is_written_as_before() -> None:
    assert "chip_program" not in Emulation().model_dump(mode="json")
    assert Emulation(chip_program="j = 0;").model_dump(mode="json")["chip_program"] == "j = 0;"


def test_mistakes_are_named_with_line_column_and_server(engine: Engine) -> None:
    message, hint = refused(engine, "serverswitch", "SetUDLK(1, (B0));\nSetVIfTable(0, dstmac[0x00], NULL, 0);")
    assert message.startswith("Line 2, column 16: dstmac is asked for 0x00")
    assert "10.0.0.1" in message
    assert hint == "Go through them: foreach nha in nhas {…}."
    message, _ = refused(engine, "serverswitch", "for (i = 0; i < 4; i = i) { }")
    assert "40000 statements" in message
    message, _ = refused(engine, "serverswitch", "SetUDLK(")
    assert message.startswith("Line 1, column 9")


def test_a_slice_has_the_neighbours_that_exist(engine: Engine) -> None:
    program = "SetVIfTable(0, dstmac[0x02], NULL, 0);"
    pair = network(engine, BCUBE, {"servers": ["00", "01"]})
    message, _ = refused(engine, "serverswitch", program, pair)
    assert "must be of a neighbour: 0x01" in message


def test_the_kernels_chip_names_its_missing_features(engine: Engine) -> None:
    for dataplane in ("serverswitch", "serverswitch-software"):
        programmed(engine, network(engine), dataplane, PREFIX, FIELD)
    programmed(engine, network(engine), "serverswitch-software", TUNNEL, FIELD)
    message, hint = refused(engine, "serverswitch", TUNNEL)
    assert "tunnel" in message.lower() + hint.lower()


def test_a_forwarding_without_a_chip_has_no_program(engine: Engine) -> None:
    message, hint = refused(engine, "kernel", "j = 0;")
    assert message == "Servers with the dataplane kernel have no chip to program."
    assert hint == "Choose the dataplane serverswitch or serverswitch-software."
    torus = network(engine, {"family": "torus3d", "x": 3, "y": 3, "z": 3})
    assert refused(engine, "kernel", "j = 0;", torus)[1] == "Leave it out, or plan a family whose servers have one."
