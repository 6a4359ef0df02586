"""Faults and hypotheses that a run cannot test, refused before it starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cubeyard.emulation.faults.faults import LATE_SECS, Fault
from cubeyard.emulation.setup.upgrade import Upgrade
from cubeyard.experiments.emulation import Emulation
from cubeyard.experiments.hypotheses import MAX_HYPOTHESES, Hypothesis
from cubeyard.kit.errors import field_error

Json = dict[str, Any]


def refuse_too_short(
    settings: Emulation, faults: Sequence[Fault], upgrade: Upgrade | None, hypotheses: Sequence[Hypothesis]
) -> None:
    """`hypotheses` in the order of `claims_of`. Raises a 422 for a fault at or after the run's end,
    and for a hypothesis that no violation could break, because the rest of the run is
    shorter."""
    ends = settings.seconds
    for number, fault in enumerate(faults):
        if fault.at_secs >= ends:
            raise field_error(
                f"body.faults.{number}.at_secs",
                fault.at_secs,
                f"The run ends after {ends:g} s, before this fault.",
                limit=f"less than {ends:g}",
                hint="Lower it, or raise emulation.seconds.",
            )
    struck = [fault.at_secs for fault in faults]
    changes = [upgrade.at_secs] if upgrade is not None and upgrade.at_secs is not None else []
    for field, hypothesis in zip(_fields(settings), hypotheses, strict=False):
        # Without planned faults, an absolute bound is tested from the start.
        begins = min([*struck, *changes]) if struck or (changes and hypothesis.metric.endswith("-share")) else 0.0
        most = ends - begins - LATE_SECS
        if hypothesis.for_secs > most + 1e-9:
            since = f", of which the first {begins:g} s are before any fault" if begins else ""
            raise field_error(
                f"{field}.for_secs",
                hypothesis.for_secs,
                f"No violation could last {hypothesis.for_secs:g} s: the run has {ends:g} s{since}.",
                limit=f"at most {max(most, 0.0):.6g}",
                hint=f"Lower it, or raise emulation.seconds to {begins + hypothesis.for_secs + LATE_SECS:.6g} or more.",
            )


def refuse_unmeasured(settings: Emulation, hypotheses: Sequence[Hypothesis], *, has_requests: bool) -> None:
    """Raises a 422 for a hypothesis about latencies in a run without requests."""
    for field, hypothesis in zip(_fields(settings), hypotheses, strict=False):
        if hypothesis.metric == "latency-p99-secs" and not has_requests:
            raise field_error(
                f"{field}.metric",
                hypothesis.metric,
                "Without requests there are no latencies.",
                hint="Choose workload requests, or another metric.",
            )


def _fields(settings: Emulation) -> Iterator[str]:
    if settings.hypothesis is not None:
        yield "body.emulation.hypothesis"
    for number in range(MAX_HYPOTHESES):
        yield f"body.hypotheses.{number}"
