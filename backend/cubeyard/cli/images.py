"""Images of users on the command line: as fields of an experiment, and their results."""

from __future__ import annotations

import re
import shlex
from typing import Any

from rich.console import Console
from rich.markup import escape

from cubeyard.cli.common import refuse

Json = dict[str, Any]
BETWEEN_NAMES = re.compile(r",(?![^<\[(]*[>\])])")
"""A comma outside a name: some families call servers <0,1>."""


def read_image(image: str | None, command: str | None, variables: list[str], servers: str | None) -> list[Json]:
    """The field `images`. Exits with 2 for unreadable values, and for options of an image without
    an image."""
    if image is None:
        given = {"--image-command": command, "--image-env": variables, "--image-servers": servers}
        if alone := [name for name, value in given.items() if value]:
            refuse(f"{alone[0]} is about an image: give --image, too.")
        return []
    result: Json = {"image": image}
    if command is not None:
        try:
            result["command"] = shlex.split(command)
        except ValueError as error:
            refuse(f"--image-command {command} cannot be read: {error}. Write it as for a shell.")
    if variables:
        result["environment"] = dict(_variable(text) for text in variables)
    if servers is not None:
        result["servers"] = [name.strip() for name in BETWEEN_NAMES.split(servers)]
    return [result]


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        refuse(f"--image-env {text} is not NAME=VALUE.")
    return name, value


def print_images(console: Console, images: list[Json]) -> None:
    for image in images:
        servers = len(image["servers"])
        console.print(
            f"  image {escape(image['image'])} beside {servers} server{'s' * (servers != 1)}", highlight=False
        )
        for end in image["ended"][:8]:
            message = f": {escape(end['message'])}" if end["message"] else ""
            console.print(
                f"  {end['at_secs']:.1f} s  its program on server {escape(end['server'])} ended with status {end['status']}{message}",
                highlight=False,
            )
        if len(image["ended"]) > 8:
            console.print(f"  and {len(image['ended']) - 8} more of its programs ended", highlight=False)
