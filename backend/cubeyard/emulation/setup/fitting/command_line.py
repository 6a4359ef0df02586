"""An emulation as a command: the same plan, workload, faults and settings, quoted for a shell."""

from __future__ import annotations

import shlex
from typing import Any

import orjson

from cubeyard.experiments.emulation import DEFAULT_LINK_GBPS, Emulation

Json = dict[str, Any]

DEFAULT_SEED = 7
OPTIONS = ("mode", "dataplane", "seconds")
"""The most common settings, which have separate options. The others use `--set`."""


def command_of(document: Json) -> str | None:
    """The `cubeyard emulate` command for the values of an experiment's document that differ from
    defaults; None if there are hypotheses, which only a scenario can have."""
    if document.get("hypotheses"):
        return None
    words = ["cubeyard", "emulate", "--spec", _json(document["plan"]["spec"])]
    workload = document["workload"]
    if workload != {"kind": "all-to-all"}:
        words += ["--workload", workload["kind"] if set(workload) == {"kind"} else _json(workload)]
    if document.get("routing"):
        words += ["--routing", document["routing"]]
    rate = document.get("link_gbps") or DEFAULT_LINK_GBPS
    if rate != DEFAULT_LINK_GBPS:
        words += ["--link-rate", f"{rate * 1e9:.0f}b/s"]
    for fault in document["faults"]:
        words += ["--fault", _json({name: value for name, value in fault.items() if value is not None})]
    if document["seeds"] != [DEFAULT_SEED]:
        words += ["--seed", str(document["seeds"][0])]
    settings = Emulation.model_validate(document.get("emulation") or {}).model_dump(mode="json", exclude_defaults=True)
    for name, value in settings.items():
        words += [f"--{name}", str(value)] if name in OPTIONS else ["--set", f"{name}={_json(value)}"]
    return shlex.join(words)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
