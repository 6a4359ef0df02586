"""Which server has which program of a user's beside it, and what that is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cubeyard.emulation.network.network import Network
from cubeyard.experiments.user_images import UserImage
from cubeyard.kit.errors import field_error

Json = dict[str, Any]

FIELD = "body.emulation.images"


@dataclass(frozen=True)
class Beside:
    """The second container of one server."""

    image: str
    command: tuple[str, ...] = ()
    """Empty: what the image says."""
    environment: Mapping[str, str] = field(default_factory=dict)
    writable: bool = False


def beside_of(network: Network, images: list[UserImage], *, allowed: bool = True) -> dict[int, Beside]:
    """By server id. Raises a 422 that names the field of a server that is not there, or that would have two; and of any image
    where none is `allowed`."""
    found: dict[int, Beside] = {}
    if images and not allowed:
        raise field_error(
            FIELD,
            images[0].image,
            "This installation runs no images of users.",
            limit="CUBEYARD_USER_IMAGES, which is false here",
            hint="Leave images out, or ask whoever runs it.",
        )
    for at, one in enumerate(images):
        names = list(network.servers.values()) if one.servers is None else one.servers
        for row, name in enumerate(names):
            where = f"{FIELD}.{at}.servers" + ("" if one.servers is None else f".{row}")
            server = _server(network, where, name)
            if server in found:
                raise field_error(
                    where,
                    name,
                    f"Server {name} would have two images: {found[server].image} and {one.image}.",
                    limit="one image a server",
                    hint="Name each server once; an image without servers is for all.",
                )
            told = {"CUBEYARD_SERVER": name, "CUBEYARD_ADDRESS": network.addresses[server]}
            found[server] = Beside(one.image, tuple(one.command or ()), {**one.environment, **told}, one.writable)
    return found


def _server(network: Network, where: str, name: str) -> int:
    one = network.id_of.get(name)
    if one is None or one not in network.servers:
        known = list(network.servers.values())
        raise field_error(
            where,
            name,
            f"There is no server {name} in this run.",
            limit="a server of the plan, or of the slice of it that is emulated",
            hint=f"They are called {known[0]} to {known[-1]}.",
        )
    return one


def described(beside: Mapping[int, Beside]) -> list[Json]:
    """As a frame tells it: each image once with its servers, by id."""
    rows: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for server, one in beside.items():
        rows.setdefault((one.image, one.command), []).append(server)
    return [
        {"image": image, "command": list(command), "servers": sorted(servers)}
        for (image, command), servers in rows.items()
    ]
