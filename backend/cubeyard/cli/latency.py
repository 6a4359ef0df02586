"""The latency of requests as rows of a table, simulated or measured."""

from __future__ import annotations

from rich.table import Table

from cubeyard.engine import Json

ROWS = (
    ("median", "Latency, median"),
    ("p99", "  99th percentile"),
    ("p999", "  99.9th percentile"),
    ("max", "  longest"),
)


def add_latency(table: Table, told: Json) -> None:
    table.add_row("Requests", f"{told['requests']:,}", f"{told['unanswered']:,} without a response at the end")
    if told.get("timed_out"):
        table.add_row("  timed out", f"{told['timed_out']:,}", "")
    for name, title in ROWS:
        if told.get(name) is not None:
            table.add_row(title, f"{told[name] * 1e3:.4g}", "ms")
    if told["within_bound"] is not None:
        table.add_row(f"  within {told['bound']:g} s", f"{told['within_bound']:.2%}", "of the requests")
