"""Families, price books, plans and their topologies, and the plans computed lately."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from cubeyard.built_plan import BuiltPlan, Json, as_bytes
from cubeyard.engine.call import Calls, as_text, binding, calling, canonical, content_hash, size_of
from cubeyard.settings import Settings

if TYPE_CHECKING:
    from cubeyard.kit.metrics import Metrics


class Plans(Calls):
    def __init__(self, settings: Settings, metrics: Metrics | None = None) -> None:
        super().__init__(settings, metrics)
        self._plans: OrderedDict[tuple[str, str], BuiltPlan] = OrderedDict()
        self._by_hash: dict[str, tuple[str, str]] = {}
        self._building: dict[tuple[str, str], threading.Lock] = {}
        self._mutex = threading.Lock()

    @cached_property
    def families(self) -> list[Json]:
        """The topology families, each with the routing schemes that serve it, its paper's own
        first."""
        families = orjson.loads(binding().families_json())
        return [{**family, "routings": self.routings(family["example"])} for family in families]

    @cached_property
    def plan_schema(self) -> Json:
        return orjson.loads(binding().plan_schema_json())

    @cached_property
    def builtin_books(self) -> list[Json]:
        return [orjson.loads(text) for text in binding().builtin_books()]

    def check_book(self, book: Mapping[str, Any]) -> None:
        """Raise with findings if the engine could not plan with this price book."""
        with calling():
            binding().check_book(as_text(book))

    def size(self, spec: Mapping[str, Any]) -> Json:
        """`{servers, switches, nodes, links}` of a spec, without building it: microseconds. Raises
        PlanRejectedError."""
        return size_of(canonical(spec))

    def topology(self, spec: Mapping[str, Any]) -> Any:
        """The binding's topology object, for streaming its links; no size limit, the command line
        may take its time."""
        with self._call("topology"):
            return binding().build_topology(as_text(spec))

    def plan(self, spec: Mapping[str, Any], book: Mapping[str, Any], book_hash: str | None = None) -> BuiltPlan:
        """The plan of a spec with a price book; from the cache, or computed now (by one thread,
        however many ask)."""
        text = canonical(spec)
        key = (hashlib.sha256(text).hexdigest(), book_hash or content_hash(book))
        with self._mutex:
            result = self._plans.get(key)
            if result is not None:
                self._plans.move_to_end(key)
                self._metrics.plan_cache.labels("hit").inc()
                return result
            building = self._building.setdefault(key, threading.Lock())
        with building:
            with self._mutex:
                result = self._plans.get(key)
            if result is not None:
                self._metrics.plan_cache.labels("shared").inc()
                return result
            self._metrics.plan_cache.labels("miss").inc()
            try:
                self.refuse_oversize(text)
                with self._call("plan"):
                    built = BuiltPlan(binding().build_plan(text.decode(), as_text(book)), book)
                self._remember(key, built)
            finally:
                with self._mutex:
                    self._building.pop(key, None)
            return built

    def remembered(self, plan_hash: str) -> BuiltPlan | None:
        """A plan computed lately, by its hash."""
        with self._mutex:
            key = self._by_hash.get(plan_hash)
            return self._plans.get(key) if key is not None else None

    def _remember(self, key: tuple[str, str], built: BuiltPlan) -> None:
        with self._mutex:
            self._plans[key] = built
            self._by_hash[built.plan_hash] = key
            while len(self._plans) > 1 and (
                len(self._plans) > self._settings.plan_cache_entries
                or sum(plan.link_count for plan in self._plans.values()) > self._settings.plan_cache_links
            ):
                _, dropped = self._plans.popitem(last=False)
                self._by_hash.pop(dropped.plan_hash, None)
            self._metrics.plan_cache_entries.set(len(self._plans))

    def work_order_json(self, before: BuiltPlan, after: BuiltPlan) -> bytes:
        """What turns the one plan's cabling into the other's."""
        with self._call("diff"):
            return as_bytes(binding().diff_plans(before.raw, after.raw))

    def paths_between(
        self, spec: Mapping[str, Any], source: str, destination: str, without: Sequence[str] = ()
    ) -> Json:
        """The most paths of two servers, by name, that share no device, and of these the shortest
        in all: `{source, destination, without, reason, paths: [{links, devices}]}`. `links` are
        numbers of cables, `devices` names with both ends. `without` names servers, switches, racks
        and links (`a/b`) to take away first; `reason` is `source-failed`, `destination-failed` or
        `no-path` where nothing is left, else None. Raises PlanRejectedError for a name that is not
        there.
        """
        self.refuse_oversize(canonical(spec))
        with self._call("paths"):
            return orjson.loads(binding().paths_between(as_text(spec), source, destination, list(without)))

    def routings(self, spec: Mapping[str, Any]) -> list[Json]:
        """The routing schemes that serve a plan, its paper's own first: name and summary."""
        with calling():
            return orjson.loads(binding().routings_json(as_text(spec)))
