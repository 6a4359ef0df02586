"""A fault as people write it: KIND[:AMOUNT]=TARGET[@FROM[-UNTIL]], on the command line and in
notebooks."""

from __future__ import annotations

import re
from typing import Any

Json = dict[str, Any]

NUMBER = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
FAULT = re.compile(
    rf"^(?P<kind>[a-z-]+)(?::(?P<amount>[^=]+))?=(?P<target>[^@]+)(?:@(?P<at>{NUMBER})(?:-(?P<until>{NUMBER}))?)?$"
)
AMOUNT = re.compile(rf"^(?P<number>{NUMBER})\s*(?P<unit>\D*)$")
BITS_PER_SEC = re.compile(r"(?:bit|b)?(?:/s|ps)?$")
"""The rest of a rate's unit, which may be left out."""
BYTES = re.compile(r"B(?![iI][tT])|[bB][yY][tT]")
"""In the unit of a rate: `MBps`, `MB/s`, `Mbyte/s`. `Mbps` and `MBit/s` are bits."""
UNITS: dict[str, dict[str, float]] = {
    "bit/s": {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9},
    "": {"": 1.0, "%": 0.01},
    "s": {"": 1.0, "s": 1.0, "ms": 1e-3},
}
"""The units in which an amount may be given and their factors, by the unit of the catalogue of
fault kinds."""
EXAMPLES = {"bit/s": "10M", "": "5%", "s": "20ms"}
"""An amount, by the unit of the catalogue."""


def fault_of(text: str) -> Json:
    """A text as a fault of an experiment. Raises ValueError, with the text first, if it is not
    valid."""
    found = FAULT.match(text.strip())
    if found is None:
        raise ValueError(f"{text} is not valid. Write KIND=TARGET@FROM-UNTIL, like cable-pulled=00/<0,0>@10-20.")
    target = found["target"].strip()
    words = " " in target.replace("<", "").strip()
    return {
        "kind": found["kind"],
        "target": {"selector": target} if words else {"names": [target]},
        "at_secs": float(found["at"] or 0.0),
        "until_secs": float(found["until"]) if found["until"] else None,
        **_amount(found["kind"], found["amount"], text),
    }


def _amount(kind: str, amount: str | None, text: str) -> Json:
    """The parameter that some kinds need, by its field's name."""
    from cubeyard.experiments.fault_kinds import KINDS

    known = KINDS.get(kind)
    parameter = known.parameters[0] if known is not None and known.parameters else None
    if parameter is None:
        if amount is not None:
            raise ValueError(f"{text}: {kind} takes no amount. Leave :{amount} out.")
        return {}
    field, example = parameter.name, EXAMPLES[parameter.unit]
    if amount is None:
        raise ValueError(f"{text}: {kind} needs {field}. Write it behind the kind, like {kind}:{example}=00/<0,0>.")
    value = read_amount(amount, parameter.unit)
    if value is None:
        raise ValueError(f"{text}: {amount} is not valid as {field}. Write it like {example}.")
    return {field: value}


def read_amount(text: str, unit_of_value: str) -> float | None:
    """`10M` in bit/s, `5%` as a ratio (without unit), `20ms` in s, as a number in that unit; None
    if it is none, or a rate in bytes: it is an eighth of what it is taken for as often as not."""
    found = AMOUNT.match(text.strip())
    if found is None or (unit_of_value == "bit/s" and BYTES.search(found["unit"])):
        return None
    unit = found["unit"].lower()
    factor = UNITS[unit_of_value].get(BITS_PER_SEC.sub("", unit) if unit_of_value == "bit/s" else unit)
    return None if factor is None else float(found["number"]) * factor
