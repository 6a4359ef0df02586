"""The network's mathematics, as the rest of the backend sees it. The only importer of the binding.

Calls release the GIL and run on the caller's thread, a few at a time: `Engine` hands out turns,
remembers the plans computed lately, and refuses what would be too large to answer in time.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from cubeyard.built_plan import BuiltPlan, Json, as_bytes
from cubeyard.kit.digests import own_digest
from cubeyard.kit.engine_words import findings_in_words
from cubeyard.kit.errors import ProblemError
from cubeyard.kit.json_text import MAX_INTEGER
from cubeyard.kit.uncounted import Uncounted
from cubeyard.settings import Settings

if TYPE_CHECKING:
    from cubeyard.kit.metrics import Metrics

ChipServer = tuple[Mapping[str, Any], str | None]
"""A BCube and one of its servers, the first if none is named: a chip's program is executed for
it."""
OnProgress = Callable[[int, int], object]
"""Called with units of work done and in all (0: not yet known); `False` cancels."""
OnPartial = Callable[[str], object]
"""Called with a JSON document: a frame, or a partial result."""


class CancelledError(Exception):
    """The work was cancelled by its progress callback."""


class PlanRejectedError(ProblemError):
    """The engine cannot plan this; its findings say what to change."""

    def __init__(self, findings: list[Json], *, code: str = "impossible-plan") -> None:
        errors = [finding for finding in findings if finding.get("severity") == "error"] or findings
        first = errors[0] if errors else {"where": "spec", "message": "The plan is not possible."}
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        super().__init__(422, code, f"{first['where']}: {first['message']}{more}", findings=findings)


def canonical(value: object) -> bytes:
    """JSON bytes that are equal for equal values: sorted keys, no white space."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER)
    except TypeError as error:  # an integer beyond 53 bits, or text that is not Unicode
        raise PlanRejectedError(
            [
                finding(
                    "not-json",
                    "spec",
                    f"The spec cannot be written as JSON: {error}.",
                    f"Use whole numbers up to {MAX_INTEGER} and plain text.",
                )
            ]
        ) from error


def content_hash(value: object) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


def finding(code: str, where: str, message: str, hint: str) -> Json:
    """An error finding of the backend's own."""
    return {"severity": "error", "code": code, "where": where, "message": message, "hint": hint, "fix": None}


def binding_build() -> str:
    """Version and digest of the Rust sources: fabrics are called only by their own build."""
    return str(_binding().engine_build())


class Engine:
    """Turns at the engine, and the plans it computed lately."""

    def __init__(self, settings: Settings, metrics: Metrics | None = None) -> None:
        self._settings = settings
        self._metrics = metrics or Uncounted()
        self._turns = threading.BoundedSemaphore(settings.engine_concurrency)
        # Predictions take seconds, plans milliseconds: a plan never waits until predictions are
        # over.
        self._long_turns = threading.BoundedSemaphore(max(1, settings.engine_concurrency - 1))
        self._plans: OrderedDict[tuple[str, str], BuiltPlan] = OrderedDict()
        self._by_hash: dict[str, tuple[str, str]] = {}
        self._building: dict[tuple[str, str], threading.Lock] = {}
        self._mutex = threading.Lock()

    @property
    def version(self) -> str:
        return str(_binding().engine_version())

    @property
    def build_version(self) -> str:
        """Version and digests of the binding's sources and of this package's: all points of a run
        come from the same build."""
        return f"{binding_build()}.{own_digest()}"

    @property
    def hosts(self) -> int:
        """How many machines emulations are spread over by the settings, at most; 0 for this one
        alone."""
        return self._settings.most_hosts

    @property
    def image_registries(self) -> frozenset[str] | None:
        """Where images of users may come from; None where emulations may have none."""
        return self._settings.registries if self._settings.user_images else None

    @cached_property
    def families(self) -> list[Json]:
        """The topology families, each with the routing schemes that serve it, its paper's own
        first."""
        families = orjson.loads(_binding().families_json())
        return [{**family, "routings": self.routings(family["example"])} for family in families]

    @cached_property
    def plan_schema(self) -> Json:
        return orjson.loads(_binding().plan_schema_json())

    @cached_property
    def builtin_books(self) -> list[Json]:
        return [orjson.loads(text) for text in _binding().builtin_books()]

    @cached_property
    def fault_kinds(self) -> list[Json]:
        """The catalogue of fault kinds, in the order of menus. `carries`: the target still carries
        packets (it is degraded, it has not failed); `process`: `ends` or `pauses` the server's
        process; `stands_for`: the exact kinds of a general one."""
        return fault_kinds()

    def emulation_network(self, spec: Mapping[str, Any], slice: Mapping[str, Any] | None = None) -> Json:
        """The network that is emulated: the plan's topology, or the slice `{servers: [names]}` or
        `{within: name, k}` of it.
        `{servers: [{id, name, host, address, digits}], switches: [{id, name, host, level, digits}], links: [{id, a: [node, port], b: [node, port], level, rate_ratio}], outside: [names], whole, picture, slowest_bits_per_sec}`;
        ids are the whole plan's, `picture` says how a diagram arranges nodes by their digits,
        `rate_ratio` how many times faster than the slowest link one is. Raises PlanRejectedError:
        findings with `where` (`slice.servers.0`, `slice.within`, `slice`, or a field of the plan),
        `value`, `limit`, `message` and `hint`.
        """
        text = None if slice is None else canonical(slice).decode()
        with self._turn("emulation_network"), _findings():
            return orjson.loads(_binding().emulation_network(canonical(spec).decode(), text))

    def emulation_profile(self, spec: Mapping[str, Any]) -> Json:
        """What can be emulated of a topology and how: its protocols with their forwardings, header
        bytes, settings and services.

        `{family, supported, refusal, default_protocol, protocols, transports, slice, addresses, max_servers}`;
        `refusal` is null, or `{field, value, limit, message, hint}`. Raises PlanRejectedError for a
        spec that is not valid.
        """
        with self._turn("emulation_profile"), _findings():
            return orjson.loads(_binding().emulation_profile(canonical(spec).decode()))

    def service_module(self, module: bytes) -> bytes:
        """A module that can be a service, in WebAssembly's binary format, from one or from the text
        format.

        Raises PlanRejectedError with what is wrong with it.
        """
        with self._turn("service_module"), _findings():
            return _binding().service_module(module)

    def service_limits(self) -> Json:
        """Of services that users write:
        `{module_bytes, services, first_id, last_id, max_servers, max_secs}`, the last two of a
        trial."""
        return orjson.loads(_binding().service_limits())

    def service_trial(self, module: bytes, options: Mapping[str, Any], on_progress: OnProgress | None = None) -> Json:
        """A module on every server of a torus in virtual time: what was delivered over how many
        hops, calls, fuel, and what was lost.

        `options`: `{size: [x, y, z], secs, message, rate_bits_per_sec, seed}`. Takes a turn among
        the long ones where it is watched. Raises PlanRejectedError, CancelledError.
        """
        with self._turn("service_trial", self._long_turns if on_progress else None), _findings():
            return orjson.loads(_binding().service_trial(module, canonical(options).decode(), on_progress))

    def built_in_trial(self, name: str, options: Mapping[str, Any], on_progress: OnProgress | None = None) -> Json:
        """The same of one of the services that every server of a run hosts, by its name. Raises
        PlanRejectedError, CancelledError."""
        with self._turn("built_in_trial", self._long_turns if on_progress else None), _findings():
            return orjson.loads(_binding().built_in_trial(name, canonical(options).decode(), on_progress))

    def service_process_trial(self, answer: Callable[[bytes], bytes], options: Mapping[str, Any]) -> Json:
        """The same of a service in a process: `answer` gives what it answers to a call. Raises what
        that does, and PlanRejectedError."""
        with self._turn("service_process_trial"), _findings():
            return orjson.loads(_binding().service_process_trial(answer, canonical(options).decode()))

    def chip_program(self, program: str, at: ChipServer | None = None) -> Json:
        """A program of the switching chip, from text or JSON, for a server if one is named:
        `{profile, udlks: [{i, fields, bytes}], tables: {name: {entries, size}}, vifs, never_matched: [{i, above}], text, document}`,
        the last two canonical. Raises PlanRejectedError: findings with `line` and `column` in the
        text, 0 where they have none."""
        with self._turn("chip_program"), _findings():
            return orjson.loads(_binding().chip_program(program, *_server(at)))

    def chip_check_servers(self, spec: Mapping[str, Any], ids: Sequence[int], program: str, *, in_kernel: bool) -> None:
        """Whether servers of a BCube, by id, can run a program that they share, with neighbours
        alive and dead. O(servers x what the program executes). Raises PlanRejectedError: findings
        with `line` and `column`."""
        with self._turn("chip_check_servers"), _findings():
            _binding().chip_check_servers(canonical(spec).decode(), list(ids), program, in_kernel)

    def chip_diff(self, before: str, after: str) -> list[Json]:
        """What differs between two programs: `[{what, before?, after?}]`. Raises
        PlanRejectedError."""
        with self._turn("chip_diff"), _findings():
            return orjson.loads(_binding().chip_diff(before, after))

    def chip_trace(self, program: str, in_port: int, packet: str, at: ChipServer | None = None) -> Json:
        """The steps of a packet, in hexadecimal digits, that comes into a chip by a port from 0
        to 7. Raises PlanRejectedError."""
        with self._turn("chip_trace"), _findings():
            return orjson.loads(_binding().chip_trace(program, in_port, packet, *_server(at)))

    def chip_bcube(self, spec: Mapping[str, Any], server: str | None = None) -> str:
        """The paper's BCube program as text: for one server, or the text that all servers share.
        Raises PlanRejectedError."""
        with self._turn("chip_bcube"), _findings():
            return _binding().chip_bcube(canonical(spec).decode(), server)

    def chip_walk(self, spec: Mapping[str, Any], source: str, destination: str, path: int) -> Json:
        """A packet through the chips of a BCube's servers, over one of their parallel paths:
        `{paths, path, visits: [{server, name, trace}], arrived}`. Raises PlanRejectedError."""
        with self._turn("chip_walk"), _findings():
            return orjson.loads(_binding().chip_walk(canonical(spec).decode(), source, destination, path))

    def chip_portland(self, source: str, destination: str, source_port: int, failures: Sequence[str]) -> Json:
        """PortLand on the 20 chips of a fat-tree of four ports, in virtual time:
        `{from: [address, pmac], to, attempts: [{state, at_micros, visits: [{switch, at_micros, kind, trace}], arrived}], pairs}`.
        Raises PlanRejectedError."""
        with self._turn("chip_portland"), _findings():
            return orjson.loads(_binding().chip_portland(source, destination, source_port, list(failures)))

    def check_book(self, book: Mapping[str, Any]) -> None:
        """Raise with findings if the engine could not plan with this price book."""
        with _findings():
            _binding().check_book(canonical(book).decode())

    def topology(self, spec: Mapping[str, Any]) -> Any:
        """The binding's topology object, for streaming its links; no size limit, the command line
        may take its time."""
        with self._turn("topology"), _findings():
            return _binding().build_topology(canonical(spec).decode())

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
                with self._turn("plan"), _findings():
                    built = BuiltPlan(_binding().build_plan(text.decode(), canonical(book).decode()), book)
                self._remember(key, built)
            finally:
                with self._mutex:
                    self._building.pop(key, None)
            return built

    def work_order_json(self, before: BuiltPlan, after: BuiltPlan) -> bytes:
        """What turns the one plan's cabling into the other's."""
        with self._turn("diff"), _findings():
            return as_bytes(_binding().diff_plans(before.raw, after.raw))

    @cached_property
    def engines(self) -> list[Json]:
        """The engines of the binding, by which `predict_json` and `outline_json` choose:
        `[{name, method, summary, faults, settings, form}]`."""
        return computing_engines()

    def predict_json(
        self,
        spec: Mapping[str, Any],
        experiment: Mapping[str, Any],
        on_progress: OnProgress | None = None,
        on_frame: OnPartial | None = None,
    ) -> bytes:
        """What a plan carries under an experiment, computed by the engine that
        `experiment["engine"]` names (`flow` if none).

        `on_progress(done, total)` is called while it is computed, and `False` cancels; `on_frame`
        gets every frame of the run as JSON text, in order. Takes no turn: it may run for minutes,
        on as many threads as the machine has. Raises PlanRejectedError with findings,
        CancelledError.
        """
        with _findings():
            return as_bytes(
                _binding().predict(canonical(spec).decode(), canonical(experiment).decode(), on_progress, on_frame)
            )

    def outline_json(self, spec: Mapping[str, Any], experiment: Mapping[str, Any]) -> bytes:
        """What an experiment's first seed would run, checked but not computed:
        `{routing, flows, failed, keeps_paths}`. Raises as `predict_json`."""
        self.refuse_oversize(canonical(spec))
        with self._turn("outline"), _findings():
            return as_bytes(_binding().outline(canonical(spec).decode(), canonical(experiment).decode()))

    def predict_in_turn(
        self, spec: Mapping[str, Any], experiment: Mapping[str, Any], on_progress: OnProgress | None = None
    ) -> bytes:
        """The same for a request: it waits for its turn among the predictions, and is refused when
        its plan is too large. `on_progress(0, 0)` is called when the turn has come."""
        self.refuse_oversize(canonical(spec))
        with self._turn("predict", self._long_turns):
            if on_progress is not None and not on_progress(0, 0):
                raise CancelledError
            return self.predict_json(spec, experiment, on_progress)

    @cached_property
    def search_metrics(self) -> list[Json]:
        """The metrics of plans: `[{name, title, unit, units, stage, more, doc}]`."""
        return orjson.loads(_binding().search_metrics())

    def check_search(self, question: Mapping[str, Any], book: Mapping[str, Any]) -> None:
        """Raises PlanRejectedError with what is wrong with a question about plans of a price
        book."""
        with _findings():
            _binding().check_search(canonical(question).decode(), canonical(book).decode())

    def search(
        self,
        question: Mapping[str, Any],
        book: Mapping[str, Any],
        on_frame: OnPartial | None = None,
        on_progress: OnProgress | None = None,
    ) -> Json:
        """The front of a question on all cores: seconds to minutes. `on_frame` gets every frame as
        JSON text, in order; `on_progress` is called all the time, and `False` cancels. Takes a turn
        among the long ones. Raises PlanRejectedError with findings, CancelledError."""
        with self._turn("search", self._long_turns), _findings():
            return orjson.loads(
                _binding().search(canonical(question).decode(), canonical(book).decode(), on_progress, on_frame)
            )

    def lifecycle(self, plan: BuiltPlan, before: BuiltPlan | None = None) -> Json:
        """How hard a plan's wiring is to put up, and to reach from another one:
        `{deployment, expansion}`, the latter may be None."""
        with self._turn("lifecycle"):
            return orjson.loads(_binding().lifecycle(plan.raw, before and before.raw))

    @cached_property
    def failure_rates(self) -> list[Json]:
        """How often parts fail:
        `[{part, title, unit, afr, basis, confidence, date, source, note}]`."""
        return orjson.loads(_binding().failure_rates())

    def check_life(self, question: Mapping[str, Any], book: Mapping[str, Any]) -> None:
        """Raises PlanRejectedError with what is wrong with a question about a plan's life, or with
        the plan."""
        self.refuse_oversize(canonical(question["plan"]))
        with _findings():
            _binding().check_life(canonical(question).decode(), canonical(book).decode())

    def life(
        self,
        question: Mapping[str, Any],
        book: Mapping[str, Any],
        on_frame: OnPartial | None = None,
        on_progress: OnProgress | None = None,
    ) -> Json:
        """Years of failures and repairs of a plan on all cores: up to a minute. `on_frame` gets
        every frame as JSON text, in order; `on_progress`'s `False` cancels. Takes a turn among the
        long ones where it is watched. Raises PlanRejectedError, CancelledError."""
        with self._turn("life", self._long_turns), _findings():
            request = canonical(question).decode(), canonical(book).decode()
            return orjson.loads(_binding().life(*request, on_progress, on_frame))

    def fault_targets(self, spec: Mapping[str, Any], faults: list[Json], seed: int) -> list[Json]:
        """What each fault strikes, drawn as a prediction draws: `{nodes, links}` by id."""
        with _findings():
            return orjson.loads(_binding().fault_targets(canonical(spec).decode(), canonical(faults).decode(), seed))

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
        with self._turn("paths"), _findings():
            return orjson.loads(_binding().paths_between(canonical(spec).decode(), source, destination, list(without)))

    def torus_services(self, spec: Mapping[str, Any], asked: Json) -> Json:
        """What the models say of a torus's services, of the size that a measured figure has. Raises
        PlanRejectedError."""
        with self._turn("figure", self._long_turns), _findings():
            return orjson.loads(_binding().torus_services(canonical(spec).decode(), canonical(asked).decode()))

    def dfr_hops(
        self, spec: Mapping[str, Any], nodes: list[int], links: list[int], group_level: int, retries: int
    ) -> list[list[int | None]]:
        """The hops of every pair of a DCell's servers by DFR's tables, where these nodes and links
        have failed, by number; None where there is no path. Raises PlanRejectedError."""
        with self._turn("figure", self._long_turns), _findings():
            return _binding().dfr_hops(canonical(spec).decode(), nodes, links, group_level, retries)

    def spanning_trees(self, spec: Mapping[str, Any], source: str) -> list[list[tuple[int, int]]]:
        """A BCube's edge-disjoint spanning trees from a server: parents and children by id, parents
        first."""
        with _findings():
            return orjson.loads(_binding().spanning_trees(canonical(spec).decode(), source))

    def rates_over_paths(self, spec: Mapping[str, Any], paths: list[list[int]], link_gbps: float) -> list[float]:
        """The max-min fair rate of every flow in Gb/s, over its own path of server ids, both ends
        included; an empty path carries nothing. `link_gbps` is the slowest link's rate. Raises
        PlanRejectedError for servers that follow each other and share no link and no switch."""
        with _findings():
            return _binding().rates_over_paths(canonical(spec).decode(), paths, link_gbps)

    def requests_of(self, spec: Mapping[str, Any], workload: Mapping[str, Any], seed: int) -> Json:
        """Who asks whom in a workload of requests, without its `kind`:
        `{clients: [{server, asks, seed}], request_bytes, response_bytes}`, ids. Raises
        PlanRejectedError with findings."""
        with _findings():
            return orjson.loads(_binding().requests_of(canonical(spec).decode(), canonical(workload).decode(), seed))

    def requests_answered(self, spec: Mapping[str, Any], experiment: Mapping[str, Any], from_secs: float) -> Json:
        """What becomes of an experiment's requests in the packet engine, of those that start at
        `from_secs` or later: `{requests, answered, mean_secs}`. Takes seconds where there are some
        hundred thousand. Raises PlanRejectedError with findings."""
        with self._turn("figure", self._long_turns), _findings():
            return orjson.loads(
                _binding().requests_answered(canonical(spec).decode(), canonical(experiment).decode(), from_secs)
            )

    def routed_flows(self, spec: Mapping[str, Any], run: Mapping[str, Any]) -> tuple[list[list[int]], list[float]]:
        """Of an emulation's flows through routers: the ids of the nodes of each one's path, and its
        max-min fair rate over these paths in Gb/s. A flow without a path has an empty one and the
        rate 0.

        `run`:
        `{slice, faults, seed, balance, link_gbps, protocol, flows: [[number, source, destination]]}`;
        `link_gbps` is the slowest link's rate, `protocol` IP's number. With `subflows` (0 for the
        default) flows are MPTCP: the path is that of the first subflow, the rate that of all.
        Raises PlanRejectedError with findings.
        """
        with _findings():
            result = orjson.loads(_binding().routed_flows(canonical(spec).decode(), canonical(run).decode()))
        return result["paths"], result["gbps"]

    def routings(self, spec: Mapping[str, Any]) -> list[Json]:
        """The routing schemes that serve a plan, its paper's own first: name and summary."""
        with _findings():
            return orjson.loads(_binding().routings_json(canonical(spec).decode()))

    @cached_property
    def figures(self) -> list[Json]:
        """The published figures: id, title, source, and of how many equal parts of the paper's data
        one is simulated."""
        return orjson.loads(_binding().figures_json())

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
        with _findings():
            return as_bytes(_binding().figure(figure_id, seeds, whole, on_progress, on_partial, torus_side))

    def remembered(self, plan_hash: str) -> BuiltPlan | None:
        """A plan computed lately, by its hash."""
        with self._mutex:
            key = self._by_hash.get(plan_hash)
            return self._plans.get(key) if key is not None else None

    def size(self, spec: Mapping[str, Any]) -> Json:
        """`{servers, switches, nodes, links}` of a spec, without building it: microseconds. Raises
        PlanRejectedError."""
        return _size(canonical(spec))

    def refuse_oversize(self, spec_text: bytes) -> None:
        """Raise, with an estimate, if the plan would have more links than the limit. Costs
        microseconds."""
        estimate = _size(spec_text)
        links = int(estimate["links"])
        if links <= self._settings.max_links:
            return
        message = (
            f"The plan would have about {links:,} links and {int(estimate['servers']):,} servers; "
            f"the limit here is {self._settings.max_links:,} links."
        )
        hint = "Plan a part of it, or raise CUBEYARD_MAX_LINKS. `cubeyard topology` streams the links of any size."
        raise PlanRejectedError([finding("too-large", "topology", message, hint)], code="too-large-plan")

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

    @contextmanager
    def _turn(self, operation: str, turns: threading.BoundedSemaphore | None = None) -> Iterator[None]:
        turns = self._turns if turns is None else turns
        request = time.perf_counter()
        if not turns.acquire(timeout=self._settings.engine_wait_secs):
            detail = f"Every engine turn was taken for {self._settings.engine_wait_secs:g} s. Try again shortly."
            raise ProblemError(503, "busy", detail, headers={"retry-after": "2"})
        started = time.perf_counter()
        self._metrics.engine_wait_secs.observe(started - request)
        self._metrics.engine_busy.inc()
        try:
            yield
        finally:
            turns.release()
            self._metrics.engine_busy.dec()
            self._metrics.engine_secs.labels(operation).observe(time.perf_counter() - started)


def _size(spec_text: bytes) -> Json:
    with _findings():
        return orjson.loads(_binding().estimate_json(spec_text.decode()))


def computing_engines() -> list[Json]:
    """`Engine.engines`, for the types of requests, which exist before an engine does."""
    return orjson.loads(_binding().engines_json())


def fault_kinds() -> list[Json]:
    """`Engine.fault_kinds`, for the types of requests, which exist before an engine does."""
    return orjson.loads(_binding().fault_kinds())


def _binding() -> Any:
    """Imported on first use: the API's description and the migrations need no engine."""
    import cubeyard_engine

    return cubeyard_engine


@contextmanager
def _findings() -> Iterator[None]:
    """The binding's one error type, as ours."""
    try:
        yield
    except _binding().EngineError as error:
        raise PlanRejectedError(findings_in_words(error.findings_json)) from error
    except _binding().EngineCancelled as error:
        raise CancelledError from error


def chip_model(program: str) -> Any:
    """A switching chip of one's own with a program (`ChipModel` of the binding). Raises
    PlanRejectedError."""
    with _findings():
        return _binding().ChipModel(program)


def _server(at: ChipServer | None) -> tuple[str | None, ...]:
    return (canonical(at[0]).decode(), at[1]) if at else ()
