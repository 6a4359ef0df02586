"""A point that is named twice would count twice: repeated seeds and ratios are refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from cubeyard.engine import Engine, PlanRejectedError
from cubeyard.experiments.question import MAX_LINK_GBPS, ExperimentCreate
from cubeyard.experiments.rows import row_of
from cubeyard.experiments.short import MAX_SEED
from tests.conftest import SMALL

ASKED = {"plan": SMALL, "workload": {"kind": "all-to-all"}}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"seeds": [7, 7]}, "a seed is given twice"),
        ({"axes": {"seeds": [1, 2, 1]}}, "a seed is given twice"),
        ({"axes": {"failure": {"kind": "switch", "ratios": [0.1, 0.1, 0.3]}}}, "a ratio is given twice"),
        ({"axes": {"failure": {"kind": "switch", "ratios": [-0.0, 0]}}}, "a ratio is given twice"),
        ({"axes": {"failure": {"kind": "switch", "ratios": [0.1 + 0.2, 0.3]}}}, "a ratio is given twice"),
        (
            {"axes": {"failure": [{"kind": "link", "ratios": [0.1]}, {"kind": "link", "ratios": [0.2, 0.1]}]}},
            "a ratio of one kind is given twice",
        ),
        ({"seeds": [MAX_SEED + 1]}, str(MAX_SEED)),
    ],
)
def test_what_would_count_twice_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        ExperimentCreate.model_validate({**ASKED, **fields})


def test_ratios_have_no_noise_of_binary_fractions() -> None:
    axes = {"failure": {"kind": "switch", "ratios": [-0.0, 0.1, 0.1 + 0.2, 1 / 3]}}
    made = ExperimentCreate.model_validate({**ASKED, "axes": axes})
    assert made.axes is not None
    assert made.axes.failure is not None
    assert str(made.axes.failure[0].ratios) == "[0.0, 0.1, 0.3, 0.3333333333333333]"


def test_the_rate_of_links_has_one_limit(engine: Engine) -> None:
    ExperimentCreate.model_validate({**ASKED, "link_gbps": MAX_LINK_GBPS})
    engine.predict_json(SMALL, {"workload": {"kind": "permutation"}, "link_gbps": MAX_LINK_GBPS})
    with pytest.raises(ValidationError):
        ExperimentCreate.model_validate({**ASKED, "link_gbps": MAX_LINK_GBPS * 1.01})
    with pytest.raises(PlanRejectedError):
        engine.predict_json(SMALL, {"workload": {"kind": "permutation"}, "link_gbps": MAX_LINK_GBPS * 1.01})


def test_a_point_without_a_flow_has_no_path_length_in_its_row() -> None:
    result = {"flows": 0, "path_hops": {"mean": 0.0, "max": 0}}
    point = {"topology": 0, "result": result}
    assert row_of(point, ["BCube"])["path_hops_mean"] is row_of(point, ["BCube"])["path_hops_max"] is None
    assert row_of({**point, "result": {**result, "flows": 1}}, ["BCube"])["path_hops_mean"] == 0.0
