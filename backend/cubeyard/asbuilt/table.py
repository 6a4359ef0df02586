"""The work order as CSV, for the command line; the page writes the same columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cubeyard.asbuilt.schemas import AsBuiltStep, End
from cubeyard.asbuilt.steps import ACTIONS
from cubeyard.exports.csv_files import encode
from cubeyard.exports.text import cell

COLUMNS = (
    "step",
    "rack",
    "action",
    "cable",
    "out_of",
    "into",
    "stays",
    "length_metres",
    "after_step",
    "cable_of_step",
    "text",
)


def work_order_csv(steps: Sequence[AsBuiltStep]) -> Iterator[bytes]:
    """One row a step, in their order."""
    yield from encode(
        COLUMNS,
        (
            (
                step.number, cell(step.rack), ACTIONS[step.action], step.name, cell(_ends(step.out)), cell(_ends(step.into)),
                cell(_ends([step.stays] if step.stays else [])), "" if step.length_mm is None else f"{step.length_mm / 1000:g}",
                "" if step.after is None else step.after, "" if step.reuses is None else step.reuses, cell(step.text),
            )
            for step in steps
        ),
    )  # fmt: skip


def _ends(ends: Sequence[End]) -> str:
    return "; ".join(f"{end.device} {end.port}" for end in ends)
