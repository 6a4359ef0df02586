"""What `/metrics` tells of the fabrics: whether each takes calls."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from cubeyard.emulation.fabric.hosts import Hosts
from cubeyard.emulation.fabric.place import Place
from cubeyard.settings import Settings

CONNECT_SECS = 0.5


class FabricCollector(Collector):
    def __init__(self, settings: Settings) -> None:
        self._hosts = Hosts.of(settings, Place.of(settings))

    def describe(self) -> Iterable[Any]:
        """No fabric is called before somebody asks."""
        return ()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        up = GaugeMetricFamily(
            "cubeyard_fabric_up",
            "Whether the fabric of a host takes calls; this machine's starts with the first emulation.",
            labels=["host"],
        )
        for host in self._hosts.every:
            up.add_metric([host.name or "this"], float(_answers(host.socket)))
        yield up


def _answers(path: Path) -> bool:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as end:
        end.settimeout(CONNECT_SECS)
        try:
            end.connect(str(path))
        except OSError:
            return False
    return True
