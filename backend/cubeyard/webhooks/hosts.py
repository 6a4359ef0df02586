"""The hosts that webhooks may call: those of the setting, and no private address that it does not
list.

A name is resolved once for each attempt, and the connection goes to an address that was checked: a
name that resolves differently a moment later reaches nothing else.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple
from urllib.parse import urlsplit

from cubeyard.settings import HOST_NAME, network_of

Address = IPv4Address | IPv6Address

_URL = re.compile(r"[!-~]+")
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that a gateway turns into IPv4 addresses. [RFC 6052]"""
PORTS = {"http": 80, "https": 443}


class Refusal(NamedTuple):
    message: str
    limit: str
    hint: str


class Target(NamedTuple):
    """A URL, taken apart."""

    secure: bool
    host: str
    port: int
    path: str
    """The path of the request, which includes the query."""


class RefusedError(Exception):
    """The host must not be called."""


class Hosts:
    """By names, and by addresses or networks, which also allow private addresses."""

    def __init__(self, entries: Sequence[str]) -> None:
        networks = {entry: network_of(entry) for entry in entries}
        self._names = {entry.lower() for entry, network in networks.items() if network is None}
        self._networks = [network for network in networks.values() if network is not None]

    def __bool__(self) -> bool:
        return bool(self._names or self._networks)

    def refusal(self, url: str) -> Refusal | None:
        """Why webhooks may not go there, as far as that is clear without resolving the name."""
        form = "an http or https URL without user name and fragment"
        try:
            target = target_of(url)
        except ValueError:
            return Refusal(f"The URL must be {form}.", form, "Write it like https://hooks.example.org/cubeyard.")
        if self._lists(target.host):
            return None
        listed = ", ".join([*sorted(self._names), *map(str, self._networks)]) or "no hosts"
        message = f"{target.host} is not one of the hosts that this server may call."
        return Refusal(message, listed, "Add the host to CUBEYARD_WEBHOOK_HOSTS, or use one of these.")

    def _lists(self, host: str) -> bool:
        address = _address(host)
        return self._has(address) if address is not None else host in self._names

    def _has(self, address: Address) -> bool:
        return any(address in network for network in self._networks)

    def addresses(self, target: Target) -> list[str]:
        """The addresses of the target that may be called. Raises RefusedError if there is none, and
        OSError if the name cannot be resolved."""
        if not self._lists(target.host):
            raise RefusedError(f"{target.host} is not in CUBEYARD_WEBHOOK_HOSTS.")
        infos = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
        results = list(dict.fromkeys(str(info[4][0]).partition("%")[0] for info in infos))
        allowed = [text for text in results if self._may(ipaddress.ip_address(text))]
        if not allowed:
            raise RefusedError(
                f"{target.host} has the private address {results[0]}. Add the address or its network to CUBEYARD_WEBHOOK_HOSTS."
            )
        return allowed

    def _may(self, address: Address) -> bool:
        return self._has(address) or is_public(address)


def is_public(address: Address) -> bool:
    """Whether the address is of the Internet, and no gateway translates it to another."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address.sixtofour is not None or address.teredo is not None or address in _TRANSLATED:
            return False
    return address.is_global and not address.is_multicast


def target_of(url: str) -> Target:
    """Raises ValueError for a URL that cannot be called."""
    if _URL.fullmatch(url) is None or "\\" in url or "#" in url:
        raise ValueError(url)
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in PORTS or parts.username is not None or parts.password is not None:
        raise ValueError(url)
    if _address(host) is None and HOST_NAME.fullmatch(host) is None:
        raise ValueError(url)
    port = parts.port if parts.port is not None else PORTS[parts.scheme]
    if port == 0:
        raise ValueError(url)
    path = parts.path or "/"
    return Target(parts.scheme == "https", host, port, f"{path}?{parts.query}" if parts.query else path)


def _address(host: str) -> Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
