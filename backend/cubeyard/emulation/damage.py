"""What is broken at one moment, as a prediction takes it: what carries nothing, and what carries less."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cubeyard.emulation.faults import CARRIES, Fault, Strike
from cubeyard.experiments.schemas import PARAMETERS, PREDICTED_KINDS

Json = dict[str, Any]


@dataclass(frozen=True, order=True)
class Degraded:
    """A link that carries less, by one fault. Two faults on one link are two of these: the engine puts them together."""

    link: str
    """By its two ends."""
    kind: str
    value: float
    """Of the kind's parameter."""

    @classmethod
    def by(cls, strike: Strike) -> Degraded:
        return cls(strike.name, strike.kind, strike.parameters[PARAMETERS[strike.kind]])

    def document(self) -> Json:
        return {"link": self.link, "kind": self.kind, PARAMETERS[self.kind]: self.value}


@dataclass(frozen=True)
class Damage:
    """Equal when a prediction is. A link on which packets are only late carries as much as ever: it is not in it."""

    failed: tuple[str, ...] = ()
    """Devices and links by name, each once."""
    degraded: tuple[Degraded, ...] = ()

    @classmethod
    def of(cls, faults: Iterable[Fault]) -> Damage:
        strikes = [strike for fault in faults for strike in fault.strikes]
        return cls(
            tuple(sorted({strike.name for strike in strikes if strike.kind not in CARRIES})),
            tuple(sorted(Degraded.by(strike) for strike in strikes if strike.kind in PREDICTED_KINDS)),
        )

    def faults(self, outside: Sequence[str] = ()) -> list[Json]:
        """As the engine takes them; `outside` has failed for it too."""
        down = [*outside, *self.failed]
        return [
            *([{"target": {"names": down}}] if down else []),
            *(
                {"target": {"names": [one.link]}, "kind": one.kind, PARAMETERS[one.kind]: one.value}
                for one in self.degraded
            ),
        ]

    def document(self) -> Json:
        """As frames say it."""
        return {"failed": list(self.failed), "degraded": [one.document() for one in self.degraded]}


WHOLE = Damage()
"""Nothing is broken."""
