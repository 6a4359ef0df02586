"""Live packets of a run: the stream read by Wireshark's own reader, descriptions over REST, and how
streams end."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from cubeyard.emulation.live.packets.pcapng import Blocks, packet_of
from cubeyard.kit.embedded import EmbeddedPostgres
from tests.emulation.real.conftest import skip
from tests.emulation.real.test_live import API, Left, Live
from tests.processes import PROGRAM, environment

Json = dict[str, Any]
LINK = "00/<0,0>"


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cubeyard-packets-") as folder:
        yield Path(folder)
        last = EmbeddedPostgres(Path(folder))
        last.start()
        last.stop()


@pytest.fixture(scope="module")
def tshark() -> str:
    result = shutil.which("tshark")
    if result is None:
        skip("there is no tshark: make setup-test installs it")
    assert result is not None
    return result


def opened(server: Live, run: str, path: str, **asked: Any) -> Any:
    """Opens a stream of a run."""
    return urllib.request.urlopen(f"{server.base}{API}/runs/{run}/{path}?{urlencode(asked)}", timeout=30)


def events(stream: Any) -> Iterator[tuple[str, Json]]:
    """Yields the events of a stream."""
    name = ""
    for line in stream:
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text.removeprefix("event: ")
        elif text.startswith("data: "):
            yield name, json.loads(text.removeprefix("data: "))


def test_packets_are_read_by_wiresharks_reader_while_they_flow(home: Path, nothing_left: Left, tshark: str) -> None:
    with Live(home) as server:
        run = server.start()
        server.flowing(run)
        # Like `cubeyard capture … -w - | wireshark -k -i -`, but the reader closes the pipe after
        # forty packets.
        words = [*PROGRAM, "capture", run, "--link", LINK, "-w", "-"]
        writer = subprocess.Popen(
            words, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=False
        )
        fields = [
            "-T",
            "fields",
            "-E",
            "separator=;",
            "-e",
            "frame.len",
            "-e",
            "ip.src",
            "-e",
            "tcp.len",
            "-e",
            "_ws.malformed",
        ]
        reading = [tshark, "-n", "-l", "-i", "-", "-c", "40", *fields]
        read = subprocess.run(reading, stdin=writer.stdout, capture_output=True, text=True, timeout=60, check=False)
        assert writer.stdout is not None
        writer.stdout.close()
        assert writer.stderr is not None
        with writer.stderr:
            message = writer.stderr.read().decode()
        assert writer.wait(20) == 0, message
        lines = [line.split(";") for line in read.stdout.splitlines()]
        assert len(lines) == 40, (read.stdout, read.stderr, message)
        assert not any(malformed for *_, malformed in lines)
        assert any("10.0.0.1" in source.split(",") for _, source, _, _ in lines)
        assert f"packets of {LINK}" in message
        assert server.call("GET", f"{API}/runs/{run}")[1]["state"] == "running"

        # Over REST, with two simultaneous readers, one of which only requests ARP and neighbours'
        # messages.
        with (
            opened(server, run, "packets.pcapng", link=LINK) as all_of,
            opened(server, run, "packets.pcapng", link=LINK, match_protocol="control") as control,
        ):
            assert all_of.headers["content-type"] == "application/x-pcapng"
            blocks = Blocks()
            ports = set()
            while len(ports) < 1:
                ports |= {
                    packet.kept[34:38] for item in blocks.feed(control.read1(65_536)) if (packet := packet_of(item))
                }
            assert ports == {bytes.fromhex("12b612b6")}, "UDP port 4790 at both ends, and nothing else"
            assert all_of.read(4) == bytes.fromhex("0a0d0d0a")
        assert server.call("POST", f"{API}/runs/{run}/cancel")[0] in (200, 202)
        server.ended(run)


@pytest.mark.long
def test_packets_are_described_in_words_and_the_stream_ends_with_the_run(home: Path, nothing_left: Left) -> None:
    with Live(home) as server:
        run = server.start()
        server.flowing(run)
        with opened(server, run, "packets", link=LINK, match_protocol="tcp", match_host="11") as stream:
            reported = events(stream)
            seen: list[Json] = []
            counts = []
            while len(seen) < 20:
                name, news = next(reported)
                assert name == "packets"
                counts.append(news["packets"])
                seen += news["items"]
            assert counts == sorted(counts)
            assert all(item["protocol"] == "tcp" and item["text"].startswith("TCP ") for item in seen)
            assert all("11" in (item["source"], item["destination"]) for item in seen)
            assert any("BCube" in item["text"] for item in seen), "the header that servers relay by"
            assert server.call("POST", f"{API}/runs/{run}/cancel")[0] in (200, 202)
            *_, (name, end) = reported
            assert name == "end"
            assert "run ended" in end["reason"]
            assert end["packets"] >= counts[-1]
        server.ended(run)
        status, problem = server.call("GET", f"{API}/runs/{run}/packets?{urlencode({'link': LINK})}")
        assert status == 409, problem


@pytest.mark.long
def test_a_stream_does_not_hold_up_the_servers_end(home: Path, nothing_left: Left) -> None:
    """Must be the last test of this home: the next server would continue its run."""
    with Live(home) as server:
        run = server.start()
        server.flowing(run)
        with opened(server, run, "packets", link=LINK) as stream:
            reported = events(stream)
            next(reported)
            server.process.terminate()
            *_, (name, end) = reported
            assert (name, end["reason"]) == ("end", "The server stops.")
        assert server.process.wait(40) == 0
