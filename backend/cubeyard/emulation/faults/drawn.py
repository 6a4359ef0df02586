"""Draws targets of faults if a part of a plan is emulated: then shares refer to that part."""

from __future__ import annotations

import random
import re
from typing import Any

from cubeyard.emulation.network.network import Network
from cubeyard.engine import Engine
from cubeyard.kit.errors import field_error

Json = dict[str, Any]

SELECTOR = re.compile(r"\s*(all|[\d.]+%?)\s+(?:of\s+)?((?:level-\d+\s+)?(?:server|switch|switches|link)s?)\s*")
"""An amount, as the engine reads it. Racks always refer to the whole plan."""


def drawn_within(engine: Engine, network: Network, target: Json, seed: int, where: str) -> Json | None:
    """The devices and links that a drawn target hits, `{nodes, links}` by id; None if nothing is
    drawn.

    Raises a 422 for more than the network has.
    """
    if "ratio" in target and target["kind"] != "rack":
        amount, pool = f"{target['ratio'] * 100}%", {**target, "ratio": 1.0}
    elif match := SELECTOR.fullmatch(target.get("selector") or ""):
        amount, pool = match[1], {"selector": f"all {match[2]}"}
    else:
        return None
    every = engine.fault_targets(network.spec, [{"target": pool}], seed)[0]
    links = {link.id for link in network.links}
    nodes = [node for node in every["nodes"] if node in network.name_of]
    items = nodes or [link for link in every["links"] if link in links]
    if amount == "all":
        count = len(items)
    elif amount.endswith("%"):
        count = int(len(items) * float(amount[:-1]) / 100 + 0.5)
    else:
        count = int(amount)
    if count > len(items):
        limit = f"at most {len(items)}"
        message = f"The run is a part of the plan and has {len(items)} of them: {count} cannot fail."
        raise field_error(f"{where}.target", target, message, limit=limit, hint="Give a smaller number, or a share.")
    hit = sorted(random.Random(seed).sample(items, count))  # noqa: S311 - reproducible, not secret
    return {"nodes": hit if nodes else [], "links": [] if nodes else hit}
