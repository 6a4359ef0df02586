"""Roles of nodes, rates of links, and reports of what the file leaves open."""

from __future__ import annotations

import pytest

from cubeyard.kit.errors import ProblemError
from tests.topologies.files import CONTAINERLAB, imported, roles


def edges(*pairs: str, header: str = "source,target") -> bytes:
    return "\n".join([header, *pairs]).encode()


def rules(data: bytes, **options: object) -> dict[str, tuple[int, int]]:
    return {role.rule: (role.servers, role.switches) for role in imported(data, **options).roles}


def test_links_decide_where_names_say_nothing_and_the_rest_is_listed() -> None:
    result = imported(edges("x1,y1", "x2,y2", "y1,z1", "y2,z1"))
    assert roles(result.spec) == {"x1": "server", "x2": "server", "y1": "switch", "y2": "switch", "z1": "switch"}
    assert [(role.rule, role.servers, role.switches) for role in result.roles] == [("links", 2, 2), ("unclear", 0, 1)]
    assert [(finding.code, finding.severity) for finding in result.findings] == [("roles-unclear", "warning")]
    assert "z1" in result.findings[0].message


def test_patterns_come_before_everything_and_settle_what_is_unclear() -> None:
    data = edges("x1,y1", "x2,y2", "y1,z1", "y2,z1")
    result = imported(data, servers=("X*",), switches=("z*", "y?"))
    assert result.findings == []
    assert rules(data, servers=("*",), switches=("z*", "y?")) == {"pattern": (2, 3)}
    assert rules(CONTAINERLAB, switches=("web1",))["pattern"] == (0, 1)


def test_a_ring_of_unknown_nodes_needs_a_person() -> None:
    with pytest.raises(ProblemError) as refused:
        imported(edges("x,y", "y,z", "z,x"))
    assert "None of the 3 nodes is a server" in refused.value.detail
    assert "pattern" in str(refused.value.errors[0].hint)
    assert imported(edges("x,y", "y,z", "z,x"), servers=("*",)).counts.servers == 3
    assert imported(edges("x,y", "y,z", "z,x"), servers=("x",)).counts.servers == 1


def test_words_in_names_and_mininet_s_letters() -> None:
    data = edges("rack1-tor-a,gpu07", "rack1-tor-a,spine-3", "hostess,spine-3")
    assert roles(imported(data).spec)["hostess"] == "server"  # by its one link
    assert rules(data) == {"name": (1, 2), "links": (1, 0)}
    assert rules(edges("h1,s1", "h2,s2", "s1,s2")) == {"name": (2, 2)}


def test_roles_and_tiers_of_a_table() -> None:
    header = "a,b,a_role,b_role,b_tier"
    result = imported(edges("n1,n2,Server,ToR,0", "n3,n2,,,", "n2,n4,,Spine switch,1", header=header))
    assert result.spec["nodes"][2:] == [
        {"name": "n2", "role": "switch", "tier": 0}, {"name": "n4", "role": "switch", "tier": 1},
    ]  # fmt: skip


def test_containerlab_labels_groups_and_kinds() -> None:
    text = b"""topology:
  defaults: {kind: linux}
  groups: {fabric: {labels: {role: leaf}}}
  nodes:
    a: {group: fabric}
    b: {labels: {role: spine, tier: 1}}
    c: {}
    d: {group: server}
    e: {kind: ceos}
  links:
    - endpoints: [a:1, b:1]
    - endpoints: [a:2, c:1]
    - endpoints: [a:3, d:1]
    - endpoints: [e:1, b:2]
"""
    assert roles(imported(text).spec) == {"a": "switch", "b": "switch", "c": "server", "d": "server", "e": "switch"}


@pytest.mark.parametrize(
    ("column", "words", "gbps"),
    [
        ("gbps", "25", 25), ("speed", "100G", 100), ("speed", "400 Mb/s", 0.4), ("bandwidth", "1 Tbps", 1000), ("rate", "40GbE", 40),
        ("speed", "2.5 gbit", 2.5), ("mbps", "100", 0.1), ("bandwidth_mbps", "1000", 1), ("speed", "10000000000 bps", 10),
        ("speed", "25gbase-x-sfp28", 25), ("speed", "1000base-t", 1), ("speed", "10", 10), ("speed", "1e9", 1),
        ("rate_bits_per_sec", "10000000000", 10), ("Speed [Gbit/s]", "25", 25), ("Bandwidth (Mb/s)", "25000", 25), ("Speed (Gb)", "25G", 25),
        ("Link speed in Mbit/s", "1000", 1), ("Geschwindigkeit", "25G", 25), ("Bandbreite (Gbit/s)", "2.5", 2.5), ("Datenrate", "1G", 1),
        ("data_rate", "40G", 40), ("Débit (Gb/s)", "100", 100), ("uplink_gbps", "100", 100), ("Gbit/s", "25", 25), ("speed", "10Gig", 10),
        ("speed", "10 gigabit ethernet", 10), ("speed", "25G SFP28", 25), ("speed", "10Gbps full duplex", 10), ("speed", "STM-16", 2.48832),
        ("speed", "E1", 0.002048), ("speed", '"1,000 Mbps"', 1),
    ],
)  # fmt: skip
def test_rates_are_read_with_their_units(column: str, words: str, gbps: float) -> None:
    result = imported(edges(f"web1,leaf1,{words}", header=f"source,target,{column}"))
    assert [(rate.gbps, rate.told) for rate in result.rates] == [(gbps, True)]
    assert result.spec["link_gbps"] == gbps


@pytest.mark.parametrize(
    ("words", "gbps"), [("10G", 10), ("155 Mbps", 0.155), ("100 Gb/s", 100), ("3 m", None), ("E1", None), ("2", None)]
)
def test_a_label_of_a_link_may_have_its_rate(words: str, gbps: float | None) -> None:
    result = imported(f'graph {{ web1 -- leaf1 [label="{words}"]; web2 -- leaf1 [label="{words}"] }}'.encode())
    assert [(rate.gbps, rate.told) for rate in result.rates] == [(gbps or 10, gbps is not None)]


def test_a_rate_that_depends_on_the_decimal_mark_is_asked_for() -> None:
    data = b'source,target,speed\nleaf1,web1,10 Gbps\nleaf1,web2,"100,000 Mbps"\n'
    with pytest.raises(ProblemError) as refused:
        imported(data)
    (error,) = refused.value.errors
    assert (error.field, error.value) == ("query.decimal", "100,000")
    assert "100000 with a decimal point, and 100 with a decimal comma" in error.message
    for mark, gbps in (("point", 100.0), ("comma", 0.1)):
        rates = imported(data, decimal=mark).rates
        assert {rate.gbps for rate in rates} == {10.0, gbps}


def test_the_decimal_mark_of_rates_is_that_of_the_file() -> None:
    result = imported(b"source;target;speed\nweb1;leaf1;2,5 Gb/s\nweb2;leaf1;1.000 Mb/s\n")
    assert sorted(rate.gbps for rate in result.rates) == [1, 2.5]


def test_the_load_of_a_link_is_not_its_rate() -> None:
    result = imported(edges("web1,leaf1,3", header="source,target,average_load_gbps"))
    assert [(rate.gbps, rate.told) for rate in result.rates] == [(10, False)]


@pytest.mark.parametrize(
    "words", ["fast", "-1", "10 GB/s per lane", "1e99", "0", "10/100/1000", "10-40 Gb/s", "10 Gb/s to 40 Gb/s", "5 B"]
)
def test_what_is_no_rate_is_told_and_the_default_taken(words: str) -> None:
    result = imported(edges(f"web1,leaf1,{words}", header="source,target,speed"))
    assert [(rate.gbps, rate.told) for rate in result.rates] == [(10, False)]
    assert [entry.code for entry in result.findings] == ["rates-not-understood"]


def test_bare_numbers_of_an_open_unit_are_asked_for() -> None:
    data = edges("web1,leaf1,1000", "web2,leaf1,40000", header="source,target,speed")
    assert [finding.code for finding in imported(data).findings] == ["rates-not-understood"]
    result = imported(data, rate_unit="mbps")
    assert [rate.gbps for rate in result.rates] == [1, 40]
    assert result.findings == []
    assert imported(edges("web1,leaf1,40", header="source,target,speed")).assumed == [
        "1 rate without a unit, read as Gb/s."
    ]


def test_options_have_limits() -> None:
    data = edges("web1,leaf1")
    for options, field in (
        ({"link_gbps": 0.0}, "query.link_gbps"), ({"servers": ("x" * 101,)}, "query.servers"), ({"switches": ("x",) * 51}, "query.switches"),
    ):  # fmt: skip
        with pytest.raises(ProblemError) as refused:
            imported(data, **options)
        assert (refused.value.status, refused.value.errors[0].field) == (422, field)
