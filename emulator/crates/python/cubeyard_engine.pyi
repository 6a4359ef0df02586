"""Cubeyard's engine: topologies, layouts, wiring and bills of materials, computed.

Specs and price books go in as JSON text, documents come out as JSON text, cables as numpy columns.
Calls that compute release the GIL. The same spec and book always give the same plan.
"""

# Written by bin/binding-stub.py from the sources in src/.

from collections.abc import Callable
from typing import TypedDict, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ChipModel",
    "EngineCancelled",
    "EngineError",
    "Plan",
    "Topology",
    "build_plan",
    "build_topology",
    "built_in_trial",
    "builtin_books",
    "check_book",
    "check_life",
    "check_search",
    "chip_bcube",
    "chip_check_servers",
    "chip_diff",
    "chip_portland",
    "chip_program",
    "chip_trace",
    "chip_walk",
    "dfr_hops",
    "diff_plans",
    "emulation_network",
    "emulation_profile",
    "engine_build",
    "engine_version",
    "engines_json",
    "estimate_json",
    "failure_rates",
    "families_json",
    "fault_from_text",
    "fault_kinds",
    "fault_targets",
    "figure",
    "figures_json",
    "life",
    "lifecycle",
    "outline",
    "paths_between",
    "plan_schema_json",
    "predict",
    "rates_over_paths",
    "requests_answered",
    "requests_of",
    "routed_flows",
    "routings_json",
    "search",
    "search_metrics",
    "service_limits",
    "service_module",
    "service_process_trial",
    "service_trial",
    "spanning_trees",
    "torus_services",
]

Progress = Callable[[int, int], object]
"""Called at least every 50 ms with units of work done and in all (0: not yet known); `False`
cancels."""
Document = Callable[[str], object]
"""Called with a JSON document."""

class CableColumns(TypedDict):
    """Equally long columns; row `i` is the cable of link `start + i`, or the leg of a breakout
    cable."""

    lead: NDArray[np.uint32]
    """The first link of its cable: its own number unless a breakout cable has several."""
    leg: NDArray[np.uint8]
    """The number of this leg in its breakout cable, from 1; 0 for a cable of one link."""
    trunk: NDArray[np.uint8]
    """End that is the trunk of its breakout cable: 1 for `a`, 2 for `b`, 0 for a cable of one
    link."""
    a_device: NDArray[np.uint32]
    a_port: NDArray[np.uint16]
    b_device: NDArray[np.uint32]
    b_port: NDArray[np.uint16]
    level: NDArray[np.uint8]
    route: NDArray[np.uint8]
    length_mm: NDArray[np.uint32]
    """Along the route, without slack."""
    stock_mm: NDArray[np.uint32]
    """The length to buy or cut."""
    part: NDArray[np.uint16]
    """Row of the scene's `parts`; 65535 when no part of the book fits."""
    colour: NDArray[np.uint8]
    bundle: NDArray[np.int32]
    """-1 for a cable within one rack."""

@final
class ChipModel:
    """A chip without a run, called as programs on a server's socket call it
    (`cubeyard_chip::api`)."""

    def __init__(self, program: str) -> None:
        """A chip with a program, as text or JSON. Raises EngineError with findings."""

    def call(self, request: bytes) -> tuple[bytes, list[tuple[int, bytes]]]:
        """Carries out a request without its length. Returns the answer with its length, and the
        packets that left by external ports."""

    def receive(self, in_port: int, packet: bytes) -> list[tuple[int, bytes]]:
        """Processes a packet that arrives at a port. Returns the packets that leave by external
        ports. Raises EngineError for an invalid port or packet."""

    def take(self) -> tuple[int, int, bytes] | None:
        """The next packet for the CPU, if one waits: its port, packets lost so far, and its
        bytes."""

class EngineCancelled(Exception):
    """The call was cancelled by its progress callback."""

class EngineError(ValueError):
    """Nothing can be computed from this input; `findings_json` (str) says why and what to
    change."""

    findings_json: str
    """JSON array of `{severity, code, where, message, hint, fix, value?, limit?}`."""

@final
class Plan:
    """A computed plan. Device index = row of the scene's devices, cable index = link index."""

    @property
    def plan_hash(self) -> str: ...
    @property
    def cable_count(self) -> int: ...
    @property
    def device_count(self) -> int: ...
    def summary_json(self) -> str: ...
    def scene_json(self) -> str: ...
    def bom_json(self) -> str: ...
    def cable_tables_json(self) -> str:
        """The values that the `route`, `colour` and `part` columns of cables index."""

    def cables(self, start: int = 0, stop: int | None = None) -> CableColumns:
        """Columns of the cables `start..stop`: a_device u32, a_port u16, b_device u32, b_port u16,
        level u8, route u8, length_mm u32, stock_mm u32, part u16 (65535: none fits), colour u8,
        bundle i32 (-1: within a rack), lead u32 (the row of the whole cable: its own row, or that
        of a breakout's first leg), leg u8 (from 1; 0: no breakout), trunk u8 (the end with the
        breakout's one plug: 1 for `a`, 2 for `b`; 0: no breakout)."""

    def labels(self, start: int = 0, stop: int | None = None) -> tuple[list[str], list[str]]:
        """Labels of the cables `start..stop`: the texts at the `a` end, and at the `b` end."""

    def cable_port_names(self, start: int = 0, stop: int | None = None) -> tuple[list[str], list[str]]:
        """Port names of the cables `start..stop` at their `a` ends, and at their `b` ends."""

    def device_names(self, start: int = 0, stop: int | None = None) -> list[str]:
        """Names of the devices `start..stop`."""

    def port_names(self, device: int) -> list[str]:
        """Names of all ports of a device, by port number. Raises KeyError for an index out of
        range."""

    def device_index(self, name: str) -> int | None:
        """Index of the device with this name; `None` when there is none."""

    def transceivers(self, start: int = 0, stop: int | None = None) -> NDArray[np.uint16]:
        """Transceiver part (one at each end) of the cables `start..stop`, as in the `part` column;
        65535 for none."""

    def host_routes_json(self) -> str:
        """Static routes that connect any two servers, as JSON:
        `{"bridges": bool, "routes": [[[first, last, [[link, via], ...]], ...], ...]}`, indexed by
        node; `bridges` is true if servers relay and switches are therefore bridges. All numbers are
        ids."""

    def parts_json(self) -> str:
        """The parts that the `part` columns index, each as its price book has it: manufacturer,
        attributes, prices, sources."""

    def cable_gbps(self, start: int = 0, stop: int | None = None) -> NDArray[np.float64]:
        """The rate of each cable `start..stop` in Gb/s: the topology's, or the plan's override."""

    def addresses(self) -> NDArray[np.uint32]:
        """The IPv4 address of each device."""

    def networks_json(self) -> str:
        """The networks of those addresses as JSON:
        `{"servers", "switches", "gateways": {network: address}, "dns", "domain"}`; a network
        without devices is null."""

    def device_json(self, name: str) -> str | None:
        """A device with every port, its cable, and where the far end is, as JSON; `None` for an
        unknown name."""

    def rack_json(self, name: str) -> str | None:
        """A rack with its devices and every cable end in it, as JSON; `None` for an unknown
        name."""

@final
class Topology:
    """A topology built from a spec."""

    def counts_json(self) -> str:
        """`{"title", "servers", "switches", "links", "levels": [{"level", "label", "cables"}], "tiers": [...]}`."""

    def certificate_json(self) -> str:
        """`{passed, checks: [{name, statement, checked, passed, detail}]}`."""

    def metrics_json(self) -> str: ...
    @property
    def link_count(self) -> int: ...
    @property
    def node_count(self) -> int: ...
    def edges(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint8]]:
        """Links as `(a u32[], b u32[], level u8[])`; servers come first among the ids."""

    def ports(self) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        """Port numbers at both ends of every link, as `(a_port u16[], b_port u16[])`."""

    def names(self, start: int, stop: int) -> list[str]:
        """Names of the nodes `start..stop`."""

    def edge_lines(self, start: int, stop: int) -> bytes:
        """Lines `a b level` of the links `start..stop`, each ended by a newline."""

def build_plan(spec_json: str, book_json: str) -> Plan:
    """Computes a plan from a topology spec or plan spec and a price book. Raises EngineError."""

def build_topology(spec_json: str) -> Topology:
    """Builds the topology of a topology spec or plan spec. Raises EngineError."""

def built_in_trial(name: str, options_json: str, on_progress: Progress | None = None) -> str:
    """The same as `service_trial` for a service that every server of a run hosts, by its name: it
    takes no fuel, and its calls are not counted. Raises EngineError, EngineCancelled."""

def builtin_books() -> list[str]:
    """The built-in price books as JSON texts, oldest first."""

def check_book(book_json: str) -> str:
    """Checks a price book and returns its canonical content hash. Raises `EngineError` with the
    errors."""

def check_life(question_json: str, book_json: str) -> None:
    """Checks a question and plans it, without simulating any life. Raises `EngineError` with the
    errors."""

def check_search(question_json: str, book_json: str) -> None:
    """Checks a question against the price book of its plans without searching. Raises `EngineError`
    with the errors."""

def chip_bcube(spec_json: str, server: str | None = None) -> str:
    """The paper's BCube program as text: for one server, or the text that all servers of a run
    share. Raises EngineError."""

def chip_check_servers(spec_json: str, servers: list[int], program: str, in_kernel: bool) -> None:
    """Whether every server of a BCube, or of some of its servers by id, can run a program that they
    share. Raises EngineError with findings that have `line` and `column`."""

def chip_diff(before: str, after: str) -> str:
    """The differences between two programs: `[{what, before?, after?}]`. Raises EngineError."""

def chip_portland(source: str, destination: str, source_port: int, failures: list[str]) -> str:
    """PortLand on 20 chips in virtual time: a packet from one host to another before and after
    switches and links fail:
    `{from: [address, pmac], to, attempts: [{state, at_micros, visits: [{switch, at_micros, kind, trace}], arrived}], pairs}`.
    Raises EngineError."""

def chip_program(program: str, spec_json: str | None = None, server: str | None = None) -> str:
    """A program, from text or JSON, for a server of a BCube if one is named:
    `{profile, udlks: [{i, fields, bytes}], tables: {name: {entries, size}}, vifs, never_matched: [{i, above}], text, document}`.
    Raises EngineError with findings that have `line` and `column`."""

def chip_trace(program: str, in_port: int, packet: str, spec_json: str | None = None, server: str | None = None) -> str:
    """A packet, in hexadecimal digits, through a chip with a program, for a server of a BCube if
    one is named:
    `{in_port, packet, steps: [{stage, text, key?, entry?, before?, after?, changed?}], sent: [{port, cpu, copy, packet}], outcome, reason?, summary, hits: [{table, i, packets}]}`.
    Raises EngineError."""

def chip_walk(spec_json: str, source: str, destination: str, path: int) -> str:
    """A packet through the chips of a BCube's servers, over one of the parallel paths:
    `{paths: [[names]], path, visits: [{server, name, trace}], arrived}`. Raises EngineError."""

def dfr_hops(
    spec_json: str,
    nodes: list[int],
    links: list[int],
    group_level: int,
    retries: int,
) -> list[list[int | None]]:
    """The hops of every pair of a DCell's servers by DFR's tables, if these nodes and links have
    failed: rows of sources, `None` if there is no path. Raises EngineError."""

def diff_plans(before: Plan, after: Plan) -> str:
    """The work order that turns one plan's cabling into the other's, as JSON."""

def emulation_network(spec_json: str, slice_json: str | None = None) -> str:
    """The network that is emulated: a plan's topology or a slice of it, `{servers: [names]}` or
    `{within: name, k}`, as JSON. Ids, names, ports and digits are those of the whole plan. Raises
    EngineError; fields of the slice are `slice...`.

    `{servers: [{id, name, host, address, digits}], switches: [{id, name, host, level, digits}], links: [{id, a: [node, port], b: [node, port], level, rate_ratio}], outside: [names], whole, picture, slowest_bits_per_sec}`;
    `picture` (`rows`, `rings`, `planes` or `tiers`) is the arrangement of nodes by their digits in
    a diagram, `rate_ratio` a link's rate divided by that of the plan's slowest link."""

def emulation_profile(spec_json: str) -> str:
    """The options for emulating a topology, as JSON: the protocols that its servers can run, with
    their forwardings, headers and settings, from the dataplane's catalogue. O(protocols). Raises
    EngineError.

    `{family, supported, refusal, default_protocol, protocols: [{name, title, description, header_bytes, header, max_ports, addresses_per_server, gateways, adapts, switches, switch_dataplane, balances: [{name, title}], routing, forwardings: [{name, title, in_user_space, one_host, program}], settings: [{name, title, description, type, unit, minimum, maximum, default, source}], services: [{name, title, description, messages: [{title, example, to_every_server}]}], max_message_bytes}], no_chips, transports, slice: {around_max_k}, addresses: {applications, outside}, max_servers}`;
    `refusal` is null, or `{field, value, limit, message, hint}`. `no_chips` is null, or
    `{title, message, hint}`: why switches of this size cannot be chips. `one_host` forwardings run
    on one host only. `switch_dataplane` is the dataplane of the switches if they are chips, else
    null."""

def engine_build() -> str:
    """Version and digest of the sources: only builds with the same text compute the same bytes."""

def engine_version() -> str:
    """Version of the engine, as in every summary."""

def engines_json() -> str:
    """The engines that take an experiment, as JSON:
    `[{name, method, summary, faults, settings, form}]`. `faults` are the kinds that it models,
    `settings` is the experiment's field that only this engine takes (or null), and `form` describes
    its content."""

def estimate_json(spec_json: str) -> str:
    """Sizes a spec would have, without building it: `{servers, switches, nodes, links}`. Raises
    EngineError."""

def failure_rates() -> str:
    """The catalogue of failure rates, as JSON:
    `[{"part", "title", "unit", "afr", "basis", "confidence", "date", "source", "note"}]`."""

def families_json() -> str:
    """Families and their parameters as JSON:
    `[{family, title, summary, source, parameters, example}]`."""

def fault_from_text(text: str) -> str:
    """A fault in its text form, like `cable-pulled=00/<0,0>@3-6`, as JSON."""

def fault_kinds() -> str:
    """The kinds of fault as JSON:
    `[{name, title, target, parameters: [{name, title, unit, minimum, maximum, default}], effect, silent, predicted, carries, process, stands_for}]`."""

def fault_targets(spec_json: str, faults_json: str, seed: int) -> str:
    """The nodes and links that each fault affects, as JSON: `[{nodes: [id], links: [id]}]`. Random
    targets are drawn as in `predict`. Raises EngineError."""

def figure(
    figure_id: str,
    seeds: int | None = None,
    whole: bool = False,
    on_progress: Progress | None = None,
    on_partial: Document | None = None,
    torus_side: int | None = None,
) -> str:
    """A published figure recomputed and compared with the paper's values, as JSON:
    `{id, title, rows, verdicts, series, axes, choices, provenance}`. `torus_side` is the number of
    servers along each axis, in figures of a torus's services. `on_partial` gets partial results:
    the same document with `partial: true`. Raises EngineError, EngineCancelled."""

def figures_json() -> str:
    """The published figures, as JSON: `[{id, title, source, parts}]`; of `parts` equal parts of the
    paper's data one is simulated, unless `whole` is true."""

def life(
    question_json: str,
    book_json: str,
    on_progress: Progress | None = None,
    on_frame: Document | None = None,
) -> str:
    """The lives of a plan, as JSON: curves with bands, times below floors, swaps and costs by
    policy. `on_frame` gets each frame `{kind, ...}` in order: `plan`, `progress`, `servers`.
    `False` from `on_progress` cancels. Raises EngineError, EngineCancelled."""

def lifecycle(plan: Plan, before: Plan | None = None) -> str:
    """How hard a plan's wiring is to put up, and to get to from another plan, as JSON:
    `{"deployment", "expansion"}`; see `cubeyard_plan::lifecycle`. `expansion` is `null` without
    another plan."""

def outline(spec_json: str, experiment_json: str) -> str:
    """The outline of an experiment's first seed, checked by its engine but not computed, as JSON:
    `{routing, flows, failed: {servers, switches, links, degraded_links}, keeps_paths}`; of engine
    `packet` also `simulation: {bytes, packets, packet_hops, memory_bytes}`. Raises EngineError with
    the findings of `predict`."""

def paths_between(spec_json: str, source: str, destination: str, without: list[str]) -> str:
    """The most paths of two servers that share no device, of the least total length, without the
    servers, switches, racks and links (`a/b`) in `without`, as JSON:
    `{source, destination, without, reason, paths: [{links, devices}]}`, the shortest first.
    `reason` is null, or `source-failed`, `destination-failed` or `no-path`. Raises EngineError."""

def plan_schema_json() -> str:
    """JSON schema (2020-12) of a plan spec."""

def predict(
    spec_json: str,
    experiment_json: str,
    on_progress: Progress | None = None,
    on_frame: Document | None = None,
) -> str:
    """The result of an experiment on a topology spec or plan spec, computed by the engine that the
    experiment names, as JSON. `on_frame` gets each frame `{kind, ...}` of a long run, in order.
    Raises EngineError, EngineCancelled."""

def rates_over_paths(spec_json: str, paths: list[list[int]], link_gbps: float) -> list[float]:
    """The max-min fair rate of each flow in Gb/s over its path: ids of servers, both ends included;
    an empty path carries nothing. The slowest link has `link_gbps`. Raises EngineError for servers
    that no link and no switch joins."""

def requests_answered(spec_json: str, experiment_json: str, from_secs: float) -> str:
    """Statistics of an experiment's requests of the first seed in the packet engine, for those that
    start at `from_secs` or later, as JSON: `{requests, answered, mean_secs}`; the mean is null if
    none is answered. Raises EngineError."""

def requests_of(spec_json: str, workload_json: str, seed: int) -> str:
    """The clients and servers in a workload of requests, as JSON:
    `{clients: [{server: id, asks: [id], seed}], request_bytes, response_bytes}`, with defaults
    filled in. Raises EngineError."""

def routed_flows(spec_json: str, run_json: str) -> str:
    """The path that each flow takes through an emulation's routers, and max-min fair rates over
    these paths, as JSON: `{"paths": [[id]], "gbps": [rate]}`. A flow without a path has an empty
    one and the rate 0.

    `run_json`:
    `{"slice", "faults", "seed", "balance": "ecmp" | "wcmp" | "lb" | "detour", "link_gbps", "protocol", "flows": [[number, source, destination]]}`;
    with `"chips"` the switches are chips of that protocol, whose programs choose the path.
    `protocol` is the IP protocol number, `link_gbps` the rate of the slowest link. With
    `"subflows"` (a number, 0 for the default) flows are MPTCP and their subflows share links like
    TCP flows. The result then has each flow's total rate, the path of its first subflow, and in
    `"subflows"` a list of `{"ports": [port or null, port or null], "path", "gbps"}` for each
    flow."""

def routings_json(spec_json: str) -> str:
    """The routing schemes that serve a plan, its paper's own first, as JSON: `[{name, summary}]`.
    Raises EngineError."""

def search(
    question_json: str,
    book_json: str,
    on_progress: Progress | None = None,
    on_frame: Document | None = None,
) -> str:
    """The Pareto front of a question with a price book, as JSON: see `cubeyard_search::run`.
    `on_frame` gets each frame `{kind, ...}` in order: `space`, `progress`, `point`. `False` from
    `on_progress` cancels. Raises EngineError, EngineCancelled."""

def search_metrics() -> str:
    """The metrics by which plans can be judged, as JSON:
    `[{"name", "title", "unit", "units", "stage", "more", "doc"}]`."""

def service_limits() -> str:
    """Limits of services that users write, as JSON:
    `{"module_bytes", "services", "first_id", "last_id", "max_servers", "max_secs"}`, the last two
    of a trial."""

def service_module(module: bytes) -> bytes:
    """Converts a module to the binary format (from binary or text) and checks that it can be a
    service. Raises EngineError with the errors, in the field `module`."""

def service_process_trial(answer: Callable[[bytes], bytes], options_json: str) -> str:
    """The same as `service_trial` for a service in a process. `answer` is called with each call to
    the process and returns its answer; an exception in it ends the trial and is raised here. Raises
    EngineError."""

def service_trial(module: bytes, options_json: str, on_progress: Progress | None = None) -> str:
    """Runs a module on every server of a torus in virtual time; returns the report as JSON:
    `{servers, secs, carried, delivered, hops: {hops: packets}, calls, fuel, lost: {reason: count}, counters, answers, said: [[second, server, text]], ended_early}`.
    `options_json`: `{size: [x, y, z], secs, message, rate_bits_per_sec, seed}`; in `message`,
    `{key}` is a key drawn for each server. `on_progress` is called with the elapsed thousandths of
    that time, and with 1000 at the end. Raises EngineError, EngineCancelled."""

def spanning_trees(spec_json: str, source: str) -> str:
    """A BCube's edge-disjoint spanning trees from a server, as JSON: a list of trees, each a list
    of `[parent, child]`, by id. Raises EngineError."""

def torus_services(spec_json: str, asked_json: str) -> str:
    """Models of a torus's services of any size, as JSON: `{aggregation, joins, source, lookups}`,
    those of them that `asked_json` has:
    `{aggregation: {root, seeds}, joins: [{root, members}], source, lookups: {keys, exponent, lookups, seed}}`.
    Raises EngineError."""
