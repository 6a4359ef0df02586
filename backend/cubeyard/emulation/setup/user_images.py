"""The user's program on each server, and its environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cubeyard.emulation.network.network import Network
from cubeyard.experiments.user_images import UserImage, registry_of
from cubeyard.kit.errors import ProblemError, field_error
from cubeyard.settings import LOCAL_IMAGES

Json = dict[str, Any]

FIELD = "body.emulation.images"


@dataclass(frozen=True)
class Beside:
    """The second container of one server."""

    image: str
    command: tuple[str, ...] = ()
    """Empty means the image's command."""
    environment: Mapping[str, str] = field(default_factory=dict)
    writable: bool = False
    at: int = 0
    """Index of the image in the list of the question."""


def beside_of(network: Network, images: list[UserImage], registries: frozenset[str] | None) -> dict[int, Beside]:
    """The images by server id. Raises a 422 that names the field: an unknown server, a server with
    two images, an image from another registry, or any image if `registries` is None."""
    chosen: dict[int, Beside] = {}
    if not images:
        return chosen
    if registries is None:
        raise field_error(
            FIELD,
            images[0].image,
            "This installation runs no images of users.",
            limit="CUBEYARD_USER_IMAGES, which is false here",
            hint="Leave images out, or ask whoever runs it.",
        )
    for at, image in enumerate(images):
        _check_registry(f"{FIELD}.{at}.image", image.image, registries)
        names = list(network.servers.values()) if image.servers is None else image.servers
        for row, name in enumerate(names):
            where = f"{FIELD}.{at}.servers" + ("" if image.servers is None else f".{row}")
            server = _server(network, where, name)
            if server in chosen:
                raise field_error(
                    where,
                    name,
                    f"Server {name} would have two images: {chosen[server].image} and {image.image}.",
                    limit="one image a server",
                    hint="Name each server once; an image without servers is for all.",
                )
            reported = {"CUBEYARD_SERVER": name, "CUBEYARD_ADDRESS": network.addresses[server]}
            chosen[server] = Beside(
                image.image, tuple(image.command or ()), {**image.environment, **reported}, image.writable, at
            )
    return chosen


def _check_registry(field: str, image: str, registries: frozenset[str]) -> None:
    """Refuses addresses and names without a dot: they would make the engine access its own
    network."""
    registry = registry_of(image)
    if registry in registries:
        return
    names = sorted(registries - {LOCAL_IMAGES})
    raise field_error(
        field,
        image,
        f"An image from the registry {registry} is not allowed here.",
        limit=f"images from {', '.join(names) or 'no registry'}",
        hint="Take another image, or ask the operator to add the registry to CUBEYARD_IMAGE_REGISTRIES.",
    )


def without_command(beside: Beside) -> ProblemError:
    """The 422 for an image without a command if the user gave none either."""
    return field_error(
        f"{FIELD}.{beside.at}.command",
        None,
        f"Image {beside.image} has no command.",
        limit="a program and its words",
        hint="Give a command.",
    )


def _server(network: Network, where: str, name: str) -> int:
    item = network.id_of.get(name)
    if item is None or item not in network.servers:
        known = list(network.servers.values())
        raise field_error(
            where,
            name,
            f"There is no server {name} in this run.",
            limit="a server of the plan, or of the slice of it that is emulated",
            hint=f"They are called {known[0]} to {known[-1]}.",
        )
    return item


def described(beside: Mapping[int, Beside]) -> list[Json]:
    """The form in frames: each image once, with the ids of its servers."""
    rows: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for server, item in beside.items():
        rows.setdefault((item.image, item.command), []).append(server)
    return [
        {"image": image, "command": list(command), "servers": sorted(servers)}
        for (image, command), servers in rows.items()
    ]
