"""Services that send as much as they can share a link fairly with applications' TCP. Each has a
separate queue at the link's ends, and link faults affect it too."""

from __future__ import annotations

import time
from typing import Any

import pytest

from cubeyard.emulation.fabric.client import FabricClient
from cubeyard.engine import Engine

from .test_example import Left
from .test_torus import RUN, X_UP, description, wired

pytestmark = pytest.mark.long

Json = dict[str, Any]
RATE_BITS_PER_SEC = 1e7
TO = 9  # id of the neighbour at port X_UP
FLOOD = b"""(module
    (import "cubeyard" "transmit" (func $transmit (param i32 i32 i32) (result i32)))
    (import "cubeyard" "set_timer" (func $set_timer (param i32)))
    (memory (export "memory") 1)
    (func (export "buffer") (result i32) (i32.const 0))
    (func (export "F") (param i32 i32))
    (func (export "classify") (param i32) (result i32) (i32.const 0))
    (func (export "deliver") (param i32 i32))
    (func $act (local $i i32)
        (call $set_timer (i32.const 4))
        (loop $l
            (drop (call $transmit (i32.const 0) (i32.const 1400) (i32.const 1)))
            (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 8)))))
    (func (export "message") (param i32) (call $act))
    (func (export "timer") (call $act)))"""
"""A service that sends eight packets to (1,0,0) every 4 ms, more than the link can carry."""


class Watch:
    """The link's load by sender: payloads of the two services, goodput of the flow, and the link's
    own counters."""

    def __init__(self, client: FabricClient, link: int) -> None:
        self.client, self.link = client, link
        self.frames = client.frames(2.0)
        self.bits_per_sec = 0.0
        self.drops = 0
        self.most_queued = 0

    def call(self, method: str, **asked: Any) -> Json:
        """Makes a call over a separate connection, because this one receives the frames."""
        with FabricClient(self.client.path) as other:
            return other.call(method, run=RUN, **asked)

    def shares(self, secs: float) -> dict[str, float]:
        """The share of each sender in their total over the next seconds."""
        before, flow, until = self._services(), 0, time.monotonic() + secs
        bytes_, self.drops, self.most_queued = 0, 0, 0
        began_at = at_secs = None
        for frame in self.frames:
            assert frame is not None, "the fabric is silent"
            if began_at is None:
                began_at = frame["at_secs"]
                continue
            at_secs = frame["at_secs"]
            flow += frame["flows"]["bytes"][0]
            links = frame["links"]
            bytes_ += links["tx"][self.link]
            self.drops += links["drops"][self.link]
            self.most_queued = max(self.most_queued, links["queue"][self.link])
            if time.monotonic() > until:
                break
        after = self._services()
        assert began_at is not None
        assert at_secs is not None
        self.bits_per_sec = 8 * bytes_ / (at_secs - began_at)
        carried = {name: after[name] - before.get(name, 0) for name in ("benchmark", "flood")} | {"tcp": flow}
        total = max(sum(carried.values()), 1)
        result = {name: bytes_ / total for name, bytes_ in carried.items()}
        print({name: round(share, 3) for name, share in result.items()}, f"of {self.bits_per_sec / 1e6:.2f} Mb/s")
        return result

    def _services(self) -> dict[str, int]:
        sections = self.call("inspect", server=0)["sections"]
        result = next(section["rows"] for section in sections if section["name"] == "service-links")
        return {row[0]: row[-1] for row in result if row[1] == X_UP}


def test_two_services_that_flood_and_tcp_share_a_link_fairly(engine: Engine, nothing_left: Left) -> None:
    network = description(engine, "kernel", {"disjoint_paths": 0}, RATE_BITS_PER_SEC)
    network["services"] = [{"name": "flood", "id": 256, "module": engine.service_module(FLOOD).hex()}]
    link = next(at for at, item in enumerate(network["links"]) if [0, X_UP] in (item["a"], item["b"]))
    number = network["links"][link]["id"]
    with wired(network) as client:
        client.call("workload", run=RUN, flows=[{"id": 0, "source": 0, "destination": TO, "proto": "tcp"}])
        client.subscribe(RUN)
        client.call("start", run=RUN)
        watch = Watch(client, link)
        watch.call("tell", server=0, service="benchmark", message="flood 1,0,0 routed 60000 1400")
        watch.call("tell", server=0, service="flood", message="begin")

        def shared() -> None:
            watch.shares(0.7)
            assert min(watch.shares(2.0).values()) >= 0.27

        def struck(kind: str, **more: Any) -> None:
            fault = {"id": kind, "kind": kind, "target": {"link": number}, **more}
            watch.call("inject", fault=fault)

        shared()
        assert watch.bits_per_sec == pytest.approx(RATE_BITS_PER_SEC, rel=0.06)
        assert watch.most_queued > 1400, "the bytes in all queues of the link are reported"

        struck("link-rate", rate_bits_per_sec=RATE_BITS_PER_SEC / 2)
        shared()
        assert watch.bits_per_sec == pytest.approx(RATE_BITS_PER_SEC / 2, rel=0.06)
        watch.call("recover", fault="link-rate")

        struck("cable-cut-silent")
        watch.shares(0.3)
        watch.shares(0.8)
        assert (watch.bits_per_sec, watch.drops > 0) == (0.0, True), "packets of all senders are lost and counted"
        watch.call("recover", fault="cable-cut-silent")
        struck("cable-pulled")
        watch.shares(0.5)
        watch.call("recover", fault="cable-pulled")
        shared()
