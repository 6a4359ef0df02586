"""The part of `/metrics` about the fabrics: whether each accepts calls."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from cubeyard.emulation.fabric.client import Remote, Socket
from cubeyard.emulation.fabric.hosts import Host, Hosts
from cubeyard.emulation.fabric.place import Place
from cubeyard.kit.errors import ProblemError
from cubeyard.settings import Settings

CONNECT_SECS = 0.5


class FabricCollector(Collector):
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def describe(self) -> Iterable[Any]:
        """Calls no fabric until a client requests the metrics."""
        return ()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        up = GaugeMetricFamily(
            "cubeyard_fabric_up",
            "Whether the fabric of a host takes calls; this machine's starts with the first emulation.",
            labels=["host"],
        )
        for host in self._hosts():
            up.add_metric([host.name or "this"], float(_answers(host.socket)))
        yield up

    def _hosts(self) -> tuple[Host, ...]:
        try:
            return Hosts.of(self._settings, Place.of(self._settings)).every
        except ProblemError:
            return ()  # a cluster that does not respond has no known nodes


def _answers(place: Socket) -> bool:
    if isinstance(place, Remote):
        with suppress(OSError), closing(place.connect(CONNECT_SECS)):
            return True
        return False
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as end:
        end.settimeout(CONNECT_SECS)
        try:
            end.connect(str(place))
        except OSError:
            return False
    return True
