"""`cubeyard relay`: workers on other machines call the fabric of this one; `cubeyard keys`: their
keys."""

from __future__ import annotations

import asyncio
import signal
import ssl
from contextlib import suppress
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cubeyard.cli.common import refuse, settings_of

if TYPE_CHECKING:
    from cubeyard.emulation.fabric.relay import Relay


def relay(
    fabric: Annotated[Path, typer.Option(help="Socket of the cubeyard-fabric.")],
    api: Annotated[Path | None, typer.Option(help="Its socket for an API that only reads.")] = None,
    *,
    keys: Annotated[Path, typer.Option(help="Folder with ca.crt, tls.crt and tls.key.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "0.0.0.0",  # noqa: S104 - callers need a key
    port: Annotated[int, typer.Option(min=1, max=65535)] = 7117,
) -> None:
    """Let workers that have a key call this machine's cubeyard-fabric over the network (TLS
    1.3)."""
    from cubeyard.emulation.fabric.relay import Relay
    from cubeyard.kit import logs

    settings = settings_of()
    logs.configure(settings.log_level, settings.log_format)
    try:
        asyncio.run(_serve(Relay(fabric, keys, api), host, port))
    except (OSError, ssl.SSLError) as error:
        refuse(f"The relay cannot listen on {host}:{port} with the keys in {keys}: {error}")


def keys(
    folder: Annotated[Path, typer.Argument(help="The folder of the keys; the same folder again renews them.")],
    days: Annotated[int, typer.Option(min=1, max=3650, help="Validity of the certificates, in days.")] = 365,
    wireguard: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=ADDRESS", help="Each host, for a WireGuard network between the hosts: its name and address."
        ),
    ] = None,
    wireguard_network: Annotated[str, typer.Option(help="Addresses of the hosts in it.")] = "10.86.0.0/24",
) -> None:
    """Make the keys of relays, workers and the API, or renew them.

    Each gets a folder of `ca.crt`, `tls.crt` and `tls.key`; `ca.key`, which signs them, stays here.
    With `--wireguard` each host also gets a file for `wg-quick`.
    """
    from cubeyard.emulation.fabric.keys import make_all
    from cubeyard.emulation.fabric.wireguard import configure, hosts_of

    network, hosts = None, {}
    if wireguard:
        try:
            network = IPv4Network(wireguard_network)
            hosts = hosts_of(wireguard, network)
        except ValueError as error:
            refuse(f"--wireguard: {error}")
    try:
        for made in make_all(folder, days):
            typer.echo(made)
        if network is not None:
            for file, address in configure(folder, hosts, network).items():
                typer.echo(f"{file}: underlay {address}")
    except OSError as error:
        refuse(f"The keys cannot be made in {folder}: {error}")


async def _serve(relay: Relay, host: str, port: int) -> None:
    from cubeyard.emulation.fabric.relay import listen

    with listen(host, port) as listener, suppress(asyncio.CancelledError):
        serving = asyncio.ensure_future(relay.serve(listener))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
        typer.echo(f"relay on {host}:{port}", err=True)
        await serving
