"""The settings of an emulation in words, for reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cubeyard.reports.content import shown

Json = dict[str, Any]
GIGA, MEGA, KILO = 1e9, 1e6, 1e3
_TRANSPORTS = {"tcp": "TCP", "udp": "UDP", "mptcp": "MPTCP"}
_QUEUES = {"shared": "one for all flows of a link", "fair": "one for each flow"}
_DATAPLANES = {
    "kernel": "kernel (eBPF)",
    "software": "user space",
    "serverswitch": "switching chip in the kernel (eBPF)",
    "serverswitch-software": "switching chip in user space",
}


def rate(bits_per_sec: float) -> str:
    """In the same unit as on the page."""
    for unit, name in ((GIGA, "Gb/s"), (MEGA, "Mb/s"), (KILO, "kb/s")):
        if bits_per_sec >= unit:
            return f"{shown(bits_per_sec / unit)} {name}"
    return f"{shown(bits_per_sec)} b/s"


def _secs(value: Any) -> str:
    return f"{shown(float(value))} s"


def _count(unit: str) -> Callable[[Any], str]:
    return lambda value: f"{value:,} {unit}"


def _own(value: Any) -> str:
    """A value described by its fields alone."""
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {item}" for name, item in value.items() if item is not None)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _image(one: Json) -> str:
    servers = one.get("servers")
    return f"{one['image']} on {', '.join(servers) if servers else 'every server'}"


TITLED: dict[str, tuple[str, Callable[[Any], str]]] = {
    "mode": ("Servers are", str),
    "dataplane": ("Forwarding", lambda value: _DATAPLANES.get(value, str(value))),
    "seconds": ("Measured for", _secs),
    "settle_secs": ("Traffic before that", _secs),
    "calibrate_secs": ("Baseline of one pair", _secs),
    "mtu": ("MTU", _count("bytes")),
    "protocol": ("Transport", lambda value: _TRANSPORTS.get(value, str(value))),
    "subflows": ("Most subflows", str),
    "flow_bits_per_sec": ("Rate of a flow", rate),
    "datagram_bytes": ("Datagrams", _count("bytes")),
    "flow_bytes": ("Each flow sends", _count("bytes")),
    "connections": ("Connections of a flow", str),
    "queues": ("Queues", lambda value: _QUEUES.get(value, str(value))),
    "balance": ("Load balancing of routers", lambda value: value if value == "detour" else value.upper()),
    "delivery": ("Delivery", lambda value: value.replace("-", " ")),
    "timers": ("Timers", _own),
    "slice": ("Slice", _own),
    "upgrade": ("Upgrade", _own),
    "gateways": ("Gateways", _own),
    "hypothesis": ("Hypothesis", _own),
    "images": ("Images of users", lambda value: "; ".join(_image(item) for item in value)),
    "services": ("Services", lambda value: ", ".join(str(item.get("name", item)) for item in value)),
    "chip_program": ("Chip's program", lambda value: f"a text of {len(str(value)):,} characters"),
    "congestion": ("Congestion control of queues", _own),
}


def in_words(emulation: Json) -> list[tuple[str, str]]:
    """Each setting that was given or has a default, by its title. Absent settings are left out."""
    kept = ((name, value) for name, value in emulation.items() if value not in (None, [], {}))
    titled = ((*TITLED.get(name, (name.replace("_", " ").capitalize(), _own)), value) for name, value in kept)
    return [(title, words(value)) for title, words, value in titled]
