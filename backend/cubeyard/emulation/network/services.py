"""Services that users wrote, beside those that the servers' protocol brings: checked by field, and as the fabric takes them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cubeyard.emulation.network.network import Network
from cubeyard.engine import Engine, PlanRejectedError
from cubeyard.experiments.emulation import UserService
from cubeyard.kit.errors import field_error

Json = dict[str, Any]


def with_services(network: Network, services: Sequence[UserService]) -> Network:
    """The network whose servers host these too, as people see it: without their modules."""
    if not services:
        return network
    more = [
        {"name": one.name, "title": one.name, "description": "Written by a user.", "messages": []} for one in services
    ]
    return replace(network, protocol={**network.protocol, "services": [*network.protocol["services"], *more]})


def hosted(engine: Engine, network: Network, services: Sequence[UserService]) -> Network:
    """The network whose servers host these too. Raises a 422 that names the field that is wrong, and what to do."""
    if services and not network.protocol["services"]:
        raise field_error(
            "body.emulation.services",
            [one.name for one in services],
            f"The servers of this {network.family} host no services: they run {network.protocol['title']}.",
            hint="Choose a torus3d, or leave services out.",
        )
    names = [one["name"] for one in network.protocol["services"]]
    described: list[Json] = []
    for at, one in enumerate(services):
        where = f"body.emulation.services.{at}"
        if one.name in names:
            message = f"There is a service {one.name} already."
            raise field_error(f"{where}.name", one.name, message, hint="Give it another name.")
        names.append(one.name)
        taken = next((other for other in services[:at] if other.id == one.id), None)
        if taken is not None:
            message = f"Number {one.id} is that of service {taken.name}: packets could not tell them apart."
            hint = f"Give it another, like {max(other.id for other in services[:at]) + 1}."
            raise field_error(f"{where}.id", one.id, message, limit="256 to 65535, each once", hint=hint)
        described.append({"name": one.name, "id": one.id, "module": _module(engine, f"{where}.module", one).hex()})
    return replace(with_services(network, services), user_services=described)


def _module(engine: Engine, where: str, service: UserService) -> bytes:
    try:
        given = base64.b64decode(service.module, validate=True)
    except (binascii.Error, ValueError):
        hint = "Encode the module's file, for example by base64 -w0 FILE."
        raise field_error(where, service.module, "This is not base64.", hint=hint) from None
    try:
        return engine.service_module(given)
    except PlanRejectedError as error:
        finding = error.findings[0]
        raise field_error(where, service.module, finding["message"], hint=finding["hint"]) from error
