"""Checks the hypotheses of a session in every tick, from the first fault on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Literal

from cubeyard.emulation.measure.window import EPSILON_SECS, Reading
from cubeyard.experiments.hypotheses import METRICS, Hypothesis
from cubeyard.experiments.scenario.verdict import NO_FAULT, WORST

Json = dict[str, Any]

NAMES = {
    "goodput": "Goodput",
    "abt": "ABT",
    "goodput-share": "Goodput",
    "abt-share": "ABT",
    "stalled-flows": "The number of stalled flows",
    "latency-p99-secs": "The 99th percentile of latencies",
}

DELAYED_SHARE = 0.9
"""If this machine delayed the run in at least this share of a violation, it may have caused the
violation."""


@dataclass(frozen=True)
class Struck:
    """Which planned faults happened, in words for verdicts."""

    any: bool = False
    """Whether a fault was injected or an upgrade began."""
    missing: tuple[str, ...] = ()
    """Faults that were planned and not injected, and an upgrade that was not finished."""
    off_schedule: tuple[str, ...] = ()
    """Faults that did not begin or end as planned."""
    cut_short: bool = False
    """Whether the end of the run shortened a fault, or a fault could not be recovered."""
    overran_at_secs: float = inf
    """From this time on, a fault lasted longer than planned."""
    host_limited: str = ""
    """Why this machine limited the run before the first fault; empty if it did not."""


class Guard:
    """Checks one hypothesis, and reports when a violation has lasted too long."""

    def __init__(self, hypothesis: Hypothesis | None) -> None:
        self.hypothesis = hypothesis
        self._watched_secs = self._broken_secs = self._delayed_secs = self._foreseen_secs = 0.0
        self._before = Reading(0.0, 0.0, 0)
        """Sum of all readings before the first fault."""
        self._before_count = 0
        self.violations = 0
        self.worst: float | None = None
        self.broken_at_secs: float | None = None
        self.delayed = 0.0
        """Share of the lasting violation in which this machine delayed the run, excluding times in
        which the model expected the violation."""
        self.foreseen = 0.0
        """Share of the lasting violation in which the model expected it."""

    def before(self, reading: Reading) -> None:
        """Adds a reading before the first fault, for the baseline."""
        had = self._before
        self._before = Reading(
            had.goodput_bits_per_sec + reading.goodput_bits_per_sec,
            had.abt_bits_per_sec + reading.abt_bits_per_sec,
            0,
        )
        self._before_count += 1

    def value(self, reading: Reading) -> float | None:
        """The current value of the metric; None if it is a share of an empty baseline."""
        assert self.hypothesis is not None
        metric = self.hypothesis.metric
        if metric == "stalled-flows":
            return float(reading.stalled_flows)
        if metric == "latency-p99-secs":
            return reading.latency_p99_secs
        now, before = (
            item.goodput_bits_per_sec if metric.startswith("goodput") else item.abt_bits_per_sec
            for item in (reading, self._before)
        )
        if not metric.endswith("-share"):
            return now
        return now * self._before_count / before if before > 0 else None

    def watch(
        self,
        at_secs: float,
        secs: float,
        reading: Reading,
        delayed: float = 0.0,
        expected: Reading | None = None,
        *,
        struck: bool = True,
    ) -> bool:
        """Checks a reading; returns whether the run must end now. `delayed` is the share of this
        reading in which the machine delayed the run.

        `expected` is the model's value with the current faults. If that violates the hypothesis
        too, a slow machine is no excuse. Until a fault has `struck`, shares of the baseline are not
        tested.
        """
        if self.hypothesis is None or (self._is_share and not struck) or (value := self.value(reading)) is None:
            return False
        most = METRICS[self.hypothesis.metric].most
        if self.worst is None or (value > self.worst if most else value < self.worst):
            self.worst = value
        self._watched_secs += secs
        if self._misses(value):
            self.violations += 1
            self._broken_secs += secs
            foreseen = expected is not None and self._misses(self.value(expected))
            self._foreseen_secs += secs * foreseen
            self._delayed_secs += 0.0 if foreseen else delayed * secs
        else:
            self._broken_secs = self._delayed_secs = self._foreseen_secs = 0.0
        if self._broken_secs < self.hypothesis.for_secs - EPSILON_SECS or self.broken_at_secs is not None:
            return False
        self.broken_at_secs = at_secs
        if self._broken_secs > 0:
            self.delayed, self.foreseen = (
                part / self._broken_secs for part in (self._delayed_secs, self._foreseen_secs)
            )
        return self.hypothesis.abort

    def _misses(self, value: float | None) -> bool:
        """Whether a value of the metric violates the bound."""
        assert self.hypothesis is not None
        return value is not None and METRICS[self.hypothesis.metric].misses(value, self.hypothesis.bound)

    @property
    def _is_share(self) -> bool:
        return self.hypothesis is not None and self.hypothesis.metric.endswith("-share")

    def outcome(self, struck: Struck) -> Literal["held", "broken", "inconclusive", "not-tested", "none"]:
        """The outcome. Inconclusive if this machine delayed the run during an unexpected violation,
        if a fault lasted too long, or if the end of the run shortened a fault or a violation. Not
        tested if no violation could have lasted long enough."""
        if self.hypothesis is None:
            return "none"
        if self.broken_at_secs is not None:
            excused = self.delayed >= DELAYED_SHARE or self.broken_at_secs > struck.overran_at_secs
            return "inconclusive" if excused or self._limited(struck) else "broken"
        if self.worst is None or struck.missing or self._watched_too_short(self.hypothesis):
            return "not-tested"
        return "inconclusive" if struck.cut_short or self._broken_secs > 0 or self._limited(struck) else "held"

    def _limited(self, struck: Struck) -> bool:
        """Whether the outcome is open because this machine limited the run. A baseline that the
        machine has lowered is useless. An absolute bound may have been violated because of the
        machine, but not met because of it."""
        if self.broken_at_secs is None:
            return bool(struck.host_limited) and self._is_share
        return bool(struck.host_limited) and self.foreseen <= 1 - DELAYED_SHARE

    def _watched_too_short(self, hypothesis: Hypothesis) -> bool:
        return self._watched_secs < hypothesis.for_secs - EPSILON_SECS

    def document(self, struck: Struck) -> Json:
        """The verdict for the report, with the fields of the hypothesis."""
        if self.hypothesis is None:
            return {"outcome": "none", "sentence": "The run had no hypothesis."}
        return {
            "outcome": self.outcome(struck),
            "sentence": self._sentence(self.hypothesis, struck),
            **self.hypothesis.model_dump(),
            "unit": METRICS[self.hypothesis.metric].unit,
            "worst": self.worst,
            "violations": self.violations,
            "broken_at_secs": self.broken_at_secs,
        }

    def _sentence(self, hypothesis: Hypothesis, struck: Struck) -> str:
        name, bound, secs = NAMES[hypothesis.metric], _bound(hypothesis), f"{hypothesis.for_secs:g} s"
        most = METRICS[hypothesis.metric].most
        why = " ".join([*([] if struck.any else [NO_FAULT]), *struck.missing, *struck.off_schedule])
        if self.worst is None:
            nothing = "No request ended." if most else "Nothing was received before the first fault."
            return f"{name} was not tested. {why or nothing}"
        good, bad = ("below", "above") if most else ("above", "below")
        if self.broken_at_secs is None:
            reported = f"{name} stayed at or {good} {bound}, or recovered within {secs}."
            if self._watched_too_short(hypothesis):
                reported = f"{name} was not tested: {self._watched_secs:.1f} s were watched, and only {secs} {bad} {bound} break it."
            elif self._broken_secs > 0:
                reported = f"{name} was {bad} {bound} for the last {self._broken_secs:.1f} s: the run ended before that lasted {secs}."
            limited = f" But this machine limited the run: {struck.host_limited}" if self._limited(struck) else ""
            return f"{reported}{limited} {why}".rstrip()
        reported = f"{name} stayed {bad} {bound} for {secs} (until {self.broken_at_secs:.1f} s)"
        if self._limited(struck):
            reported += f", but this machine limited the run: {struck.host_limited.rstrip('.')}"
        elif self.delayed >= DELAYED_SHARE:
            reported += (
                f", but the run was delayed in {self.delayed:.0%} of that time: this machine may have been the limit"
            )
        return f"{reported}. {why}".rstrip()


class Guards:
    """All hypotheses of a session, each with its own guard."""

    def __init__(self, hypotheses: Sequence[Hypothesis]) -> None:
        self._each = [Guard(hypothesis) for hypothesis in hypotheses]

    def before(self, reading: Reading) -> None:
        """Adds a reading before the first fault."""
        for guard in self._each:
            guard.before(reading)

    def watch(
        self,
        at_secs: float,
        secs: float,
        reading: Reading,
        delayed: float = 0.0,
        expected: Reading | None = None,
        *,
        struck: bool = True,
    ) -> bool:
        """Checks a reading against all hypotheses; returns whether one ends the run now."""
        ends = [guard.watch(at_secs, secs, reading, delayed, expected, struck=struck) for guard in self._each]
        return any(ends)

    def document(self, struck: Struck) -> Json:
        """The verdict of the whole run: that of the hypothesis with the worst outcome, the first
        one of equals."""
        each = self.documents(struck)
        return min(each, key=lambda verdict: WORST.index(verdict["outcome"]), default=Guard(None).document(struck))

    def documents(self, struck: Struck) -> list[Json]:
        """The verdict on each hypothesis, in their order."""
        return [guard.document(struck) for guard in self._each]


def _bound(hypothesis: Hypothesis) -> str:
    if hypothesis.metric.endswith("-share"):
        return f"{hypothesis.bound * 100:g} % of baseline"
    unit = METRICS[hypothesis.metric].unit
    plain = {"flows": f"{hypothesis.bound:g}", "s": f"{hypothesis.bound:g} s"}
    return plain.get(unit, f"{hypothesis.bound / 1e6:g} Mb/s")
