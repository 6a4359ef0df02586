"""Lists of host names in the short form of Slurm, ClusterShell and pdsh: `h[0000-0007,0010]`,
`h2-[0-3]`."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LAST_NUMBER = re.compile(r"(?P<stem>.*?)(?P<number>\d+)$")


def hostlist(hosts: Iterable[str]) -> str:
    """Folds runs of last numbers in `hosts`, in the order in which their stems first occur.

    Only numbers of equal width are folded together, so that expanding gives the same names,
    including leading zeros.
    """
    by_stem: dict[tuple[str, int], list[int]] = {}
    for host in hosts:
        matched = _LAST_NUMBER.fullmatch(host)
        if matched is None:
            by_stem.setdefault((host, 0), [])
        else:
            by_stem.setdefault((matched["stem"], len(matched["number"])), []).append(int(matched["number"]))
    return ",".join(_folded(stem, width, numbers) for (stem, width), numbers in by_stem.items())


def _folded(stem: str, width: int, numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = [f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in runs]
    if not words:
        return stem
    return stem + (words[0] if len(words) == 1 and "-" not in words[0] else f"[{','.join(words)}]")
