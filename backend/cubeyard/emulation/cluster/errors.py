"""Errors of a cluster. This module does not import the client, whose import takes a second."""

from __future__ import annotations

from cubeyard.kit.errors import ProblemError


class ClusterGoneError(ProblemError):
    """The cluster's API server does not answer."""

    def __init__(self, detail: str) -> None:
        super().__init__(503, "cluster-gone", f"The cluster's API server does not answer: {detail}")


class PodsStayError(ClusterGoneError):
    """The cluster answers, but deleted pods remain: their node's kubelet is away, and removes them
    when it is back."""

    def __init__(self, detail: str) -> None:
        ProblemError.__init__(self, 503, "cluster-pods-stay", detail)


class NodeAwayError(PodsStayError):
    """As PodsStayError, for pods on nodes that were already known to be away, so that nothing
    waited for them."""


class ClusterRefusedError(ProblemError):
    """The cluster answers with a refusal because of a permission, a quota or a policy."""

    def __init__(self, detail: str, fix: str = "") -> None:
        super().__init__(
            422, "cluster-refused", f"The cluster refuses: {detail.rstrip('.')}.{f' {fix}' if fix else ''}"
        )
