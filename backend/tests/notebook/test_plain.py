"""NumPy's numbers are numbers in every argument of a call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cubeyard.notebook import CubeyardError, Topology, plan, predict, sweep
from cubeyard.notebook.question import question

KINDS = [np.int64, np.int32, np.uint8, np.int16]


@pytest.mark.parametrize("kind", KINDS)
def test_a_topology_is_made_of_any_integer(kind: Any) -> None:
    plainly = Topology.bcube(n=4, k=1)
    assert Topology.bcube(kind(4), k=kind(1)) == Topology({"family": "bcube", "n": kind(4), "k": kind(1)}) == plainly
    assert plan({"family": "bcube", "n": kind(4), "k": kind(1)}).plan_hash == plan(plainly).plan_hash
    assert predict(plainly, "random-pairs", seeds=[kind(7)]).abt_gbps == predict(plainly, "random-pairs").abt_gbps


def test_a_row_of_a_data_frame_has_whole_numbers_among_fractions() -> None:
    frame = pd.DataFrame({"n": [4], "k": [1], "link_gbps": [2.5]})
    (row,) = (row for _, row in frame.iterrows())
    (named,) = frame.astype(float).itertuples()
    plainly = Topology.bcube(n=4, k=1)
    assert Topology.bcube(row["n"], row["k"]) == Topology.bcube(n=named.n, k=named.k) == plainly
    assert plan(Topology.bcube(row["n"], row["k"])).plan_hash == plan(plainly).plan_hash
    with pytest.raises(CubeyardError):
        plan(Topology.bcube(4.5, 1))  # type: ignore[arg-type]


def test_every_argument_of_a_question_takes_them() -> None:
    given = question(
        {"family": "bcube", "n": np.int64(4), "k": np.int64(1)}, {"kind": "random-pairs", "count": np.int64(9)},
        [{"kind": "down", "target": {"kind": "link", "ratio": np.float64(0.5)}, "at_secs": np.float32(0.0)}],
        np.arange(3, 5), link_gbps=np.float64(10), flow_gigabits=np.int64(1),
    )  # fmt: skip
    assert given["seeds"] == [3, 4]
    assert given["workload"]["count"] == 9
    assert len(question(Topology.bcube(4, 1), "permutation", None, np.int64(2))["seeds"]) == 2  # pyright: ignore[reportArgumentType]


def test_a_sweep_takes_an_array_of_rates_and_refuses_one_twice() -> None:
    made = sweep(Topology.bcube(4, 1), "permutation", failures={"switches": np.array([0.0, 0.25])}, seeds=np.int64(1))  # type: ignore[arg-type]
    assert [point["failure_ratio"] for point in made.points] == [0.0, 0.25]
    with pytest.raises(Exception, match="A rate is given twice"):
        sweep(Topology.bcube(4, 1), "permutation", failures={"switches": [0, 0.1, 0.1]})
