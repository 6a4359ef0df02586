"""The extended routing service against a server that sends each packet back at once, with real
packets. `[camcube §6]`"""

from __future__ import annotations

import os
import sys
from statistics import median

from bench.table import Row
from cubeyard.cli.place import own_lab
from cubeyard.emulation.fabric.process import FABRIC, NODE, program
from cubeyard.emulation.figures.camcube_fig6 import PAPER_CPU, best_of, over_base, rounds_of
from cubeyard.engine import Engine
from cubeyard.settings import Settings

LEAST_THROUGHPUT = 0.99
MOST_CPU = 1.6
"""The paper's is 1.15."""


def rows() -> list[Row]:
    """Throughput and CPU with three keys in each packet, over six links that are full both ways."""
    settings = Settings()
    if os.geteuid() != 0 or any(program(settings, name) is None for name in (FABRIC, NODE)):
        print("services: not measured, they need root and the programs of `make setup`", file=sys.stderr)
        return []
    with own_lab(settings, Engine(settings), 1.0) as lab:
        result = rounds_of(lab(None))
    throughput, micros = best_of(result)
    ratios = over_base(result, "keys-3")
    paper = f"median of {len(ratios)} rounds' ratios; the paper: {PAPER_CPU[1] / PAPER_CPU[0]:.2f} times the CPU"
    return [
        Row(
            "a bit over six full links, by the extended routing service",
            1 / throughput["keys-3"],
            1 / throughput["bounce"],
            "bounce",
            "ns",
            LEAST_THROUGHPUT,
        ),
        Row(
            "CPU of a packet by the extended routing service",
            median(ratios) * micros["bounce"],
            micros["bounce"],
            "bounce",
            "µs",
            1 / MOST_CPU,
            paper,
        ),
    ]
