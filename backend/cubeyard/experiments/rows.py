"""The points of a sweep as rows of a table: files of a run and data frames in a notebook have the
same columns."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

POINT_COLUMNS: dict[str, dict[str, str]] = {
    "points": {
        "point": "int64", "topology": "int64", "title": "string", "failure_kind": "string", "failure_ratio": "float64",
        "seed": "int64", "routing": "string", "abt_gbps": "float64", "flows": "int64", "dropped_flows": "int64",
        "max_link_flows": "int64", "path_hops_mean": "float64", "path_hops_max": "float64", "maxmin_total_gbps": "float64",
        "maxmin_min_gbps": "float64", "maxmin_median_gbps": "float64", "engine_version": "string",
    },
    "simulation": {
        "point": "int64", "topology": "int64", "title": "string", "failure_kind": "string", "failure_ratio": "float64",
        "seed": "int64", "routing": "string", "flows": "int64", "dropped_flows": "int64", "unfinished": "int64",
        "completion_median_secs": "float64", "completion_p99_secs": "float64", "completion_max_secs": "float64",
        "goodput_gbps": "float64", "drops": "int64", "timeouts": "int64", "retransmits": "int64", "packet_hops": "int64",
        "engine_version": "string",
    },
}  # fmt: skip
"""Columns with their Arrow types: for predictions (`points`) and simulations (`simulation`)."""


def row_of(payload: Json, titles: list[str]) -> Json:
    """A point and its result by column, and more; `titles` by the number of the topology."""
    result = payload["result"]
    # The mean of no path is none: 0 would pull means over seeds down.
    hops = result.get("path_hops") if result.get("flows") else None
    hops, maxmin = hops or {}, result.get("maxmin") or {}
    times = result.get("completion_secs") or {}
    return {
        **result,
        **{key: value for key, value in payload.items() if key != "result"},
        "title": titles[payload["topology"]],
        **{f"path_hops_{name}": hops.get(name) for name in ("mean", "max")},
        **{f"completion_{name}_secs": times.get(name) for name in ("median", "p99", "max")},
        "unfinished": times.get("unfinished"),
        **{f"maxmin_{name}": maxmin.get(name) for name in ("total_gbps", "min_gbps", "median_gbps")},
    }
