"""The paper's calls on a separate chip without a run, to test a program before it is used on a
server."""

from __future__ import annotations

from collections import deque

from cubeyard.chip.serverswitch import HEAD, PACKET, ChipError, ServerSwitch
from cubeyard.engine import chip_model

PORTS = 8
"""Four ports to the network, four to the CPU [serverswitch §4.1]."""


class ModelSwitch(ServerSwitch):
    """A chip with its CPU; `sent` has the packets that it sent, as pairs of port and packet."""

    def __init__(self, program: str = "") -> None:
        """Makes a chip with a program, as text or JSON. Raises PlanRejectedError for an invalid
        program."""
        self._model = _ModelChannel(program)
        super().__init__(self._model)

    @property
    def sent(self) -> list[tuple[int, bytes]]:
        """Packets sent by external ports, in order."""
        return self._model.sent

    def receive(self, pkt: bytes, iport: int) -> list[int]:
        """Receives a packet on a port. Returns the external ports by which it left. Raises
        ChipError for an invalid port."""
        if not 0 <= iport < PORTS:
            raise ChipError("port", f"iport is {iport}, but must be 0 to {PORTS - 1}: give the port of a chip.")
        before = len(self._model.sent)
        self._model.sent += self._model.chip.receive(iport, pkt)
        return [port for port, _ in self._model.sent[before:]]


class _ModelChannel:
    def __init__(self, program: str) -> None:
        self.chip = chip_model(program)
        self.sent: list[tuple[int, bytes]] = []
        self._answers: deque[bytes] = deque()

    def send(self, message: bytes) -> None:
        answer, out = self.chip.call(message[4:])
        self.sent += out
        self._answers.append(answer[4:])

    def receive(self, timeout_secs: float | None) -> bytes:  # noqa: ARG002 - a model has no time to wait for
        if self._answers:
            return self._answers.popleft()
        waits = self.chip.take()
        if waits is None:
            raise TimeoutError("no packet waits: give the chip one by receive()")
        port, lost, packet = waits
        return HEAD.pack(PACKET, 0) + lost.to_bytes(8, "little") + bytes([port]) + packet

    def close(self) -> None:
        self._answers.clear()
