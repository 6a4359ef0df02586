"""`cubeyard emulate --fit`: prints the emulated part of a plan, and leaves faults or flows outside
it out only after a yes."""

from __future__ import annotations

from dataclasses import dataclass

from rich.markup import escape

from cubeyard.cli.common import confirmed, errors, refuse
from cubeyard.engine import Engine, Json

HOW = "With --servers N another number is taken."


@dataclass(frozen=True)
class Taken:
    """The size of the part to emulate."""

    servers: int | None
    """At most; chosen if None."""
    yes: bool
    """Leave out what names devices outside, without asking."""

    def of(self, engine: Engine, document: Json) -> Json:
        """The experiment's document that is run. Prints what it takes. Exits with 2 if the user
        answers no."""
        from cubeyard.emulation.setup.fitting.fit import fit

        result = fit(engine, document, self.servers)
        if result.sentence:
            errors.print(f"{escape(result.sentence)} {HOW}", highlight=False)
        if result.outside:
            lines = [f"  {left_out.field}: {left_out.value}. {left_out.message}" for left_out in result.outside]
            errors.print(escape("\n".join(["These are outside the emulated part:", *lines])), highlight=False)
            if not self.yes and not confirmed("Leave them out?"):
                refuse("Nothing was started. Leave them out with --yes, or name devices that are taken.")
        return result.document
