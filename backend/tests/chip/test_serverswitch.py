"""The paper's calls in Python: on a chip of one's own, and over a socket."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from cubeyard.chip.model import ModelSwitch
from cubeyard.chip.serverswitch import Action, ChipError, ServerSwitch, SocketChannel
from cubeyard.engine import PlanRejectedError, chip_model
from tests.conftest import examples

SOURCE = "0a000002"


def ipv4(destination: str, payload: bytes = b"") -> bytes:
    """An IPv4 packet in an Ethernet frame."""
    head = bytes.fromhex("4500") + struct.pack(">H", 20 + len(payload)) + bytes.fromhex("0000400009110000" + SOURCE)
    head += socket.inet_aton(destination)
    total = sum(struct.unpack(">10H", head))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    head = head[:10] + struct.pack(">H", ~total & 0xFFFF) + head[12:]
    return bytes.fromhex("020000000001" + "020000000009" + "0800") + head + payload


def test_the_papers_examples() -> None:
    with ModelSwitch() as chip:
        # [serverswitch §3.3.2]
        chip.SetUDLK(1, "(B0-5)")
        chip.SetUDLK(2, ("INPORT", "B30-33", "B42-45"))
        chip.SetVIfTable(3, "001F29D417E8", None, 2)
        chip.SetLookupTable("TCAM", 1, 1, "000001020001", "FFFFFF000000", Action("REDIRECT_VIF", vif=3))
        assert chip.ReadRegister("OUTPUT_QUEUE_BYTES_PORT0") == 0
        to_pmac = bytes.fromhex("000001999999") + ipv4("10.0.0.7")[6:]
        assert chip.receive(to_pmac, 0) == [2]
        assert chip.sent[0][1][:6].hex() == "001f29d417e8"
        assert chip.SendPacket(to_pmac, 5)
        assert not chip.SendPacket(ipv4("10.0.0.7"), 5)
        assert chip.SendPacket(ipv4("10.0.0.7"), 1)
        assert [port for port, _ in chip.sent] == [2, 2, 1]
        assert chip.ReadRegister("DISCARDS_NO_MATCH") == 1
        chip.WriteRegister("DISCARDS_NO_MATCH", 0)
        assert chip.ReadRegister("DISCARDS_NO_MATCH") == 0
        assert "SetVIfTable(3" in chip.tables()
        rows = orjson.loads(chip.tables(as_json=True))
        assert [(entry["i"], entry["hits"], entry["own"]) for entry in rows["entries"]] == [(1, 2, True)]
        assert orjson.loads(chip.trace(to_pmac, 0))["outcome"] == "sent"


def test_packets_for_the_cpu_come_in_order_with_their_port() -> None:
    chip = ModelSwitch()
    chip.SetLookupTable("EM_IPV4", 0, 0, "10.0.0.7", None, Action("TO_CPU"))
    assert chip.RecvPacket(0.0) is None
    packets = [ipv4("10.0.0.7", bytes([number])) for number in range(5)]
    for number, packet in enumerate(packets):
        assert chip.receive(packet, number % 4) == []
    assert [chip.RecvPacket() for _ in packets] == [(packet, 4 + at % 4) for at, packet in enumerate(packets)]
    for number in range(300):
        chip.receive(ipv4("10.0.0.7", number.to_bytes(2)), 0)
    assert chip.RecvPacket() == (ipv4("10.0.0.7", b"\0\0"), 4)
    assert chip.lost_packets == 44


def test_a_commit_is_whole_and_what_is_refused_is_said() -> None:
    chip = ModelSwitch("SetUDLK(1, (B30-33));")
    chip.begin()
    chip.SetVIfTable(1, None, None, 0)
    chip.SetLookupTable("TCAM", 1, 1, bytes([10, 0, 0, 1]), bytes([255] * 4), Action("REDIRECT_VIF", vif=1))
    chip.SetLookupTable("TCAM", 2, 1, "0a000002", None, Action("REDIRECT_VIF", vif=9))
    with pytest.raises(ChipError, match=r"action.vif is 9") as refused:
        chip.commit()
    assert refused.value.code == "vif-unset"
    assert chip.tables() == "SetUDLK(1, (B30-33));\n"
    with pytest.raises(ChipError, match="Send less at once"):
        chip.execute(" " * 70_000)
    with pytest.raises(ChipError, match="that a call has set"):
        chip.ClearVIfTable(1)
    chip.SetVIfTable(1, None, None, 0)
    chip.ClearVIfTable(1)
    with pytest.raises(PlanRejectedError):
        ModelSwitch("SetUDLK(9, (B0));")
    with pytest.raises(ChipError, match="iport is 9, but must be 0 to 7"):
        chip.receive(b"", 9)


ACTIONS = [
    (Action("DUPLICATE", ports=(0, 2)), "{act=DUPLICATE, ports=(0, 2)}"),
    (
        Action("REDIRECT_VIF", vif=1, mpls="SWAP", label=7, dscp=3),
        "{act=REDIRECT_VIF, vif=1, dscp=3, mpls=SWAP, label=7}",
    ),
    (
        Action("REDIRECT_VIF", vif=1, tunnel="PUSH", src="10.0.0.1", dst="10.0.0.2"),
        '{act=REDIRECT_VIF, vif=1, tunnel=PUSH, src="10.0.0.1", dst="10.0.0.2"}',
    ),
    (Action("MIRROR", port=5), "{act=MIRROR, port=5}"),
    (Action("DISCARD", mirror=4), "{act=DISCARD, mirror=4}"),
]


@pytest.mark.parametrize(("action", "text"), ACTIONS)
def test_actions_are_written_as_programs_write_them(action: Action, text: str) -> None:
    assert str(action) == text
    chip = ModelSwitch("SetProfile(extended); SetVIfTable(1, NULL, NULL, 0);")
    chip.SetLookupTable("EM_IPV4", 0, 0, "10.0.0.7", None, action)
    assert text.strip("{}") in chip.tables().replace("'", '"')


def test_over_a_socket_packets_may_come_before_an_answer(tmp_path: Path) -> None:
    path, model = tmp_path / "chip.sock", chip_model("")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()
    packet = ipv4("10.0.0.7", b"x" * 1000)

    def serve() -> None:
        stream, _ = listener.accept()
        channel = SocketChannel(stream)
        with stream:
            try:
                while True:
                    request = channel.receive(None)
                    answer, _ = model.call(request)
                    pushed = struct.pack("<IBIQB", 5 + 9 + len(packet), 130, 0, 7, 4) + packet
                    stream.sendall(pushed[:100])
                    stream.sendall(pushed[100:] + answer)
            except ConnectionError:
                return

    thread = threading.Thread(target=serve)
    thread.start()
    with ServerSwitch.connect(path) as chip:
        chip.SetVIfTable(1, None, None, 0)
        assert "SetVIfTable(1" in chip.tables()
        for _ in range(3):
            assert chip.RecvPacket(5.0) == (packet, 4)
        assert chip.RecvPacket(0.01) is None
        assert chip.lost_packets == 7
    thread.join()
    listener.close()
    with pytest.raises(OSError, match=r"."):
        ServerSwitch.connect(tmp_path / "nowhere.sock")


@hypothesis_settings(max_examples=examples(60))
@given(request=st.binary(max_size=80))
def test_any_request_gets_an_answer_or_none(request: bytes) -> None:
    model = chip_model("SetUDLK(1, (B30-33));")
    answer, sent = model.call(request)
    assert answer == b"" or int.from_bytes(answer[:4], "little") == len(answer) - 4
    assert all(port < 4 for port, _ in sent)
