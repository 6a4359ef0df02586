"""Checks programs and traces packets through them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cubeyard.chip import schemas
from cubeyard.engine import ChipServer, Engine, PlanRejectedError


class ChipService:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def check(self, request: schemas.ProgramCheck) -> schemas.Checked:
        """The content of a program. Raises PlanRejectedError with the position of each error."""
        with _as_program():
            return schemas.Checked.model_validate(self._engine.chip_program(request.program, _at(request)))

    def trace(self, request: schemas.PacketTrace) -> schemas.ChipTrace:
        """A packet's steps. Raises PlanRejectedError for an invalid program or packet."""
        with _as_program():
            result = self._engine.chip_trace(request.program, request.in_port, request.packet, _at(request))
            return schemas.ChipTrace.model_validate(result)

    def portland(self, request: schemas.PortlandQuestion) -> schemas.PortlandTrial:
        """A trial of PortLand. Raises PlanRejectedError for unknown hosts, switches or links."""
        with _as_program():
            result = self._engine.chip_portland(
                request.source, request.destination, request.source_port, request.failures
            )
        ends = {
            end: {"address": address, "pmac": pmac}
            for end, (address, pmac) in (("source", result["from"]), ("destination", result["to"]))
        }
        return schemas.PortlandTrial.model_validate({**result, **ends})


def _at(request: schemas.ProgramCheck) -> ChipServer | None:
    return (request.at.spec, request.at.server) if request.at is not None else None


@contextmanager
def _as_program() -> Iterator[None]:
    """Gives the engine's findings a separate error code, because they are not about a plan."""
    try:
        yield
    except PlanRejectedError as error:
        raise PlanRejectedError([dict(finding) for finding in error.findings], code="impossible-program") from error
