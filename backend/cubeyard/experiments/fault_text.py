"""A fault as people write it: KIND[:AMOUNT]=TARGET[@FROM[-UNTIL]], on the command line and in
notebooks."""

from __future__ import annotations

import re
from typing import Any, cast

from cubeyard.reading.units import NUMBER, NoAmountError, Unit, amount, stated

Json = dict[str, Any]

_TIME = rf"{NUMBER}\s*[a-z\u03bc\u00b5]*"
FAULT = re.compile(
    rf"^(?P<kind>[a-z-]+)(?::(?P<amount>[^=]+))?=(?P<target>[^@]+)(?:@(?P<at>{_TIME})(?:-(?P<until>{_TIME}))?)?$"
)
EXAMPLES = {"bit/s": "10M", "": "5%", "s": "20ms"}
"""An amount, by the unit of the catalogue."""


def fault_of(text: str) -> Json:
    """A text as a fault of an experiment. Raises ValueError, with the text first, if it is not
    valid."""
    matched = FAULT.match(text.strip())
    if matched is None:
        raise ValueError(f"{text} is not valid. Write KIND=TARGET@FROM-UNTIL, like cable-pulled=00/<0,0>@10-20.")
    target = matched["target"].strip()
    words = " " in target.replace("<", "").strip()
    return {
        "kind": matched["kind"],
        "target": {"selector": target} if words else {"names": [target]},
        "at_secs": _secs(matched["at"] or "0", text),
        "until_secs": _secs(matched["until"], text) if matched["until"] else None,
        **_amount(matched["kind"], matched["amount"], text),
    }


def _secs(words: str, text: str) -> float:
    try:
        return amount(words, "s")
    except NoAmountError as error:
        raise ValueError(f"{text} is not valid: {error}") from None


def _amount(kind: str, words: str | None, text: str) -> Json:
    """The parameter that some kinds need, by its field's name."""
    from cubeyard.experiments.fault_kinds import KINDS

    known = KINDS.get(kind)
    parameter = known.parameters[0] if known is not None and known.parameters else None
    if parameter is None:
        if words is not None:
            raise ValueError(f"{text}: {kind} takes no amount. Leave :{words} out.")
        return {}
    field, example = parameter.name, EXAMPLES[parameter.unit]
    if words is None:
        raise ValueError(f"{text}: {kind} needs {field}. Write it behind the kind, like {kind}:{example}=00/<0,0>.")
    try:
        return {field: stated(words, cast("Unit", parameter.unit))}
    except NoAmountError as error:
        raise ValueError(f"{text}: {words} is not valid as {field}. Write it like {example}. {error}") from None
