"""Connections over several paths at once, with real packets: MPTCP of the kernel, with the fabric
as its path manager."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Command

Left = Callable[[], dict[str, set[str]]]

SUBWAYS = '{"family":"subways","type":2,"p":2,"q":4,"l":4,"c":2,"clusters":2,"aggs_per_cluster":2,"cores":2}'


def test_one_connection_uses_both_ports_outlives_a_cable_and_returns_to_it(
    emulate: Command, nothing_left: Left
) -> None:
    result = emulate.run(
        "--spec", SUBWAYS, "--workload", '{"kind":"one-to-one","source":"0.0.0","destination":"1.0.0"}', "--protocol", "mptcp",
        "--link-rate", "20M", "--seconds", "8", "--mode", "namespaces", "--settle", "1", "--calibrate", "0",
        "--fault", "cable-pulled=0.0.0/<0,0.0>@2-3.5",
    )  # fmt: skip
    (flow,) = result["per_flow"]
    link = 2e7
    assert flow["ideal_bits_per_sec"] == pytest.approx(2 * link, rel=0.01), "four subflows fill two ports"
    assert "uncoupled" in result["predicted"]["choices"][0]
    ports = [item for item in result["per_link"] if item["level"] == 0 and item["ab_bits_per_sec"] > 0.2 * link]
    assert len(ports) == 2, "both of the source's ports carry the connection"
    assert result["windows"]["during"]["stalled_flows"] == 0, "the other port still carries data"
    # When the cable is back, the subflows of its port use their old paths again, and carry data.
    paths = {when: {} for when in ("before", "after")}
    for reported in (event for event in result["events"] if event["kind"] == "subflow-up"):
        if not 2 <= reported["at_secs"] < 3.5:
            paths["before" if reported["at_secs"] < 2 else "after"][reported["subflow"]] = reported["path"]
    assert paths["after"].items() >= {number: paths["before"][number] for number in (0, 2)}.items()
    assert max(result["series"]["goodput_bits_per_sec"][-3:]) > 1.3 * link, "on both ports again"
