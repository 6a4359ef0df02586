"""Latencies of responses: counts by bucket as reported by clients, and their statistics."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from cubeyard.emulation.measure.window import EPSILON_SECS, WINDOW_SECS
from cubeyard.emulation.setup.requests import Requests

Json = dict[str, Any]

OF_OCTAVE = 16
"""Number of buckets per octave, the same as in clients: each is at most a sixteenth wide."""
SHARES = {"median": 0.5, "p99": 0.99, "p999": 0.999}


def least_secs(bucket: int) -> float:
    """The smallest latency in the bucket with this number."""
    octave = max(bucket // OF_OCTAVE - 1, 0)
    return (bucket - octave * OF_OCTAVE << octave) / 1e9


@dataclass
class Latencies:
    """Results of requests. Counts are exact."""

    asked: int = 0
    answered: int = 0
    within_bound: int = 0
    timed_out: int = 0
    sum_secs: float = 0.0
    max_secs: float = 0.0
    buckets: Counter[int] = field(default_factory=Counter)

    @classmethod
    def of(cls, frame: Json) -> Latencies:
        """Parses a fabric's frame."""
        return cls(
            asked=int(frame["asked"]),
            answered=int(frame["answered"]),
            within_bound=int(frame["within_bound"]),
            timed_out=int(frame["timed_out"]),
            sum_secs=frame["sum_nanos"] / 1e9,
            max_secs=frame["longest_nanos"] / 1e9,
            buckets=Counter({int(number): int(count) for number, count in frame["buckets"]}),
        )

    def add(self, other: Latencies) -> None:
        self.asked += other.asked
        self.answered += other.answered
        self.within_bound += other.within_bound
        self.timed_out += other.timed_out
        self.sum_secs += other.sum_secs
        self.max_secs = max(self.max_secs, other.max_secs)
        self.buckets.update(other.buckets)

    def at(self, share: float) -> float | None:
        """The latency that this share of the responses did not exceed, accurate to a thirty-second;
        None without responses."""
        if not self.answered:
            return None
        seen = 0
        for number in sorted(self.buckets):
            seen += self.buckets[number]
            if seen >= share * self.answered:
                return min((least_secs(number) + least_secs(number + 1)) / 2, self.max_secs)
        return self.max_secs

    def p99(self, timeout_secs: float) -> float | None:
        """The 99th percentile over ended requests; a timeout counts as a latency of that length.
        None without requests."""
        ended = self.answered + self.timed_out
        if not ended or 0.99 * ended > self.answered:
            return timeout_secs if ended else None
        return self.at(0.99 * ended / self.answered)

    def tick(self) -> Json:
        """The results in the format of a tick."""
        return {
            "asked": self.asked,
            "answered": self.answered,
            "within_bound": self.within_bound,
            "timed_out": self.timed_out,
            "sum_secs": round(self.sum_secs, 6),
            "max_secs": round(self.max_secs, 6),
            "buckets": [[number, self.buckets[number]] for number in sorted(self.buckets)],
        }

    def distribution(self) -> Json:
        """The share of responses within the time at each bucket's end."""
        shares, secs, seen = [], [], 0
        for number in sorted(self.buckets):
            seen += self.buckets[number]
            shares.append(round(seen / self.answered, 6))
            secs.append(min(least_secs(number + 1), self.max_secs))
        return {"share": shares, "secs": secs}


class LatencyWindow:
    """The requests that ended within the last second."""

    def __init__(self, timeout_secs: float) -> None:
        self._timeout_secs = timeout_secs
        self._ticks: deque[tuple[float, Latencies]] = deque()
        self._secs = 0.0

    def add(self, secs: float, ended: Latencies | None) -> float | None:
        """Adds a tick's results, and returns the 99th percentile over the window."""
        self._ticks.append((secs, ended or Latencies()))
        self._secs += secs
        while self._secs - self._ticks[0][0] >= WINDOW_SECS - EPSILON_SECS:
            self._secs -= self._ticks.popleft()[0]
        last = Latencies()
        for _, item in self._ticks:
            last.add(item)
        return last.p99(self._timeout_secs)


def report(latencies: Latencies, requests: Requests) -> Json:
    """`latency_secs` and `latency_distribution` as in a simulation, and the fields that only a
    measurement has."""
    finished = latencies.answered + latencies.timed_out
    bound = requests.bound_secs
    return {
        "latency_secs": {
            "requests": latencies.asked,
            "answered": latencies.answered,
            "timed_out": latencies.timed_out,
            "unanswered": max(latencies.asked - latencies.answered, 0),
            "min": least_secs(min(latencies.buckets)) if latencies.buckets else None,
            "mean": latencies.sum_secs / latencies.answered if latencies.answered else None,
            **{name: latencies.at(share) for name, share in SHARES.items()},
            "max": latencies.max_secs if latencies.answered else None,
            "bound": bound,
            # Relative to requests with a result, because the last ones are still waiting.
            "within_bound": None if bound is None or not finished else latencies.within_bound / finished,
        },
        "latency_distribution": latencies.distribution(),
    }
