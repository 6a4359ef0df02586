"""Outputs equal those of the baseline, except for the differences of `allowed.txt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.baseline import digests
from tests.exports import plans

ALLOWED = Path(__file__).with_name("allowed.txt")


def allowed() -> set[str]:
    """The accepted differences; each has a reason."""
    accepted: set[str] = set()
    for line in ALLOWED.read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.partition("\t")
            assert reason.strip(), f"{ALLOWED.name}: {name!r} has no reason; write it after a tab"
            accepted.add(name)
    return accepted


def differences(plan_names: tuple[str, ...]) -> set[str]:
    """The names of digests that differ, and the readable lines that are new or gone."""
    others = [f"{kind}/{name}/" for name in set(plans.SPECS) - set(plan_names) for kind in ("export", "plan")]
    expected = {
        line for line in digests.DIGESTS.read_text().splitlines() if not digests.name_of(line).startswith(tuple(others))
    }
    changed = {digests.name_of(line) for line in expected ^ set(digests.lines(plan_names))}
    return changed | (set(digests.NAMES.read_text().splitlines()) ^ set(digests.readable()))


def test_answers_names_and_small_plans_are_those_of_the_baseline() -> None:
    assert sorted(differences(digests.SHORT) - allowed()) == []


@pytest.mark.long
def test_everything_is_that_of_the_baseline_and_every_allowed_line_is_used() -> None:
    changed = differences(tuple(plans.SPECS))
    assert sorted(changed - allowed()) == []
    assert sorted(allowed() - changed) == []
