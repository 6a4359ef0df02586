"""Requests with real packets: their flows, the parameters of both ends, and errors by field."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from cubeyard.emulation.setup.question import Question, read
from cubeyard.engine import Engine
from cubeyard.experiments.question import ExperimentCreate
from cubeyard.kit.errors import ProblemError

Json = dict[str, Any]

SUBWAYS: Json = {
    "family": "subways", "type": 1, "p": 2, "q": 4, "l": 3, "aggs_per_cluster": 2, "server_gbps": 10, "uplink_gbps": 10,
}  # fmt: skip
BCUBE: Json = {"family": "bcube", "n": 2, "k": 1}


def asked(engine: Engine, spec: Json, workload: Json | None = None, **emulation: Any) -> Question:
    question = {
        "plan": spec,
        "workload": {"kind": "requests", **(workload or {})},
        "engine": "emulation",
        "emulation": {"mode": "namespaces", **emulation},
        "link_gbps": 0.02,
    }
    document = ExperimentCreate.model_validate(question).model_dump(mode="json")
    return read(engine, {**document, "plan": {"spec": spec}})


@pytest.mark.parametrize("spec", [BCUBE, SUBWAYS])
def test_requests_and_responses_are_flows_over_the_same_ports(engine: Engine, spec: Json) -> None:
    workload = {"rate_per_sec": 40.0, "request_bytes": 50, "response_bytes": 1500, "latency_bound_secs": 0.5}
    question = asked(engine, spec, workload, protocol="udp")
    assert question.requests is not None
    clients = len(question.network.servers) - 1
    assert len(question.flows) == 2 * clients
    reported = question.requests.for_fabric(question.settings)
    for at, flow in enumerate(reported):
        assert (flow["id"], flow["source"], flow["destination"]) == (
            at, question.flows[at].source, question.flows[at].destination,
        )  # fmt: skip
    for ask, answer in zip(reported[::2], reported[1::2], strict=True):
        assert (ask["source"], ask["destination"]) == (answer["destination"], answer["source"])
        assert (ask["requests"]["response"], answer["answers"]) == (answer["id"], ask["id"])
        asking = ask["requests"]["asking"]
        assert (asking["rate_per_sec"], asking["bound_secs"], asking["count"]) == (40.0, 0.5, None)
    assert len({flow["requests"]["asking"]["client_seed"] for flow in reported[::2]}) == clients
    # Flows carry at most their intended rate.
    carried = [rate * question.network.header_efficiency for rate in question.prediction.rates_bits_per_sec]
    assert carried == pytest.approx([40 * 50 * 8, 40 * 1500 * 8] * clients)


def test_a_response_is_predicted_on_the_path_of_the_ports_of_its_request(engine: Engine) -> None:
    question = asked(engine, SUBWAYS)
    paths = question.prediction.paths
    assert paths is not None
    for flow, path in zip(question.flows, paths, strict=True):
        assert (path[0], path[-1]) == (flow.source, flow.destination)


def test_flows_without_a_rate_have_no_expected_rate(engine: Engine) -> None:
    question = asked(engine, BCUBE, {"think_secs": 0.01, "count": 3})
    assert question.requests is not None
    assert question.requests.goodput_bits_per_sec is None
    assert question.requests.all_asked == 9


def test_a_slices_first_server_answers_all_others(engine: Engine) -> None:
    names = ["01", "10", "11"]
    question = asked(engine, BCUBE, slice={"servers": names})
    by_name = {name: id_ for id_, name in question.network.servers.items()}
    assert {flow.destination for flow in question.flows[::2]} == {by_name["01"]}


@pytest.mark.parametrize(
    ("workload", "emulation", "field"),
    [
        ({"request_bytes": 7}, {}, "body.workload.request_bytes"),
        ({"response_bytes": 7}, {}, "body.workload.response_bytes"),
        ({"request_bytes": 2000}, {"protocol": "udp", "mtu": 1500}, "body.workload.request_bytes"),
        ({"response_bytes": 100_000}, {"protocol": "udp"}, "body.workload.response_bytes"),
        ({"rate_per_sec": 40_000}, {}, "body.workload.rate_per_sec"),
        ({"clients": ["01", "01"]}, {}, "body.workload.clients"),
        ({"bytes": 5}, {}, "body.workload.bytes"),
        ({}, {"connections": 2}, "body.emulation.connections"),
        ({}, {"flow_bytes": 9}, "body.emulation.flow_bytes"),
        ({}, {"flow_bits_per_sec": 1e6}, "body.emulation.flow_bits_per_sec"),
        ({}, {"protocol": "udp", "datagram_bytes": 100}, "body.emulation.datagram_bytes"),
        ({}, {"delivery": "pipeline"}, "body.emulation.delivery"),
        ({"servers": ["00"]}, {"slice": {"servers": ["01", "10"]}}, "body.workload.servers"),
    ],
)
def test_invalid_requests_are_refused_by_field(engine: Engine, workload: Json, emulation: Json, field: str) -> None:
    with pytest.raises(ProblemError) as refused:
        asked(engine, BCUBE, workload, **emulation)
    assert refused.value.status == 422
    assert [error.field for error in refused.value.errors] == [field]


def test_workloads_that_the_packet_engine_refuses_are_refused_here_too(engine: Engine) -> None:
    for workload in ({"rate_per_sec": 0}, {"servers": ["xx"]}, {"servers": ["00"], "clients": ["00"]}, {"rates": 1}):
        with pytest.raises((ProblemError, ValidationError, ValueError)) as refused:
            asked(engine, BCUBE, workload)
        assert "workload" in str(getattr(refused.value, "findings", refused.value))


def test_udp_needs_a_rate_only_where_flows_have_none() -> None:
    base = {"plan": BCUBE, "engine": "emulation", "emulation": {"protocol": "udp"}}
    ExperimentCreate.model_validate({**base, "workload": {"kind": "requests"}})
    with pytest.raises(ValidationError, match=r"emulation\.flow_bits_per_sec: UDP sends at a rate"):
        ExperimentCreate.model_validate({**base, "workload": {"kind": "permutation"}})
