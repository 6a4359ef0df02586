"""The reference network for comparisons: a fat-tree of three layers with the same number of
servers."""

from __future__ import annotations

from itertools import count

from cubeyard.engine import Json

LAYERS = 3


def fat_tree_for(servers: int) -> Json:
    """The spec of the fat-tree with the smallest switches that holds that many servers, in whole
    edge groups."""
    ports = next(ports for ports in count(2, 2) if _holds(ports) >= servers)
    group = ports // 2
    return {"family": "fat_tree", "ports": ports, "layers": LAYERS, "servers": -(-servers // group) * group}


def _holds(ports: int) -> int:
    """Servers of a whole fat-tree: two times half a switch's ports, to the power of the layers."""
    return 2 * (ports // 2) ** LAYERS
