"""Measures everything, prints one table, and fails when a promise is broken."""

from __future__ import annotations

import os
import platform
import sys

from bench import emulation, engine, pods, service, services, sweeps
from bench.table import print_rows


def main() -> int:
    load = os.getloadavg()[0]
    print(
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, load {load:.1f} at the start"
    )
    print("CPU seconds (median of several) where not said otherwise; ratio = the other's / ours, more is better\n")
    rows = [*engine.rows(), *service.rows(), *sweeps.rows(), *emulation.rows(), *pods.rows(), *services.rows()]
    print_rows(rows)
    broken = [row for row in rows if not row.kept]
    print(f"\n{len(rows) - len(broken)} of {len(rows)} promises kept")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
