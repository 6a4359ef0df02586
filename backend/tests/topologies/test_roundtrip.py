"""A plan that is exported comes back with the same devices, links and rates."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cubeyard.engine import Engine
from cubeyard.exports import render
from cubeyard.exports.interfaces import interfaces
from cubeyard.exports.tables import PlanTables
from cubeyard.plans.view import PlanView
from cubeyard.settings import Settings
from cubeyard.topologies import names
from tests.conftest import examples, some
from tests.exports import plans
from tests.topologies.files import imported, links, roles

FORMATS = {
    "graphml": "x.graphml",
    "containerlab": "x.clab.yml",
    "csv": "x.csv",
    "dot": "x.dot",
    "containerlab-rates": "r.csv",
}


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(Settings())


def expected(plan: PlanView, format: str) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """The plan's links as a spec would have them."""
    tables = PlanTables(plan)
    ports = interfaces(tables) if format in ("containerlab", "dot") else (plan.a_port_names, plan.b_port_names)
    ends = zip(plan.cables["a_device"].tolist(), ports[0], plan.cables["b_device"].tolist(), ports[1], strict=True)
    result = (
        sorted(((tables.hosts[a], names.port(a_port)), (tables.hosts[b], names.port(b_port))))
        for a, a_port, b, b_port in ends
    )
    return sorted((a, b) for a, b in result)


def check(plan: PlanView, format: str) -> None:
    result = imported(b"".join(render(format, plan)), FORMATS[format])
    assert links(result.spec) == expected(plan, format)
    kinds = plan.scene["devices"]["kind"]
    assert roles(result.spec) == {
        host: "switch" if kind else "server" for host, kind in zip(plan.host_names, kinds, strict=True)
    }
    assert result.findings == []
    if format != "csv":
        rates = sorted(rate for item in result.rates for rate in [item.gbps] * item.links)
        assert rates == pytest.approx(sorted(plan.gbps.tolist()))
        assert all(rate.told for rate in result.rates)
    if format == "graphml":
        tiers = {node["name"]: node.get("tier") for node in result.spec["nodes"]}
        levels = plan.scene["devices"]["level"]
        assert tiers == {
            host: None if level < 0 else level for host, level in zip(plan.host_names, levels, strict=True)
        }


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", some(plans.SMALL, 5))
def test_a_plan_s_export_comes_back(engine: Engine, name: str, format: str) -> None:
    spec, book = plans.SPECS[name]
    check(plans.compute(engine, spec, book), format)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=plans.small_specs(), format=st.sampled_from(list(FORMATS)), prefix=st.sampled_from(["", "dc1", "s2"]))
def test_so_does_every_plan_s(engine: Engine, spec: plans.Json, format: str, prefix: str) -> None:
    whole = {"topology": spec, **({"site": {"host_prefix": prefix}} if prefix else {})}
    check(plans.compute(engine, whole, "current-2026"), format)
