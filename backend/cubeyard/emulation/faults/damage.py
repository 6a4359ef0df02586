"""The damage at one moment as input of a prediction: failed parts, and parts with less capacity."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cubeyard.emulation.faults.faults import Fault, Strike
from cubeyard.experiments.fault_kinds import KINDS, PARAMETERS

Json = dict[str, Any]


@dataclass(frozen=True, order=True)
class Degraded:
    """A link with less capacity because of one fault. Two faults on a link are two of these; the
    engine combines them."""

    link: str
    """The names of its two ends."""
    kind: str
    parameters: tuple[tuple[str, float], ...]
    """Parameters of the fault's kind, by name."""

    @classmethod
    def by(cls, strike: Strike) -> Degraded:
        return cls(strike.name, strike.kind, tuple(sorted(strike.parameters.items())))

    def scaled(self, scale: float) -> dict[str, float]:
        """Its parameters for links that are `scale` times slower."""
        return {name: value / scale if PARAMETERS[name].unit == "bit/s" else value for name, value in self.parameters}

    def document(self) -> Json:
        return {"link": self.link, "kind": self.kind, **dict(self.parameters)}


@dataclass(frozen=True)
class Damage:
    """Equal values give equal predictions. Therefore a link with added delay, which keeps its
    capacity, is not included."""

    failed: tuple[str, ...] = ()
    """Names of failed devices and links, each once."""
    degraded: tuple[Degraded, ...] = ()

    @classmethod
    def of(cls, faults: Iterable[Fault]) -> Damage:
        strikes = [strike for fault in faults for strike in fault.strikes]
        return cls(
            tuple(sorted({strike.name for strike in strikes if not KINDS[strike.kind].carries})),
            tuple(sorted(Degraded.by(strike) for strike in strikes if _degrades(strike))),
        )

    def faults(self, outside: Sequence[str] = (), scale: float = 1.0) -> list[Json]:
        """The damage in the engine's format. Parts in `outside` count as failed too. Links of the
        emulation are `scale` times as fast as those of the network that the engine computes."""
        down = [*outside, *self.failed]
        return [
            *([{"target": {"names": down}}] if down else []),
            *({"target": {"names": [item.link]}, "kind": item.kind, **item.scaled(scale)} for item in self.degraded),
        ]

    def document(self) -> Json:
        """The form in frames."""
        return {"failed": list(self.failed), "degraded": [item.document() for item in self.degraded]}


def _degrades(strike: Strike) -> bool:
    """Whether the link has less capacity in a prediction. A link that only delays packets does
    not."""
    kind = KINDS[strike.kind]
    return kind.carries and kind.predicted


WHOLE = Damage()
"""A network without damage."""
