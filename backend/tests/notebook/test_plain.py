"""NumPy's numbers are numbers in every argument of a call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cubeyard.notebook import CubeyardError, Topology, plan, predict, sweep
from cubeyard.notebook.plain import plain
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
    for twice in ([0, 0.1, 0.1], np.arange(4) * 0.1 + 0.1, [0.3, 0.1 + 0.2]):
        rates = [*twice, 0.3]
        with pytest.raises(Exception, match="A rate is given twice"):
            sweep(Topology.bcube(4, 1), "permutation", failures={"switches": rates})


@pytest.mark.parametrize("true", [True, np.bool_(True)])
def test_true_is_neither_a_rate_nor_a_number_of_seeds(true: Any) -> None:
    with pytest.raises(CubeyardError, match="True is not a share of all switches"):
        predict(Topology.bcube(4, 1), failures={"switches": true})
    with pytest.raises(CubeyardError, match="True is not a number of seeds"):
        predict(Topology.bcube(4, 1), seeds=true)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_fraction_of_few_digits_stays_what_it_says(kind: Any) -> None:
    assert plain(kind(0.1)) == 0.1
    assert plain(np.array([[0.1], [2.5]], dtype=kind)) == [[0.1], [2.5]]
    assert plain(pd.Series([0.1, 4.0], dtype=kind).to_numpy()) == [0.1, 4]
    assert repr(plain({"n": kind(4)})) == "{'n': 4}"
