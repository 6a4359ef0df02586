"""Real plans, computed by the real engine, that the export tests print."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

from cubeyard.engine import Engine
from cubeyard.exports import ExportOptions, render
from cubeyard.plans.view import PlanView

Json = dict[str, Any]

SPECS: dict[str, tuple[Json, str]] = {
    # The paper's container, with the paper's parts: no cable has a price.
    "paper": ({"family": "bcube", "n": 8, "k": 3, "servers": 2048}, "paper-2009"),
    # The same, priced.
    "priced": ({"family": "bcube", "n": 8, "k": 3, "servers": 2048}, "current-2026"),
    # A quarter of it: all of its kinds of device and cable, where the size is not the subject.
    "cube-2009": ({"family": "bcube", "n": 8, "k": 3, "servers": 512}, "paper-2009"),
    "cube": ({"family": "bcube", "n": 8, "k": 3, "servers": 512}, "current-2026"),
    "dcell": ({"family": "dcell", "n": 4, "k": 1}, "current-2026"),
    # No switches; port names x+ and x-; two parallel links along an axis of two.
    "torus": ({"family": "torus3d", "x": 4, "y": 3, "z": 2}, "current-2026"),
    # Rows instead of a container, full-width switches, 10 and 40 Gb/s, several media, several
    # rates.
    "subways": (
        {"family": "subways", "type": 1, "p": 2, "q": 30, "l": 12, "c": 1, "clusters": 2},
        "current-2026",
    ),
    # Type 0: the p links of a server go to one ToR, so there are parallel cables.
    "trunks": ({"family": "subways", "type": 0, "p": 2, "q": 8, "l": 4, "c": 1, "clusters": 1}, "current-2026"),
    "fat-tree": ({"family": "fat_tree", "ports": 8, "layers": 3}, "current-2026"),
    # Two links between the same switches, 10 and 40 Gb/s.
    "leaf-spine": (
        {"family": "leaf_spine", "leaves": 4, "spines": 2, "servers_per_leaf": 6, "uplinks_per_spine": 2},
        "current-2026",
    ),
    # Three tiers in two pods.
    "pods": (
        {"family": "leaf_spine", "leaves": 3, "spines": 2, "servers_per_leaf": 4, "super_spines": 2, "pods": 2},
        "current-2026",
    ),
    "torus2d": ({"family": "torus2d", "x": 6, "y": 4}, "current-2026"),
    "jellyfish": ({"family": "jellyfish", "switches": 20, "ports": 12, "servers_per_switch": 6}, "current-2026"),
    "dragonfly": ({"family": "dragonfly", "a": 4, "p": 2, "h": 2}, "current-2026"),
    # Names and ports of the user's, a trunk, a server with two links.
    "custom": (
        {
            "family": "custom",
            "nodes": [
                {"name": "leaf-1", "role": "switch"},
                {"name": "leaf-2", "role": "switch"},
                {"name": "spine-1", "role": "switch"},
                {"name": "web-1", "role": "server"},
                {"name": "web-2", "role": "server"},
                {"name": "db-1", "role": "server"},
            ],
            "links": [
                {"a": "web-1", "b": "leaf-1", "a_port": "ens1f0", "b_port": "Ethernet1/1"},
                {"a": "web-2", "b": "leaf-2", "gbps": 25},
                {"a": "db-1", "b": "leaf-1"},
                {"a": "leaf-2", "b": "db-1"},
                {"a": "leaf-1", "b": "spine-1", "gbps": 40},
                {"a": "leaf-1", "b": "spine-1", "gbps": 40},
                {"a": "spine-1", "b": "leaf-2", "gbps": 40},
            ],
        },
        "current-2026",
    ),
    # No part of the book fits the switches or the cables.
    "partless": (
        {"topology": {"family": "tree", "edge_ports": 60, "servers": 200}, "cabling": {"link_gbps": 800}},
        "paper-2009",
    ),
}
CLOS = ("fat-tree",)
"""The plans among `SPECS` that htsim's fat-tree file can describe; for others it is refused."""
SMALL = tuple(name for name in SPECS if name not in ("paper", "priced", "cube", "cube-2009"))


def takes(format: str, name: str) -> bool:
    """Whether the plan `name` can be written in a format."""
    return format != "htsim" or name in CLOS


def compares(format: str, name: str) -> bool:
    """Whether the format is made twice of the plan `name` to compare its bytes. One pack is enough:
    it takes seconds."""
    return takes(format, name) and (format != "pdf" or name == "dcell")


def book(engine: Engine, name: str) -> Json:
    return next(item for item in engine.builtin_books if item["book"] == name)


def compute(engine: Engine, spec: Json, book_name: str, name: str | None = None) -> PlanView:
    return PlanView.of(engine.plan(spec, book(engine, book_name)), name)


def printed(engine: Engine, name: str, paper: str, **options: Any) -> tuple[PlanView, bytes]:
    """A plan of `SPECS` on a paper, and its install pack."""
    spec, book_name = SPECS[name]
    whole = dict(spec) if "topology" in spec else {"topology": spec}
    view = compute(engine, {**whole, "site": {"paper": paper}}, book_name)
    return view, b"".join(render("pdf", view, None, ExportOptions(**options)))


def hostile_book(engine: Engine) -> Json:
    """A price book whose names try to run in a spreadsheet, break out of XML and of YAML, and climb
    out of a zip."""
    hostile = copy.deepcopy(book(engine, "current-2026"))
    names = (
        '=HYPERLINK("http://evil","x")', "+1+1", "-2", "@SUM(A1)", "<b>&\"'</b>", "../../etc/passwd",
        "\u0007bell", "a\nb", '"quoted", with comma', "\tTab", "\u202eright to left",
    )  # fmt: skip
    for i, part in enumerate(hostile["parts"]):
        part["name"] = names[i % len(names)]
        part["manufacturer"] = names[(i + 3) % len(names)]
    return hostile


HOSTILE_NAME = "=cmd|' /C calc'!A0 ${HOME} ../..\\x\"<b>&\n$(HOME)"


@st.composite
def _subways(draw: st.DrawFn) -> Json:
    ports = draw(st.integers(1, 3))
    loop = draw(st.integers(max(ports, 2), 6))
    return {
        "family": "subways", "type": draw(st.sampled_from([0, 1])), "p": ports, "q": ports * draw(st.integers(1, 6)),
        "l": loop, "c": 1, "clusters": draw(st.integers(1, 2)),
    }  # fmt: skip


def _of(family: str, **parameters: st.SearchStrategy[int]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({"family": st.just(family), **parameters})


@st.composite
def _custom(draw: st.DrawFn) -> Json:
    switches, servers = draw(st.integers(1, 8)), draw(st.integers(1, 40))
    names = [f"sw-{i}" for i in range(switches)]
    links = [{"a": names[i], "b": names[draw(st.integers(0, i - 1))], "gbps": 40} for i in range(1, switches)]
    links += [{"a": f"srv-{i}", "b": draw(st.sampled_from(names))} for i in range(servers)]
    nodes = [{"name": name, "role": "switch"} for name in names]
    nodes += [{"name": f"srv-{i}", "role": "server"} for i in range(servers)]
    return {"family": "custom", "nodes": nodes, "links": links}


_side = st.integers(2, 5)
RANDOM: dict[str, st.SearchStrategy[Json]] = {
    "bcube": _of("bcube", n=st.integers(2, 6), k=st.integers(0, 2)),
    "dcell": _of("dcell", n=st.integers(2, 6), k=st.integers(0, 1)),
    "torus3d": _of("torus3d", x=_side, y=_side, z=_side),
    "subways": _subways(),
    "fat_tree": _of("fat_tree", ports=st.sampled_from([2, 4, 6]), layers=st.integers(2, 3)),
    "tree": _of("tree", edge_ports=st.integers(1, 48), servers=st.integers(1, 300)),
    "leaf_spine": _of(
        "leaf_spine",
        leaves=st.integers(1, 8),
        spines=st.integers(1, 4),
        servers_per_leaf=st.integers(1, 32),
        uplinks_per_spine=st.integers(1, 2),
    ),
    "torus2d": _of("torus2d", x=_side, y=_side),
    "jellyfish": _of(
        "jellyfish",
        switches=st.integers(10, 30),
        ports=st.integers(12, 18),
        servers_per_switch=st.integers(9, 10),
        seed=st.integers(0, 1000),
    ),
    "dragonfly": _of("dragonfly", a=st.integers(2, 4), p=st.integers(1, 4), h=st.integers(1, 2)),
    "custom": _custom(),
}
"""Random specs of every family, a few dozen to a few hundred devices."""


def small_specs() -> st.SearchStrategy[Json]:
    """Generates one of `RANDOM`."""
    return st.one_of(*RANDOM.values())
