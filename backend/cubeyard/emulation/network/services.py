"""Services of users, in addition to those of the servers' protocol: checked by field, and converted
for the fabric."""

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


FIELD = "body.emulation.services"


def with_services(network: Network, names: Sequence[str]) -> Network:
    """The network with these services on its servers. Adds only names, without code."""
    if not names:
        return network
    more = [{"name": name, "title": name, "description": "Written by a user.", "messages": []} for name in names]
    return replace(network, protocol={**network.protocol, "services": [*network.protocol["services"], *more]})


def hosted(engine: Engine, network: Network, services: Sequence[UserService]) -> Network:
    """The network whose servers also host these services. Raises a 422 that names the wrong field
    and the fix."""
    _check(network, [(service.name, service.id) for service in services])
    described = [
        {"name": service.name, "id": service.id, "module": _module(engine, f"{FIELD}.{at}.module", service).hex()}
        for at, service in enumerate(services)
    ]
    return replace(with_services(network, [service.name for service in services]), user_services=described)


def with_processes(network: Network, services: Sequence[tuple[str, int]]) -> Network:
    """The network whose servers also host these services, by name and number. Their instances are
    processes that the caller starts. Experiments cannot request them, because a server starts no
    programs of its callers. Raises the errors of `hosted`."""
    known = [(user_service["name"], user_service["id"]) for user_service in network.user_services]
    _check(network, services, known)
    more = [{"name": name, "id": number, "process": True} for name, number in services]
    named = with_services(network, [name for name, _ in services])
    return replace(named, user_services=[*network.user_services, *more])


def _check(network: Network, services: Sequence[tuple[str, int]], known: Sequence[tuple[str, int]] = ()) -> None:
    if services and not network.protocol["services"]:
        raise field_error(
            FIELD,
            [name for name, _ in services],
            f"The servers of this {network.family} host no services: they run {network.protocol['title']}.",
            hint="Choose a torus3d, or leave services out.",
        )
    names = [service["name"] for service in network.protocol["services"]]
    taken = {number: name for name, number in known}
    for at, (name, number) in enumerate(services):
        if name in names:
            message = f"There is a service {name} already."
            raise field_error(f"{FIELD}.{at}.name", name, message, hint="Give it another name.")
        names.append(name)
        if number in taken:
            message = f"Number {number} is that of service {taken[number]}: packets could not tell them apart."
            hint = f"Give it another, like {max(taken) + 1}."
            raise field_error(f"{FIELD}.{at}.id", number, message, limit="256 to 65535, each once", hint=hint)
        taken[number] = name


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
