"""A chip in the kernel that programs call: only its CPU's socket can act as the CPU, packets
without a hit stay in the kernel, and nothing is left of killed processes.
`[serverswitch §3.3.2]`"""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cubeyard.chip.cache import checksum
from cubeyard.chip.serverswitch import Action, ChipError, ServerSwitch
from tests.processes import PROGRAM, environment

from .inside import enter, named
from .test_live import API, Left, Live, home

__all__ = ["home"]

EVERY = ("TCAM", 2000, 2, "00" * 9, "00" * 9)
"""A TCAM entry that matches every packet of BCube, since its mask ignores all bits."""

FORGE = """
import socket, sys
frame = bytes.fromhex(sys.argv[2])
for mark, priority in ((0, 0), (0xcb51, 0), (4, 4), (0x7FFFFFFF, 6)):
    out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)
    out.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
    out.bind((sys.argv[1], 0))
    for _ in range(50):
        out.send(frame)
print("sent")
"""


INNER_AT, IP, TCP = 50, 20, 6
"""Offset of the packet behind the headers of Ethernet and BCube, and lengths of the IP and TCP
headers."""


def is_right(packet: bytes) -> bool:
    """Whether the lengths in both IPv4 headers and the TCP checksum of a packet are correct."""
    inner = packet[INNER_AT:]
    lengths = struct.unpack_from(">H", packet, 16)[0], struct.unpack_from(">H", inner, 2)[0]
    if lengths != (len(packet) - 14, len(inner)):
        return False
    return (
        checksum(inner[12:20] + struct.pack(">BBH", 0, TCP, len(inner) - IP) + inner[IP:] + bytes(len(inner) % 2)) == 0
    )


def place_of(home: Path, run: str, server: str) -> str:
    request = [*PROGRAM, "chip", "socket", run, server]
    message = subprocess.run(request, env=environment(home), capture_output=True, text=True, check=True)
    return message.stdout.strip()


def pids_of(run: str) -> list[int]:
    """Process ids of the first server's node."""
    message = subprocess.run(["ip", "netns", "pids", f"cy-{run[:8]}-0"], capture_output=True, text=True, check=True)
    pids = [int(pid) for pid in message.stdout.split()]
    assert pids
    return pids


def short_packet_to_send_on(chip: ServerSwitch) -> bytes:
    """A packet that the chip forwards; a packet at the end of its path belongs to the server. It
    must be short, since forged packets go to the server's own interface, whose MTU is less than a
    full packet with its header. While a program takes all packets, TCP retransmits the same long
    ones; so this takes packets only briefly at a time."""
    for _ in range(20):
        chip.SetLookupTable(*EVERY, Action("TO_CPU"))
        taken = [chip.RecvPacket(2.0) for _ in range(50)]
        chip.ClearLookupTable("TCAM", 2000)
        for item in taken:
            if item is not None and len(item[0]) <= 200 and chip.SendPacket(item[0], 5):
                return item[0]
        time.sleep(0.5)
    raise AssertionError("no short packet is sent on")


@pytest.mark.long
def test_nobody_but_the_chips_own_socket_is_the_cpu(home: Path, nothing_left: Left) -> None:
    with Live(home) as live:
        run = live.start(dataplane="serverswitch", seconds=600)
        live.flowing(run)
        inner = named(f"cy-{run[:8]}-0")
        for pid in pids_of(run):
            status = Path(f"/proc/{pid}/status").read_text().splitlines()
            held = {line.split()[0]: int(line.split()[1], 16) for line in status if line.startswith("Cap")}
            assert held["CapPrm:"] == held["CapEff:"] == held["CapAmb:"] == 0, "the node has no capability"
        with (
            ServerSwitch.connect(place_of(home, run, "00")) as chip,
            ServerSwitch.connect(place_of(home, run, "01")) as other,
        ):
            packet = short_packet_to_send_on(chip)
            # Packets of the server's own applications enter by port 4 of the CPU; nothing else uses
            # ports 5 and 6.
            before = chip.ReadRegister("IN_PACKETS_PORT5"), chip.ReadRegister("IN_PACKETS_PORT6")
            forged = enter(inner, sys.executable, "-c", FORGE, "cy0x", packet.hex(), check=False)
            assert forged.stdout == "sent\n", forged.stderr
            after = chip.ReadRegister("IN_PACKETS_PORT5"), chip.ReadRegister("IN_PACKETS_PORT6")
            assert after == before, "root in the server's own namespace is not the chip's CPU"
            for _ in range(3):
                assert chip.SendPacket(packet, 5)
            assert not chip.SendPacket(b"\2" * 60, 6), "no entry matches"
            assert (chip.ReadRegister("IN_PACKETS_PORT5"), chip.ReadRegister("IN_PACKETS_PORT6")) == (
                before[0] + 3,
                before[1] + 1,
            )
            # The program of another server does not get these packets.
            assert not other.RecvPacket(0.0)
            with pytest.raises(ChipError) as refused:
                other.ClearLookupTable("TCAM", 2000)
            assert refused.value.code == "entry-not-own"
            with pytest.raises(ChipError, match="28672"):
                chip.execute("j = 0; " * 5000)
        live.call("POST", f"{API}/runs/{run}/cancel")
        live.ended(run)


@pytest.mark.long
def test_tcp_comes_to_a_program_packet_by_packet_with_right_checksums_and_goes_on(
    home: Path, nothing_left: Left
) -> None:
    with Live(home) as live:
        run = live.start(dataplane="serverswitch", seconds=600, mtu=1500)
        live.flowing(run)
        with ServerSwitch.connect(place_of(home, run, "00")) as chip:
            chip.RecvPacket(0.0)
            chip.SetLookupTable(*EVERY, Action("TO_CPU"))
            taken, full = 0, 0
            until = time.monotonic() + 6.0
            while time.monotonic() < until:
                result = chip.RecvPacket(1.0)
                if result is None:
                    continue
                packet, iport = result
                assert len(packet) <= 1514
                if packet[INNER_AT - 8] == 0 and packet[INNER_AT + 9] == TCP:  # TCP data
                    assert is_right(packet), packet[:120].hex()
                    taken, full = taken + 1, full + (len(packet) > 1400)
                chip.SendPacket(packet, iport)
            chip.ClearLookupTable("TCAM", 2000)
            lost = chip.lost_packets
        print(f"{taken} packets of TCP by way of a program, {full} of them full, {lost} lost")
        assert taken > 500, "TCP goes on"
        assert full > 200
        live.call("POST", f"{API}/runs/{run}/cancel")
        live.ended(run)


@pytest.mark.long
def test_leftovers_of_programs_and_effects_on_their_servers(home: Path, nothing_left: Left) -> None:
    hold = (
        "import sys, time; from cubeyard.chip.serverswitch import Action, ServerSwitch\n"
        "chip = ServerSwitch.connect(sys.argv[1])\n"
        "chip.SetLookupTable('TCAM', 2000, 2, '00' * 9, '00' * 9, Action('TO_CPU'))\n"
        "chip.RecvPacket(0.0); print('set', flush=True); time.sleep(600)\n"
    )
    with Live(home) as live:
        run = live.start(dataplane="serverswitch", seconds=600)
        live.flowing(run)
        place = place_of(home, run, "00")
        program = subprocess.Popen([sys.executable, "-c", hold, place], stdout=subprocess.PIPE, text=True)
        assert program.stdout is not None
        assert program.stdout.readline() == "set\n"
        # The program does not read, so the ring and its socket fill up, and further packets are
        # counted.
        time.sleep(1.0)
        program.kill()
        program.wait()
        program.stdout.close()
        with ServerSwitch.connect(place) as chip:
            assert "TO_CPU" in chip.tables(), "entries stay after their program has ended, as in user space"
            chip.ClearLookupTable("TCAM", 2000)

        def delivered() -> bool:
            before = sent[0]
            sent[0] = live.inspect(run, "00")[1]["counts"]["own-bytes"]
            return sent[0] > before + 20_000

        sent = [0]
        live.wait("packets by the server's own program again", delivered)
        for pid in pids_of(run):
            os.kill(pid, signal.SIGKILL)

        def silent() -> bool:
            with socket.socket(socket.AF_UNIX) as item:
                return item.connect_ex(place) != 0

        live.wait("nobody to listen", silent)
        live.call("POST", f"{API}/runs/{run}/cancel")
        live.ended(run)
    assert not Path(place).exists()
