"""The columns of a fabric's tick. Generated from `emulator/crates/contract/src/tick.rs`: after a
change there, run `cargo run -p cubeyard-contract` in `emulator/`.
"""

from __future__ import annotations

from cubeyard.contract.columns import Column, Merge, Unit

COLUMNS = (
    Column("links", "tx", Unit.BYTES, Merge.SUM),
    Column("links", "rx", Unit.BYTES, Merge.SUM),
    Column("links", "packets", Unit.PACKETS, Merge.SUM),
    Column("links", "drops", Unit.PACKETS, Merge.SUM),
    Column("links", "queue", Unit.BYTES, Merge.LATEST),
    Column("servers", "relayed", Unit.BYTES, Merge.SUM),
    Column("servers", "own", Unit.BYTES, Merge.SUM),
    Column("servers", "cpu", Unit.SHARE, Merge.LATEST),
    Column("flows", "bytes", Unit.BYTES, Merge.SUM),
    Column("flows", "retransmits", Unit.PACKETS, Merge.SUM),
    Column("host", "cpu", Unit.SHARE, Merge.BUSIEST),
    Column("host", "own_cpu", Unit.SHARE, Merge.BUSIEST),
    Column("host", "wait_secs", Unit.SECS, Merge.SUM),
    Column("host", "waits", Unit.COUNT, Merge.SUM),
    Column("host", "backlog_drops", Unit.PACKETS, Merge.SUM),
    Column("latencies", "asked", Unit.COUNT, Merge.SUM),
    Column("latencies", "answered", Unit.COUNT, Merge.SUM),
    Column("latencies", "within_bound", Unit.COUNT, Merge.SUM),
    Column("latencies", "timed_out", Unit.COUNT, Merge.SUM),
    Column("latencies", "sum_nanos", Unit.NANOS, Merge.SUM),
    Column("latencies", "longest_nanos", Unit.NANOS, Merge.LONGEST),
    Column("latencies", "buckets", Unit.COUNT, Merge.BY_KEY),
)
