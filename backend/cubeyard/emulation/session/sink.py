"""What a session needs of whoever runs it: a place for its frames, and the orders given
meanwhile."""

from __future__ import annotations

from typing import Any, Protocol

from cubeyard.emulation.session.orders import Order

Json = dict[str, Any]


class Sink(Protocol):
    """Where a session's frames go, and where its orders come from."""

    def frame(self, kind: str, payload: Json) -> None: ...

    def progress(self, share: float) -> None:
        """How far the session is, from 0 to 1."""
        ...

    def check(self) -> None:
        """Raises when the session must end: the run was cancelled, or the process was told to
        stop."""
        ...

    def over(self) -> bool:
        """Whether the session may end before its time: what it was for is done."""
        ...

    def orders(self) -> list[Order]:
        """The orders given since the last call, in order."""
        ...

    def done(self, order: Order, outcome: Json) -> None:
        """`outcome` is `{ok, reason}`, the reason only where it is not ok."""
        ...
