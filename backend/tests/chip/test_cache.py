"""The in-network cache between a client and a server: who answers each request, byte for byte.
`[serverswitch §6.1]`"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field

import pytest

from cubeyard.chip.cache import ETHERNET, ID_AT, IP, MOST_COPIES, SERVICE_PORT, Cache, response_to
from cubeyard.chip.model import ModelSwitch
from tests.chip.test_serverswitch import ipv4

REQUEST_BYTES, RESPONSE_BYTES = 128, 1514
"""Sizes of the paper's experiment. [serverswitch §6.1]"""


def request_of(content: int) -> bytes:
    """A request of the paper's size."""
    udp = struct.pack(">HHHH", 4000, SERVICE_PORT, REQUEST_BYTES - ETHERNET - IP, 0)
    frame = ipv4("10.0.0.9", udp + struct.pack(">I", content).ljust(REQUEST_BYTES - ID_AT, b"?"))
    assert len(frame) == REQUEST_BYTES
    return frame[:23] + b"\x11" + frame[24:]


@dataclass
class Ends:
    """A client on ports 0 and 1 and a server on ports 2 and 3 of a chip with its cache."""

    version: int = 0
    now: float = 0.0
    upstream: int = 0
    chip: ModelSwitch = field(default_factory=ModelSwitch)

    def __post_init__(self) -> None:
        self.cache = Cache(self.chip, max_age_secs=10.0, clock=lambda: self.now)

    def content(self, number: int) -> bytes:
        """The server's present content of an ID."""
        size = RESPONSE_BYTES - ID_AT
        return (struct.pack(">II", number, self.version) + random.Random(number).randbytes(size))[:size]

    def ask(self, number: int, port: int = 0) -> bytes:
        """Requests a content and returns what the client receives; the server replies if it
        must."""
        sent, request = self.chip.sent, request_of(number)
        sent.clear()
        self.chip.receive(request, port)
        while self.cache.work(0.0):
            pass
        for out, packet in list(sent):
            if out in {2, 3}:
                self.upstream += 1
                assert packet == request, "requests pass unchanged"
                self.chip.receive(response_to(packet, self.content(number)), out)
        while self.cache.work(0.0):
            pass
        (answer,) = (packet for out, packet in sent if out == port)
        assert answer[:12] == request[6:12] + request[:6]
        assert (answer[26:30], answer[30:34]) == (request[30:34], request[26:30])
        assert struct.unpack_from(">HH", answer, ETHERNET + IP) == (SERVICE_PORT, 4000)
        return answer[ID_AT:]


def test_the_first_request_passes_and_the_second_is_answered_here_with_the_same_bytes() -> None:
    ends = Ends()
    assert ends.ask(7) == ends.content(7)
    assert (ends.upstream, ends.cache.hits, ends.cache.kept) == (1, 0, 1)
    assert ends.ask(7) == ends.content(7)
    assert ends.ask(7, port=1) == ends.content(7)
    assert (ends.upstream, ends.cache.hits) == (1, 2)
    assert ends.ask(8) == ends.content(8)
    assert ends.upstream == 2


def test_changed_content_is_stale_until_the_copy_is_too_old() -> None:
    ends = Ends()
    before = ends.ask(7)
    ends.version = 1
    assert ends.ask(7) == before != ends.content(7)
    ends.now = 10.0
    assert ends.ask(7) == ends.content(7) != before
    assert ends.upstream == 2
    ends.now = 19.9
    assert ends.ask(7) == ends.content(7)
    assert ends.upstream == 2


@pytest.mark.parametrize("percent", [0, 20, 50, 80, 100])
def test_a_hit_ratio_of_x_percent_saves_x_percent_upstream(percent: int) -> None:
    ends, request = Ends(), 200
    hot = list(range(10))
    for number in hot:
        ends.ask(number)
    ends.upstream = 0
    drawn = random.Random(percent)
    for at in range(request):
        is_hit = at * percent // 100 != (at + 1) * percent // 100
        number = drawn.choice(hot) if is_hit else 1000 + at
        assert ends.ask(number) == ends.content(number)
    assert abs(100 * (request - ends.upstream) / request - percent) <= 1


def test_the_oldest_copy_gives_way_when_all_places_are_taken() -> None:
    ends = Ends()
    request = request_of(0)
    for number in range(MOST_COPIES + 3):
        content = struct.pack(">I", number)
        ends.chip.receive(response_to(request, content), 2)
        assert ends.cache.work(0.0)
    ends.chip.sent.clear()
    assert ends.ask(3) == struct.pack(">I", 3)
    assert ends.upstream == 0
    ends.ask(0)
    assert ends.upstream == 1


def test_what_is_no_request_of_the_service_passes() -> None:
    ends = Ends()
    other = request_of(7)
    other = other[:36] + struct.pack(">H", 53) + other[38:]
    ends.ask(7)
    assert ends.chip.receive(other, 0) == [2]
    assert ends.chip.receive(bytes(12) + b"\x88\xb5" + bytes(46), 3) == [1], "what is no IPv4 packet"
    assert not ends.cache.work(0.0)
