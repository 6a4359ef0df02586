"""Neighbours as Arista (`show lldp neighbors [detail] | json`), NX-OS, Junos, NAPALM and TextFSM
write them: rows with the own port, the neighbour and its port. [ours]"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cubeyard.reading.names import is_nobody

OUTPUTS = (
    "lldpNeighbors", "TABLE_nbor_detail", "TABLE_nbor", "lldp-neighbors-information",
    "TABLE_cdp_neighbor_detail_info", "TABLE_cdp_neighbor_brief_info",
    "lldp_neighbors_detail", "lldp_neighbors", "get_lldp_neighbors_detail", "get_lldp_neighbors",
)  # fmt: skip
"""Members that hold the neighbours of a device."""
_ENVELOPES = ("result", "ins_api", "outputs", "output", "body", "rpc-reply")
"""Members in which the APIs of EOS, NX-OS and Junos put an output."""
_HOLDERS = ("lldpNeighborInfo", "lldp-neighbor-information")
_OWN_DEVICE = ("local_device", "local_host", "local_hostname", "host", "device")
_OWN_PORT = (
    "local_interface",
    "l_port_id",
    "intf_id",
    "lldp-local-port-id",
    "lldp-local-interface",
    "local_port",
    "local_intf",
    "port",
)
_DEVICE = (
    "neighborDevice", "sys_name", "systemName", "hostname", "remote_system_name", "neighbor_name", "neighbor", "lldp-remote-system-name", "sysname", "device_id",
    "chassis_id", "chassisId", "lldp-remote-chassis-id", "remote_chassis_id",
)  # fmt: skip
_PORT = (
    "neighborPort", "port_id", "neighbor_interface", "neighbor_port_id", "lldp-remote-port-id", "remote_port", "interfaceId_v2", "interfaceId",
    "lldp-remote-port-description", "remote_port_description", "port",
)  # fmt: skip
_MOST_NESTED = 8


def unwrapped(value: Any) -> Any:
    """An output out of the answer of an API, where it is the only one."""
    for _ in range(_MOST_NESTED):
        inner = value[0] if isinstance(value, list) and len(value) == 1 else value
        held = [inner[name] for name in _ENVELOPES if name in inner] if isinstance(inner, dict) else []
        if not held or not isinstance(held[0], dict | list):
            return value
        value = held[0]
    return value


def rows(value: Any, port: str = "", depth: int = 0) -> Iterator[Any]:
    """Each neighbour as an object; `port` is the device's, where the output is by port."""
    if isinstance(value, list):
        for item in value:
            yield from rows(item, port, depth)
    elif not isinstance(value, dict) or first(value, _DEVICE) or depth == _MOST_NESTED:
        yield _flat(value, port) if isinstance(value, dict) else value
    elif inner := [each for name, each in value.items() if name.startswith("ROW_") or name in _HOLDERS]:
        for each in inner:
            yield from rows(each, port, depth + 1)
    elif value and all(isinstance(each, list | dict) for each in value.values()):
        for name, each in value.items():
            yield from rows(each, name, depth + 1)
    else:
        yield _flat(value, port)


def is_by_port(value: Any) -> bool:
    """Whether it has lists of neighbours by port, as NAPALM gives them."""
    lists = list(value.values()) if isinstance(value, dict) else []
    each = [item for entry in lists if isinstance(entry, list) for item in entry]
    return bool(each) and all(isinstance(entry, list) for entry in lists) and all(map(_is_row, each))


def ends(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """The own port, the neighbour and its port; empty where the row does not have them."""
    own = first(row, _OWN_PORT)
    device = next((words for key in _DEVICE if not is_nobody(words := text(row.get(key)))), "")
    far = first(row, [name for name in _PORT if name != "port" or "local_interface" in row])
    return own, device, far.strip('"')


def own_device(row: Mapping[str, Any], host: str | None) -> str:
    """The device of a row that stands alone, as TextFSM gives them; empty for other objects."""
    return (first(row, _OWN_DEVICE) or host or "") if _is_row(row) and first(row, _OWN_PORT) else ""


def first(row: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((words for key in keys if (words := text(row.get(key)))), "")


def text(value: Any) -> str:
    """A text, alone or as the `value` or `data` of an object, in a list or not."""
    inner = value[0] if isinstance(value, list) and value else value
    if isinstance(inner, dict):
        inner = inner.get("value", inner.get("data"))
    return inner.strip() if isinstance(inner, str) else ""


def _is_row(value: Any) -> bool:
    return isinstance(value, dict) and bool(first(value, _DEVICE))


def _flat(row: Mapping[str, Any], port: str) -> dict[str, Any]:
    nested = {key: each for inner in row.values() if isinstance(inner, dict) for key, each in inner.items()}
    return {**({"local_interface": port} if port else {}), **nested, **row}
