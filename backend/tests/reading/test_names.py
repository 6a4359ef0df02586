"""One device under several spellings is one; two devices never become one without a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cubeyard.reading.names import Directory, clean, folded, is_address, one_device, port_key, short


@given(st.text(max_size=20))
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)
    assert folded(folded(text)) == folded(text)
    assert folded(clean(text)) == folded(text)


SPELLINGS = (
    str.upper, str.title, lambda name: f" {name} ", lambda name: name.replace("-", "\u2013"), lambda name: name.replace("-", "\u2011"),
    lambda name: f"{name}.dc1.example.net", lambda name: f"{name.upper()}.DC1.example.net.", lambda name: f"\u200b{name}\u00ad",
    lambda name: "".join(chr(ord(entry) + 0xFEE0) for entry in name),
)  # fmt: skip


@given(
    st.lists(st.from_regex(r"[a-z][a-z0-9]{0,4}(-[0-9]{1,2}){0,2}", fullmatch=True), min_size=1, unique=True), st.data()
)
def test_any_spelling_of_a_known_name_is_found(names: list[str], data: st.DataObject) -> None:
    directory = Directory((name, name) for name in names)
    name = data.draw(st.sampled_from(names))
    assert directory.find(data.draw(st.sampled_from(SPELLINGS))(name)) == name


def test_a_name_that_is_unique_only_by_its_case_is_not_guessed() -> None:
    directory = Directory([("Leaf1", 1), ("leaf1", 2), ("leaf2.a", 3), ("leaf2.b.net", 4), ("web.a.net", 5)])
    assert [directory.find(name) for name in ("Leaf1", "leaf1", "LEAF1", "leaf1.x.net")] == [1, 2, None, None]
    assert [directory.find(name) for name in ("leaf2", "web", "WEB", "web.b.net")] == [None, 5, 5, None]
    twice = Directory([("a", 1), ("a", 2)])
    assert twice.find("a") is None


@pytest.mark.parametrize(
    ("entry", "two"),
    [
        ("Eth1/1", "Ethernet1/1"), ("GigabitEthernet 1/0/1", "Gi1/0/1"), ("GigabitEthernet1/0/1", "ge-1/0/1"), ("Te1/1", "TenGigE1/1"),
        ("SWP1", "swp1"), ("swp 1", "swp1"), ("et-0/0/1", "Et0/0/1"), ("Port 7", "P7"), ("TwentyFiveGigE1/0/3", "Twe1/0/3"),
    ],
)  # fmt: skip
def test_vendors_abbreviate_ports(entry: str, two: str) -> None:
    assert port_key(entry) == port_key(two)
    assert Directory([(two, 1), (f"{two}9", 2)], ports=True).find(entry) == 1


def test_ports_that_one_abbreviation_fits_are_not_guessed() -> None:
    ports = Directory([("Ethernet1", 1), ("eth1", 2), ("P0", 3), ("p0", 4)], ports=True)
    assert [ports.find(name) for name in ("Ethernet1", "eth1", "Et1", "P0", "p0")] == [1, 2, None, 3, 4]


@pytest.mark.parametrize(
    "text",
    ["02:00:00:00:00:01", "02-00-00-00-00-01", "0200.0000.0001", "10.0.0.1", "fe80::1", "FE80::1%eth0", "02005e005301", "0x02005E005301", "02005e-005301",
     "10.0.0.1/24", "fe80::1/64", "10.0.0.1:179", "[fe80::1]", "[fe80::1]:179", "00 11 22 33 44 55", "MAC: 0011.2233.4455", "50:01:43:80:12:34:56:78",
     "0011.2233.4455.6677", "0x506b4b0300abcdef", "506B4B0300ABCDEF", "550e8400-e29b-41d4-a716-446655440000"],
)  # fmt: skip
def test_addresses_are_no_names(text: str) -> None:
    assert is_address(text)
    assert short(text) == ""
    assert not any(
        map(
            is_address, ("leaf-1", "123456789012", "1234567890123456", "deadbeef", "1/1/48", "Ethernet1/1.100", "mac-1")
        )
    )


@given(
    st.lists(
        st.sampled_from(["leaf1", "Leaf1", "LEAF1 ", "leaf1.a.net", "leaf1.b.net", "leaf2", "10.0.0.1", "10.0.0.2"])
    )
)
def test_names_of_a_file_become_one_only_where_nothing_speaks_against_it(names: list[str]) -> None:
    result = one_device(names, set())
    assert set(result) == set(names)
    assert all(result[entry] in names for entry in names)
    for entry in names:
        for two in names:
            if result[entry] == result[two]:
                assert folded(short(entry) or entry) == folded(short(two) or two)
            if {entry, two} == {"leaf1.a.net", "leaf1.b.net"}:
                assert result[entry] != result[two]
    apart = one_device(names, {frozenset(("leaf1", "Leaf1"))})
    if {"leaf1", "Leaf1"} <= set(names):
        assert apart["leaf1"] != apart["Leaf1"]


def test_a_long_name_of_letters_alone_takes_no_longer_than_its_length() -> None:
    """No trial of every division into words."""
    words = "ethern" * 5000
    assert port_key(words) == words
    assert port_key(f"{words} 1/1") == f"{words}1/1"
