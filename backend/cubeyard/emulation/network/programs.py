"""Users' programs for the chips of a network's servers: checks them for every server, and converts
them for the fabric."""

from __future__ import annotations

from dataclasses import replace

from cubeyard.emulation.network.network import Network, in_user_space
from cubeyard.engine import Engine, PlanRejectedError
from cubeyard.kit.errors import field_error


def is_programmable(network: Network, dataplane: str) -> bool:
    """Whether users can program the servers' chips."""
    return any(
        forwarding["name"] == dataplane and forwarding["program"] is not None
        for forwarding in network.protocol["forwardings"]
    )


def programmed(engine: Engine, network: Network, dataplane: str, program: str | None, where: str) -> Network:
    """The network with this program in its servers' chips. Raises a 422 for the field `where`:
    users cannot program this forwarding, or the first mistake with its line and column."""
    if program is None:
        return network
    known = network.protocol["forwardings"]
    if not is_programmable(network, dataplane):
        names = [forwarding["name"] for forwarding in known if forwarding["program"] is not None]
        message = f"Servers with the dataplane {dataplane} have no chip to program."
        hint = (
            f"Choose the dataplane {' or '.join(names)}."
            if names
            else "Leave it out, or plan a family whose servers have one."
        )
        raise field_error(where, program, message, hint=hint)
    in_kernel = not in_user_space(network, dataplane)
    try:
        engine.chip_check_servers(network.spec, list(network.servers), program, in_kernel=in_kernel)
    except PlanRejectedError as error:
        finding = error.findings[0]
        line, column = finding.get("line", 0), finding.get("column", 0)
        place = f"Line {line}, column {column}: " if line else ""
        raise field_error(where, program, place + finding["message"], hint=finding["hint"]) from error
    return replace(network, program=program)
