"""How a relay's cache handles headers, without a run."""

from __future__ import annotations

from cubeyard.chip.cache import checksum, response_packet
from cubeyard.chip.relayed_cache import ETHERNET, HEADER, INNER_AT, behind


def test_an_answer_has_the_length_and_checksum_of_its_own_packet() -> None:
    outer = bytes.fromhex("45000100000000001ffd00000a0000020a000003") + bytes(HEADER - 20)
    request = bytes.fromhex("4500002000010000401100000a0000020a000003") + bytes.fromhex("0fa02387000c0000") + b"abcd"
    answer = behind(bytes(ETHERNET) + outer, response_packet(request, b"abcd" + bytes(100)))
    assert int.from_bytes(answer[16:18], "big") == len(answer) - ETHERNET == HEADER + 28 + 104
    assert answer[INNER_AT + 12 : INNER_AT + 20] == request[16:20] + request[12:16]
    for at in (ETHERNET, INNER_AT):
        header = answer[at : at + 20]
        assert checksum(header[:10] + bytes(2) + header[12:]) == int.from_bytes(header[10:12], "big")
