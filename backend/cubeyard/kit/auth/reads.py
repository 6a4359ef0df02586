"""Requests that change nothing, which a read-only token may send."""

from __future__ import annotations

import re

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_COMPUTE_ONLY = re.compile(
    r"/api/v1/(?:topologies/import|compare|search|life|service-trials|predict|simulate|experiments/estimate|exports/[^/]+"
    r"|plans/(?:preview|paths)|plans/[^/]+/revisions/[^/]+/as-built|scenarios/(?:read|write)"
    r"|emulation/(?:profile|fit|upgrades)|chip/(?:check|trace|portland)"
    r"|runs/[^/]+/(?:faults/preview|servers/[^/]+/chip/trace))"
)
"""Paths of POST that compute an answer from the body."""


def only_reads(kind: str, method: str, path: str) -> bool:
    """WebSockets are terminals, in which people type."""
    if kind != "http":
        return False
    return method in SAFE_METHODS or (method == "POST" and (path == "/logout" or bool(_COMPUTE_ONLY.fullmatch(path))))
