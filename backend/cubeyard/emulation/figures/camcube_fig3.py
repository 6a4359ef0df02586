"""Hops to a cache hit on a torus of 64 servers. `[camcube §3.3, Fig. 3]`"""

from __future__ import annotations

import random
from collections import Counter
from statistics import mean, median

from cubeyard.emulation.figures.lab import Lab
from cubeyard.emulation.figures.rows import Outcome, line
from cubeyard.emulation.figures.talk import Talk
from cubeyard.emulation.figures.torus import (
    LookedUp,
    at_paper_size,
    lines_of,
    look_up,
    looked_up,
    spread,
    store,
    told,
    trial,
)

FIGURE = "camcube-fig3"
SIDE = 4
SERVERS = SIDE**3
KEYS = 400
EXPONENT = 1.5
LOOKUPS = 3000
BATCH = 60


def draw(lookups: int, seed: int) -> list[tuple[int, str]]:
    """A server and a key for each lookup: servers uniform, keys by Zipf's law."""
    draws = random.Random(seed)  # noqa: S311 - the same for a seed
    keys = draws.choices(range(KEYS), [(rank + 1) ** -EXPONENT for rank in range(KEYS)], k=lookups)
    return [(draws.randrange(SERVERS), f"key{key}") for key in keys]


def model(lab: Lab, lookups: int, *, first_way: bool) -> list[LookedUp]:
    """The model's results for the same lookups."""
    return looked_up(lab, SIDE, lookups, keys=KEYS, exponent=EXPONENT, batch=BATCH, first_way=first_way)


def measure(lab: Lab) -> Outcome:
    lookups = max(round(LOOKUPS * lab.brevity), 300)
    request = draw(lookups, lab_seed := 7)
    base: list[int] = []
    own: list[int] = []

    def talk(to: Talk) -> None:
        store(to, sorted({name for _, name in request}))
        for begin in range(0, lookups, BATCH):
            batch = request[begin : begin + BATCH]
            base.extend(look_up(to, batch, "straight"))
            own.extend(look_up(to, batch))

    lab.measure([trial("lookups", SIDE, talk, 0.012 * lookups + 3)])
    first, drawn = (model(lab, lookups, first_way=first_way) for first_way in (True, False))
    at_8000 = "of 8,000 servers {}, in the paper {}"
    longest, medians = [float(max(item.own)) for item in first], [float(median(item.own)) for item in first]
    low, high = spread([mean(item.base) for item in first])
    own_low, own_high = spread([mean(item.own) for item in first])
    means = [mean(mean(item.base) for item in each) for each in (first, drawn)]
    return Outcome(
        rows=[
            told("routing service: longest", "hops", float(max(base)), 6.0, 6.0, at_8000.format("30", "30")),
            told(
                "cache service: longest",
                "hops",
                float(max(own)),
                min(longest),
                max(longest),
                at_8000.format("30", "30"),
            ),
            told("routing service: median", "hops", median(base), 3.0, 3.0, at_8000.format("15", "15")),
            told("cache service: median", "hops", median(own), min(medians), max(medians), at_8000.format("7", "7")),
            told(
                "routing service: mean",
                "hops",
                mean(base),
                low,
                high,
                f"the model whose packets take the first of several links, as servers do whose links are free: {means[0]:.2f}; with drawn links, "
                f"which meet more copies, {means[1]:.2f}",
            ),
            told(
                "cache service: mean",
                "hops",
                mean(own),
                own_low,
                own_high,
                f"the model: {mean(mean(item.own) for item in first):.2f}",
            ),
        ],
        series=[
            _shares("routing service, measured", base),
            _shares("cache service, measured", own),
            _shares("routing service, 64 servers, model", first[0].base),
            _shares("routing service, 64 servers, model of drawn links", drawn[0].base),
            _shares("cache service, 64 servers, model", first[0].own),
            *lines_of(at_paper_size(lab, FIGURE), "8,000 servers, model"),
            line("paper: routing service, median and longest", [15.0, 30.0], [0.5, 1.0], paper=True),
            line("paper: cache service, median", [7.0], [0.5], paper=True),
        ],
        axes=("hops to a hit", "share of lookups"),
        choices=[
            f"64 servers, {KEYS} keys, {lookups:,} lookups by Zipf's law ({EXPONENT:g}) with seed {lab_seed}; the packet of a lookup counts the "
            "links that it crosses",
            f"every {BATCH} lookups go by the routing service first, then by the cache service: copies are those made until then",
            "secondaries one hop along each axis from the primary, which is a quarter of an axis; made on demand",
        ],
    )


def _shares(name: str, hops: list[int]) -> dict[str, object]:
    counts = Counter(hops)
    x, y, seen = [], [], 0
    for index in range(max(counts) + 1):
        seen += counts[index]
        x.append(float(index))
        y.append(seen / len(hops))
    return line(name, x, y)
