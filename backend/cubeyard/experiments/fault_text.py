"""A fault as people write it, on the command line, in notebooks, scenarios and requests:
`KIND[:AMOUNT]=TARGET[@FROM[-UNTIL][~PERIOD]]`. The engine reads it."""

from __future__ import annotations

from cubeyard.engine import Json, PlanRejectedError, fault_from_text


def fault_of(text: str) -> Json:
    """A text as a fault of an experiment. Raises ValueError, with the text first, if it is not
    valid."""
    try:
        return {"until_secs": None, **fault_from_text(text)}
    except PlanRejectedError as error:
        raise ValueError(error.findings[0]["message"]) from None
