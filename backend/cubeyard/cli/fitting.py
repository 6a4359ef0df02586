"""`cubeyard emulate --fit`: prints the emulated part of a plan, and leaves faults or flows outside
it out only after a yes."""

from __future__ import annotations

from dataclasses import dataclass

from rich.markup import escape

from cubeyard.cli.common import confirmed, errors, refuse
from cubeyard.engine import Engine, Json

HOW = "--servers N takes another number."


@dataclass(frozen=True)
class Taken:
    """The size of the part to emulate."""

    servers: int | None
    """The largest number of servers; None: chosen automatically."""
    yes: bool
    """Leave out settings that name devices outside, without a prompt."""

    def of(self, engine: Engine, document: Json) -> Json:
        """The experiment's document to run. Prints the emulated part. Exits with 2 if the user
        answers no."""
        from cubeyard.emulation.setup.fitting.fit import fit

        result = fit(engine, document, self.servers)
        if result.sentence:
            errors.print(f"{escape(result.sentence)} {HOW}", highlight=False)
        if result.outside:
            lines = [f"  {left_out.field}: {left_out.value}. {left_out.message}" for left_out in result.outside]
            errors.print(escape("\n".join(["These are outside the emulated part:", *lines])), highlight=False)
            if not self.yes and not confirmed("Leave them out?"):
                refuse("Nothing was started. Leave them out with --yes, or name devices in the emulated part.")
        return result.document
