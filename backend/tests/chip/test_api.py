"""Chip programs over the API: their content, a packet's steps, and errors."""

from __future__ import annotations

from pathlib import Path

from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cubeyard.chip import schemas
from cubeyard.engine import Engine
from tests.conftest import examples

CHIP = "/api/v1/chip"
PROGRAMS = Path(__file__).parents[3] / "emulator/crates/chip/programs"


def test_the_example_of_the_description_is_forwarded_with_a_right_checksum(client: TestClient) -> None:
    answer = client.post(
        f"{CHIP}/trace", json={"program": schemas.EXAMPLE_PROGRAM, "packet": schemas.EXAMPLE_PACKET, "in_port": 1}
    )
    assert answer.status_code == 200, answer.text
    trace = answer.json()
    assert (trace["outcome"], trace["summary"]) == ("sent", "Sent out of port 0 (external).")
    header = bytes.fromhex(trace["sent"][0]["packet"])[14:34]
    assert header[8] == 63
    total = sum(int.from_bytes(header[at : at + 2], "big") for at in range(0, 20, 2))
    assert (total & 0xFFFF) + (total >> 16) == 0xFFFF
    stages = [step["stage"] for step in trace["steps"]]
    assert stages[0] == "classifier"
    assert stages[-3:] == ["l3-modifier", "l2-modifier", "output"]
    ttl = next(step for step in trace["steps"] if step["stage"] == "l3-modifier")
    assert ttl["changed"] == [22, 24]
    assert trace["hits"] == [{"table": "LPM_IPV4", "i": 0, "packets": 1}]


def test_examples_are_programs_and_their_canonical_forms_say_the_same(client: TestClient) -> None:
    for name in ["bcube-fig6", "ipv4-routes", "mpls-tags", "portland-edge", "nisr-labels", "dcell"]:
        text = (PROGRAMS / f"{name}.chip").read_text()
        checked = client.post(f"{CHIP}/check", json={"program": text}).json()
        for form in ("text", "document"):
            again = client.post(f"{CHIP}/check", json={"program": checked[form]}).json()
            assert again == checked
        if name == "bcube-fig6":
            assert checked["tables"]["TCAM"] == {"entries": 60, "size": 2048}


def test_a_program_that_servers_share_is_executed_for_one(client: TestClient) -> None:
    shared = (PROGRAMS / "bcube.chip").read_text()
    at = {"spec": {"family": "bcube", "n": 4, "k": 1}, "server": "00"}
    checked = client.post(f"{CHIP}/check", json={"program": shared, "at": at}).json()
    fig6 = client.post(f"{CHIP}/check", json={"program": (PROGRAMS / "bcube-fig6.chip").read_text()}).json()
    assert checked == fig6
    packet = "0000000000000200000000000800450000240000400003fd62d50a0000010a00000803410000000000000002000064617461"
    trace = client.post(f"{CHIP}/trace", json={"program": shared, "packet": packet, "in_port": 4, "at": at}).json()
    assert [sent["port"] for sent in trace["sent"]] == [1]
    for place, where in [
        (None, "nhas"),
        ({**at, "server": "44"}, "server"),
        ({**at, "spec": {"family": "tree"}}, "spec"),
    ]:
        answer = client.post(f"{CHIP}/check", json={"program": shared, "at": place})
        assert answer.status_code == 422, answer.text
        assert where in answer.text


def test_a_mistake_is_a_problem_with_line_and_column(client: TestClient) -> None:
    program = 'SetUDLK(1, (B22));\nSetLookupTable(TCAM, 2048, 1, "00", NULL, {act=DISCARD});'
    answer = client.post(f"{CHIP}/check", json={"program": program})
    assert answer.status_code == 422
    problem = answer.json()
    assert problem["type"] == "urn:cubeyard:problem:impossible-program"
    finding = problem["findings"][0]
    assert (finding["line"], finding["column"], finding["where"]) == (2, 22, "i")
    assert (finding["value"], finding["limit"]) == ("2048", "0 to 2047")
    assert finding["hint"]


def test_what_cannot_be_is_refused_by_field(client: TestClient) -> None:
    for request_, where in [
        ({"program": "", "packet": "0g"}, "packet"),
        ({"program": "", "packet": "0"}, "packet"),
        ({"program": "", "packet": "00" * 10_000}, "packet"),
        ({"program": "", "packet": "00", "in_port": 8}, "body.in_port"),
        ({"program": "x" * (256 * 1024 + 1), "packet": "00"}, "body.program"),
        ({"program": "\x00", "packet": "00"}, "body.program"),
    ]:
        answer = client.post(f"{CHIP}/trace", json=request_)
        assert answer.status_code == 422, where
        problem = answer.json()
        assert where in {finding["where"] for finding in problem["findings"]} | {
            error["field"] for error in problem["errors"]
        }


@hypothesis_settings(max_examples=examples(60), deadline=None)
@given(packet=st.binary(max_size=200), port=st.integers(0, 7), program=st.sampled_from(sorted(PROGRAMS.glob("*.chip"))))
def test_every_packet_is_sent_or_discarded_with_a_reason(packet: bytes, port: int, program: Path) -> None:
    from cubeyard.settings import Settings

    at = ({"family": "bcube", "n": 4, "k": 1}, "00")
    result = Engine(Settings()).chip_trace(program.read_text(), port, packet.hex(), at)
    trace = schemas.ChipTrace.model_validate(result)
    assert (trace.outcome == "discarded") == (trace.reason is not None)
    assert trace.packet == packet.hex()
    assert trace.steps[-1].stage == ("output" if trace.outcome == "sent" else "discard")


def test_portland_is_tried_with_and_without_failures(client: TestClient) -> None:
    whole = client.post(f"{CHIP}/portland", json={"source": "000", "destination": "311", "source_port": 1}).json()
    assert (whole["pairs"], whole["source"]["address"]) == (240, "10.0.0.1")
    path = [visit["switch"] for visit in whole["attempts"][0]["visits"] if visit["kind"] == "packet"]
    request = {"source": "000", "destination": "311", "source_port": 1, "failures": [path[2]]}
    failed = client.post(f"{CHIP}/portland", json=request).json()
    assert [attempt["arrived"] for attempt in failed["attempts"]] == [True, False, True]
    for wrong in (
        {"source": "nobody"},
        {"destination": "000"},
        {"failures": ["000/311"]},
        {"failures": ["x"] * 17},
        {"source_port": -1},
    ):
        assert client.post(f"{CHIP}/portland", json=wrong).status_code == 422, wrong
