"""A program on a server of a live run can call this server's chip, and no other.
`[serverswitch §3.3.2]`"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
from pathlib import Path

import pytest

from cubeyard.chip.serverswitch import Action, ChipError, ServerSwitch
from tests.processes import PROGRAM, environment

from .test_live import API, Left, Live, home

pytestmark = pytest.mark.long

__all__ = ["home"]

BCUBE_PACKETS = ("TCAM", 2000, 2, "00" * 9, "00" * 9)
"""A TCAM entry that matches every packet of BCube, since its mask ignores all bits."""


@pytest.mark.parametrize("dataplane", ["serverswitch", "serverswitch-software"])
def test_a_program_calls_the_chip_of_its_server_while_packets_flow(
    home: Path, nothing_left: Left, dataplane: str
) -> None:
    def chip_command(*words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [*PROGRAM, "chip", *words]
        return subprocess.run(command, env=environment(home), input=given, capture_output=True, text=True, check=False)

    with Live(home) as server:
        run = server.start(dataplane=dataplane, seconds=600)
        server.flowing(run)

        def delivered() -> bool:
            before = sent[0]
            sent[0] = server.inspect(run, "00")[1]["counts"]["own-bytes"]
            return sent[0] > before + 20_000

        sent = [0]
        server.wait("packets by the server's own program", delivered)
        place = chip_command("socket", run, "00").stdout.strip()
        with ServerSwitch.connect(place) as chip:
            chip.SetLookupTable(*BCUBE_PACKETS, Action("DISCARD"))  # type: ignore[arg-type]
            server.wait("no packet to come through", lambda: not delivered())
            shown = json.loads(chip_command("show", run, "00", "--json").stdout)
            (own,) = (entry for entry in shown["entries"] if entry["own"])
            assert (own["i"], own["action"]["act"], own["hits"] > 0) == (2000, "DISCARD", True)
            other = json.loads(chip_command("show", run, "01", "--json").stdout)
            assert not any(entry["own"] for entry in other["entries"]), "of another server"
            request = {"port": 4, "packet": "00" * 60}
            trace = server.call("POST", f"{API}/runs/{run}/servers/00/chip/trace", request)[1]
            assert trace["outcome"] == "discarded"

            chip.SetLookupTable(*BCUBE_PACKETS, Action("TO_CPU"))  # type: ignore[arg-type]
            result = chip.RecvPacket(30.0)
            assert result is not None, "packets of the flows reach the program"
            packet, iport = result
            assert iport >= 4
            assert packet[23] == 253, "the packet has BCube's header"
            assert chip.SendPacket(packet, 0)
            chip.ClearLookupTable("TCAM", 2000)
            server.wait("packets by the server's own program again", delivered)
            with pytest.raises(ChipError, match="bytes"):
                chip.SendPacket(b"\0" * 20_000, 0)
            with pytest.raises(ChipError, match="one of 0, 1, 4"):
                chip.SendPacket(packet, 3)

        running = home / "running.chip"
        running.write_text(chip_command("dump", run, "00").stdout)
        same = chip_command("diff", run, "00", str(running))
        assert same.returncode == 0, same.stdout
        assert chip_command("set", run, "00", "-", given="SetVIfTable(900, NULL, NULL, 1);").returncode == 0
        assert chip_command("diff", run, "00", str(running)).stdout.startswith("- SetVIfTable(900")
        assert "SetVIfTable(900, NULL, NULL, 1);" in chip_command("dump", run, "00").stdout
        refused = chip_command("set", run, "00", "-", given="SetVIfTable(900, NULL, NULL, 9);")
        assert (refused.returncode != 0, "oport is 9" in refused.stderr) == (True, True)

        hostile = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(40)]
        for number, item in enumerate(hostile):
            item.connect(place)
            item.settimeout(0.2)
            junk = struct.pack("<IBI", 5 + 40_000, 1, number) + b"for (i = 0; i < 39000; i++) { j = i; } ".ljust(40_000)
            try:
                item.sendall(junk if number % 2 else b"\xff" * 4096)
            except OSError:
                continue  # disconnected, or its buffer is full: the node reads only at a limited rate
        server.wait("packets beside hostile programs", delivered)
        for item in hostile:
            item.close()
        server.wait("packets after them", delivered)
        server.call("POST", f"{API}/runs/{run}/cancel")
        server.ended(run)
    assert not Path(place).exists(), "the socket is gone with its run"
