"""The interface of a session to its caller: takes frames and returns orders."""

from __future__ import annotations

from typing import Any, Protocol

from cubeyard.emulation.session.orders import Order

Json = dict[str, Any]


class Sink(Protocol):
    """Receives a session's frames, and provides its orders."""

    def frame(self, kind: str, payload: Json) -> None: ...

    def progress(self, share: float) -> None:
        """Reports the session's progress, from 0 to 1."""
        ...

    def check(self) -> None:
        """Raises if the session must end: the run was cancelled, or the process must stop."""
        ...

    def over(self) -> bool:
        """Whether the session can end early, because its purpose is fulfilled."""
        ...

    def orders(self) -> list[Order]:
        """The orders given since the last call, in order."""
        ...

    def done(self, order: Order, outcome: Json) -> None:
        """Reports that an order was carried out. `outcome` is `{ok, reason}`, with a reason only on
        failure."""
        ...
