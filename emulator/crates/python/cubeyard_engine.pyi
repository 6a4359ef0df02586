"""Cubeyard's engine: topologies, layouts, wiring and bills of materials, computed.

Specs and price books go in as JSON text, documents come out as JSON text, cables as numpy columns.
Calls that compute release the GIL. The same spec and book always give the same plan.
"""

from collections.abc import Callable
from typing import TypedDict, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "EngineCancelled",
    "EngineError",
    "Plan",
    "Topology",
    "build_plan",
    "build_topology",
    "built_in_trial",
    "builtin_books",
    "check_book",
    "ChipModel",
    "chip_bcube",
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
    "families_json",
    "fault_kinds",
    "fault_targets",
    "figure",
    "figures_json",
    "outline",
    "paths_between",
    "plan_schema_json",
    "predict",
    "rates_over_paths",
    "requests_answered",
    "requests_of",
    "routed_flows",
    "routings_json",
    "service_limits",
    "service_module",
    "service_process_trial",
    "service_trial",
    "spanning_trees",
    "torus_services",
]

class EngineError(ValueError):
    """Nothing can be computed from this input."""

    findings_json: str
    """JSON array of `{severity, code, where, message, hint, fix, value?, limit?}`."""

class EngineCancelled(Exception):
    """The call was cancelled by its progress callback."""

class CableColumns(TypedDict):
    """Equally long columns; row `i` is the cable of link `start + i`, or the leg of a breakout
    cable."""

    lead: NDArray[np.uint32]
    """The first link of its cable: its own number unless a breakout cable has several."""
    leg: NDArray[np.uint8]
    """Which leg of its breakout cable, from 1; 0 for a cable of one link."""
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

def engine_build() -> str:
    """Version and digest of the sources: only builds with the same text compute the same bytes."""

def engine_version() -> str:
    """Version of the engine, as in every summary."""

def families_json() -> str:
    """Families and their parameters: `[{family, title, summary, source, parameters, example}]`."""

def builtin_books() -> list[str]:
    """The built-in price books as JSON texts, oldest first."""

def fault_kinds() -> str:
    """The kinds of fault:
    `[{name, title, target, parameters: [{name, title, unit, minimum, maximum, default}], effect, silent, predicted, carries, process, stands_for}]`."""

def emulation_network(spec_json: str, slice_json: str | None = None) -> str:
    """The network that is emulated, whole or the slice `{servers: [names]}` or `{within: name, k}`:
    `{servers: [{id, name, address, digits}], switches: [{id, name, level, digits}], links: [{id, a: [node, port], b: [node, port], level, rate_ratio}], outside: [names], whole, picture, slowest_bits_per_sec}`;
    `picture` (`rows`, `rings`, `planes` or `tiers`) is how a diagram arranges nodes by their
    digits, `rate_ratio` how many times faster than the plan's slowest link one is. Ids are the
    whole plan's. Raises EngineError; fields of the slice are `slice...`."""

def emulation_profile(spec_json: str) -> str:
    """What can be emulated of a topology and how:
    `{family, supported, refusal, default_protocol, protocols: [{name, title, description, header_bytes, header, max_ports, addresses_per_server, gateways, adapts, balances: [{name, title}], routing, forwardings: [{name, title}], settings: [{name, title, description, type, unit, minimum, maximum, default, source}], services: [{name, title, description, messages: [{title, example, to_every_server}]}], max_message_bytes}], transports, slice: {around_max_k}, addresses: {applications, outside}, max_servers}`.
    Raises EngineError."""

def paths_between(spec_json: str, source: str, destination: str, without: list[str]) -> str:
    """The most paths of two servers that share no device, of the least total length, without the
    servers, switches, racks and links (`a/b`) in `without`:
    `{source, destination, without, reason, paths: [{links, devices}]}`, the shortest first.
    `reason` is `source-failed`, `destination-failed` or `no-path` where there is none, else null.
    Raises EngineError."""

def plan_schema_json() -> str:
    """JSON schema (2020-12) of a plan spec."""

def estimate_json(spec_json: str) -> str:
    """`{servers, switches, nodes, links}` of a spec, without building it. Raises EngineError."""

def check_book(book_json: str) -> str:
    """SHA-256 of a price book's canonical content. Raises EngineError with what is wrong."""

def build_topology(spec_json: str) -> Topology:
    """Build the topology of a topology spec or plan spec. Raises EngineError."""

def build_plan(spec_json: str, book_json: str) -> Plan:
    """Compute a plan from a topology spec or plan spec and a price book. Raises EngineError."""

def diff_plans(before: Plan, after: Plan) -> str:
    """The work order that turns one plan's cabling into the other's, as JSON."""

Progress = Callable[[int, int], object]
"""Called at least every 50 ms with units of work done and in all (0: not yet known); `False`
cancels."""
Partial = Callable[[str], object]
"""Called with the newest partial document."""

def engines_json() -> str:
    """The engines that take an experiment: `[{name, method, summary, faults, settings, form}]`.
    `faults` are the kinds that it knows, `settings` is the experiment's field that only this engine
    takes (or null), and `form` describes what that may hold."""

def predict(
    spec_json: str, experiment_json: str, on_progress: Progress | None = None, on_frame: Callable[[str], object] | None = None
) -> str:
    """What a topology spec or plan spec carries under an experiment, as JSON, by the engine that
    the experiment names. `on_frame` gets each frame `{kind, ...}` of a long run, in order. Raises
    EngineError, EngineCancelled."""

def search_metrics() -> str:
    """Metrics that plans can be compared by, as JSON:
    `[{name, title, unit, units, stage, more, doc}]`."""

def check_search(question_json: str, book_json: str) -> None:
    """Raises EngineError with the findings of a question that cannot be searched among plans of a
    price book."""

def search(
    question_json: str, book_json: str, on_progress: Progress | None = None, on_frame: Callable[[str], object] | None = None
) -> str:
    """The Pareto front of a question with a price book, as JSON. `on_frame` gets each frame
    `{kind, ...}` in order: `space`, `progress`, `point`. `False` from `on_progress` cancels. Raises
    EngineError, EngineCancelled."""

def lifecycle(plan: Plan, before: Plan | None = None) -> str:
    """`{deployment, expansion}` as JSON: bundles, their types and panels of a plan; links rewired,
    steps and trays touched to get to it from another one, or null without one."""

def failure_rates() -> str:
    """How often parts fail, as JSON:
    `[{part, title, unit, afr, basis, confidence, date, source, note}]`."""

def check_life(question_json: str, book_json: str) -> None:
    """Raises EngineError with the findings of a question whose lives cannot be simulated, or of its
    plan."""

def life(
    question_json: str, book_json: str, on_progress: Progress | None = None, on_frame: Callable[[str], object] | None = None
) -> str:
    """The lives of a plan as JSON: curves with bands, times below floors, swaps and costs by
    policy. `on_frame` gets each frame `{kind, ...}` in order: `plan`, `progress`, `servers`.
    `False` from `on_progress` cancels. Raises EngineError, EngineCancelled."""

def outline(spec_json: str, experiment_json: str) -> str:
    """`{routing, flows, failed: {servers, switches, links, degraded_links}, keeps_paths}` of an
    experiment's first seed, without computing it; of engine `packet` also
    `simulation: {bytes, packets, packet_hops, memory_bytes}`. Raises EngineError with the findings
    that `predict` would give."""

def fault_targets(spec_json: str, faults_json: str, seed: int) -> str:
    """What each of a list of faults strikes, drawn as `predict` draws: `[{nodes, links}]`, ids.
    Raises EngineError."""

def figures_json() -> str:
    """The published figures: `[{id, title, source, parts}]`; of `parts` equal parts of the paper's
    data one is simulated, unless the whole is asked for."""

def figure(
    figure_id: str,
    seeds: int | None = None,
    whole: bool = False,
    on_progress: Progress | None = None,
    on_partial: Partial | None = None,
    torus_side: int | None = None,
) -> str:
    """A published figure recomputed, of a torus's services with so many servers along each axis:
    `{id, title, rows, verdicts, series, axes, choices, provenance}`. Where it takes long,
    `on_partial` gets what there is so far, the same document with `partial: true`. Raises
    EngineError, EngineCancelled."""

def rates_over_paths(spec_json: str, paths: list[list[int]], link_gbps: float) -> list[float]:
    """The max-min fair rate of every flow in Gb/s, over its path: ids of servers, both ends
    included; an empty path carries nothing. `link_gbps` is the slowest link's rate. Raises
    EngineError for servers that no link and no switch joins."""

def requests_answered(spec_json: str, experiment_json: str, from_secs: float) -> str:
    """What becomes of the requests of an experiment's first seed, packet by packet, of those that
    start at `from_secs` or later: `{requests, answered, mean_secs}`; the mean is null where none is
    answered. Raises EngineError."""

def requests_of(spec_json: str, workload_json: str, seed: int) -> str:
    """`{"clients": [{"server": id, "asks": [id], "seed"}], "request_bytes", "response_bytes"}`.
    Raises EngineError."""

def routed_flows(spec_json: str, run_json: str) -> str:
    """The path that each flow takes through an emulation's routers and max-min fair rates over
    these paths: `{paths: [[id]], gbps}`. `run_json`:
    `{slice, faults, seed, balance, link_gbps, protocol, flows: [[number, source, destination]]}`.
    Raises EngineError."""

def routings_json(spec_json: str) -> str:
    """Routing schemes that serve a plan, its paper's own first: `[{name, summary}]`. Raises
    EngineError."""

class ChipModel:
    """A chip without a run, called as programs on a server's socket call it."""

    def __init__(self, program: str) -> None:
        """A chip with a program, as text or JSON. Raises EngineError."""

    def call(self, request: bytes) -> tuple[bytes, list[tuple[int, bytes]]]:
        """Carry out a request without its length: the answer with its length, and what left by
        external ports."""

    def receive(self, in_port: int, packet: bytes) -> list[tuple[int, bytes]]:
        """A packet comes in by a port: what left by external ports. Raises EngineError."""

    def take(self) -> tuple[int, int, bytes] | None:
        """The next packet for the CPU: its port, packets lost so far, its bytes."""

def chip_program(program: str) -> str:
    """A program of the switching chip, from text or JSON:
    `{profile, udlks: [{i, fields, bytes}], tables: {name: {entries, size}}, vifs, never_matched: [{i, above}], text, document}`;
    `text` and `document` (JSON) are canonical. Raises EngineError with findings that have `line`
    and `column`, 0 where they have none."""

def chip_diff(before: str, after: str) -> str:
    """What differs between two programs: `[{what, before?, after?}]`. Raises EngineError."""

def chip_trace(program: str, in_port: int, packet: str) -> str:
    """A packet, in hexadecimal digits, through a chip:
    `{in_port, packet, steps: [{stage, text, key?, entry?, before?, after?, changed?}], sent: [{port, cpu, copy, packet}], outcome, reason?, summary, hits: [{table, i, packets}]}`.
    Raises EngineError."""

def chip_bcube(spec_json: str, server: str) -> str:
    """The text of ServerSwitch's BCube program for a server, by its name. Raises EngineError."""

def chip_portland(source: str, destination: str, source_port: int, failures: list[str]) -> str:
    """PortLand on 20 chips in virtual time:
    `{from: [address, pmac], to, attempts: [{state, at_micros, visits: [{switch, at_micros, kind, trace}], arrived}], pairs}`.
    Raises EngineError."""

def chip_walk(spec_json: str, source: str, destination: str, path: int) -> str:
    """A packet through the chips of a BCube's servers, over one of the parallel paths:
    `{paths, path, visits: [{server, name, trace}], arrived}`. Raises EngineError."""

def built_in_trial(name: str, options_json: str, on_progress: Progress | None = None) -> str:
    """The same as `service_trial` of one of the services that every server of a run hosts, by its
    name: it takes no fuel, and its calls are not counted. Raises EngineError, EngineCancelled."""

def service_limits() -> str:
    """Limits of services that users write:
    `{module_bytes, services, first_id, last_id, max_servers, max_secs}`, the last two of a
    trial."""

def service_module(module: bytes) -> bytes:
    """A module that can be a service, in WebAssembly's binary format, from one or from the text
    format. Raises EngineError with what is wrong with it, in the field `module`."""

def service_process_trial(answer: Callable[[bytes], bytes], options_json: str) -> str:
    """The same as `service_trial` of a service in a process: `answer` is called with each call of
    it, and returns what the process answers. What it raises ends the trial and is raised here.
    Raises EngineError."""

def service_trial(module: bytes, options_json: str, on_progress: Progress | None = None) -> str:
    """A module on every server of a torus in virtual time:
    `{servers, secs, carried, delivered, hops: {hops: packets}, calls, fuel, lost: {reason: count}, counters, answers, said: [[second, server, text]], ended_early}`.
    `options_json`: `{size: [x, y, z], secs, message, rate_bits_per_sec, seed}`; in `message`,
    `{key}` is a key drawn for each server. `on_progress` is called with the thousandths of that
    time that are over, and with 1000. Raises EngineError, EngineCancelled."""

def torus_services(spec_json: str, asked_json: str) -> str:
    """What the models say of a torus's services, of any size:
    `{aggregation, joins, source, lookups}`, each of it if `asked_json` has it:
    `{aggregation: {root, seeds}, joins: [{root, members}], source, lookups: {keys, exponent, lookups, seed}}`.
    Raises EngineError."""

def dfr_hops(
    spec_json: str, nodes: list[int], links: list[int], group_level: int, retries: int
) -> list[list[int | None]]:
    """The hops of every pair of a DCell's servers by DFR's tables, where these nodes and links have
    failed: rows of sources, `None` where there is no path. Raises EngineError."""

def spanning_trees(spec_json: str, source: str) -> str:
    """A BCube's edge-disjoint spanning trees from a server: trees of `[parent, child]`, ids. Raises
    EngineError."""

@final
class Topology:
    """A built topology. Servers are nodes `0..servers`, switches follow."""

    @property
    def link_count(self) -> int: ...
    @property
    def node_count(self) -> int: ...
    def counts_json(self) -> str:
        """`{title, servers, switches, links, levels: [{level, label, cables}], tiers}`."""

    def certificate_json(self) -> str:
        """`{passed, checks: [{name, statement, checked, passed, detail}]}`."""

    def metrics_json(self) -> str: ...
    def edges(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint8]]:
        """Both ends and the level of every link."""

    def ports(self) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        """Port numbers at both ends of every link."""

    def names(self, start: int, stop: int) -> list[str]:
        """Names of the nodes `start..stop`."""

    def edge_lines(self, start: int, stop: int) -> bytes:
        """One line `a b level` a link, for the links `start..stop`."""

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
        """`{routes, colours, parts}`: what those columns of cables index."""

    def cables(self, start: int = 0, stop: int | None = None) -> CableColumns: ...
    def transceivers(self, start: int = 0, stop: int | None = None) -> NDArray[np.uint16]:
        """Transceiver part (one at each end) of each cable; 65535 for none."""

    def labels(self, start: int = 0, stop: int | None = None) -> tuple[list[str], list[str]]:
        """What is printed at the `a` end of each cable, and at its `b` end."""

    def cable_port_names(self, start: int = 0, stop: int | None = None) -> tuple[list[str], list[str]]:
        """Port names at the `a` and at the `b` end of each cable."""

    def device_names(self, start: int = 0, stop: int | None = None) -> list[str]: ...
    def device_index(self, name: str) -> int | None: ...
    def port_names(self, device: int) -> list[str]:
        """Names of all ports of a device, by port number. Raises KeyError for an index out of
        range."""

    def host_routes_json(self) -> str:
        """Static routes that let any two servers talk, for labs:
        `{bridges, routes: [[[first, last, [[link, via]]]]]}`, by node: how it reaches the servers
        `first` to `last`; `bridges` says that switches are bridges."""

    def device_json(self, name: str) -> str | None:
        """A device with every port, its cable and where the far end is; None for an unknown
        name."""

    def rack_json(self, name: str) -> str | None:
        """A rack with its devices and every cable end in it; None for an unknown name."""
