"""Settings of `wg-quick` for a WireGuard network between hosts, which encrypts their tunnels:
`cubeyard keys --wireguard` makes them."""

from __future__ import annotations

import base64
import os
import re
import tempfile
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network
from itertools import islice
from pathlib import Path

from cubeyard.emulation.fabric.keys import run_openssl

PORT = 51820
INTERFACE = "cubeyard"
"""The name of the interface: `wg-quick` takes the file's."""
KEY_BYTES = 32
"""A key is the last bytes of its DER document (RFC 8410)."""
HOST = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")
ENDPOINT = re.compile(r"[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\]")


def hosts_of(given: list[str], network: IPv4Network) -> dict[str, str]:
    """Addresses by host, from `NAME=ADDRESS` each. Raises ValueError."""
    hosts: dict[str, str] = {}
    for item in given:
        name, _, address = item.partition("=")
        if not HOST.fullmatch(name) or not ENDPOINT.fullmatch(address):
            raise ValueError(
                f"{item!r} must be NAME=ADDRESS: the host's name in CUBEYARD_HOSTS, and its address or DNS name for the"
                " other hosts; an IPv6 address in brackets"
            )
        if name in hosts:
            raise ValueError(f"host {name} is given twice")
        hosts[name] = address
    if len(hosts) < 2:
        raise ValueError("give at least two hosts")
    if network.num_addresses - 2 < len(hosts):
        raise ValueError(f"{network} has fewer than {len(hosts)} addresses for hosts; give a larger network")
    return hosts


def configure(folder: Path, hosts: Mapping[str, str], network: IPv4Network) -> dict[Path, IPv4Address]:
    """Writes a file for each host, with a new key. Returns each file's address in the WireGuard
    network. Raises OSError."""
    addresses = dict(zip(hosts, islice(network.hosts(), len(hosts)), strict=True))
    keys = {name: _pair() for name in hosts}
    made: dict[Path, IPv4Address] = {}
    for name in hosts:
        lines = [
            "[Interface]",
            f"Address = {addresses[name]}/{network.prefixlen}",
            f"ListenPort = {PORT}",
            f"PrivateKey = {keys[name][0]}",
        ]
        for other in hosts:
            if other != name:
                lines += [
                    "",
                    "[Peer]",
                    f"PublicKey = {keys[other][1]}",
                    f"Endpoint = {hosts[other]}:{PORT}",
                    f"AllowedIPs = {addresses[other]}/32",
                ]
        file = folder / "wireguard" / name / f"{INTERFACE}.conf"
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as writer:
            writer.write("\n".join([*lines, ""]))
        made[file] = addresses[name]
    return made


def _pair() -> tuple[str, str]:
    """A private key and its public key, as WireGuard writes them."""
    with tempfile.TemporaryDirectory() as made:
        private, public = Path(made) / "private", Path(made) / "public"
        run_openssl("genpkey", "-algorithm", "X25519", "-outform", "DER", "-out", str(private))
        run_openssl("pkey", "-inform", "DER", "-in", str(private), "-pubout", "-outform", "DER", "-out", str(public))
        a, b = (base64.b64encode(path.read_bytes()[-KEY_BYTES:]).decode() for path in (private, public))
        return a, b
