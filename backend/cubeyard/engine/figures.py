"""The published figures, and what measured ones are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import orjson

from cubeyard.built_plan import Json, as_bytes
from cubeyard.engine.call import Calls, OnPartial, OnProgress, as_text, binding, calling


class Figures(Calls):
    @cached_property
    def figures(self) -> list[Json]:
        """The published figures: id, title, source, and of how many equal parts of the paper's data
        one is simulated."""
        return orjson.loads(binding().figures_json())

    def figure_json(
        self,
        figure_id: str,
        seeds: int | None = None,
        on_progress: OnProgress | None = None,
        on_partial: OnPartial | None = None,
        *,
        whole: bool = False,
        torus_side: int | None = None,
    ) -> bytes:
        """A published figure, recomputed; `whole`: with all of the paper's data, where one of
        several parts would do; `torus_side`: a figure of a torus's services with so many servers
        along each axis, to stand beside a measured one. `on_progress` as in `predict_json`;
        `on_partial` gets what there is of a slow one so far: the same document with
        `partial: true`."""
        with calling():
            return as_bytes(binding().figure(figure_id, seeds, whole, on_progress, on_partial, torus_side))

    def torus_services(self, spec: Mapping[str, Any], asked: Json) -> Json:
        """What the models say of a torus's services, of the size that a measured figure has. Raises
        PlanRejectedError."""
        with self._call("figure", long=True):
            return orjson.loads(binding().torus_services(as_text(spec), as_text(asked)))

    def dfr_hops(
        self, spec: Mapping[str, Any], nodes: list[int], links: list[int], group_level: int, retries: int
    ) -> list[list[int | None]]:
        """The hops of every pair of a DCell's servers by DFR's tables, where these nodes and links
        have failed, by number; None where there is no path. Raises PlanRejectedError."""
        with self._call("figure", long=True):
            return binding().dfr_hops(as_text(spec), nodes, links, group_level, retries)

    def spanning_trees(self, spec: Mapping[str, Any], source: str) -> list[list[tuple[int, int]]]:
        """A BCube's edge-disjoint spanning trees from a server: parents and children by id, parents
        first."""
        with calling():
            return orjson.loads(binding().spanning_trees(as_text(spec), source))
