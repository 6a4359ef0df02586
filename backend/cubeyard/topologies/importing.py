"""Converts a network file to a spec of the family `custom`, and reports what was read, assumed and
left out. Deterministic: no clock, no hash order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cubeyard.engine import finding
from cubeyard.kit.errors import Finding, field_error
from cubeyard.reading.numbers import Mark, TwoNumbersError
from cubeyard.reading.problems import MAX_MISTAKES, BadFileError, Mistake, TwoReadingsError, problem, refused
from cubeyard.reading.report import MAX_SKIPPED, SkippedRow
from cubeyard.reading.tables import DECIMAL_HINT
from cubeyard.topologies import names, roles
from cubeyard.topologies.network import TITLES, Edge, Format, Network, lines
from cubeyard.topologies.rates import GBPS_OF, MAX_GBPS, MIN_GBPS, Rates, Unit, guessed_unit
from cubeyard.topologies.readers import read
from cubeyard.topologies.roles import RULES, Decision
from cubeyard.topologies.schemas import ImportedCounts, ImportedRate, ImportedRoles, ImportedTopology

DEFAULT_GBPS = 10.0
MAX_READ_GBPS = 1e6
"""A rate above is no rate of a link, and not understood."""
READ_WITH = ("cubeyard.topologies.readers.xml_graphs", "cubeyard.reading.workbooks")
MAX_PATTERNS, MAX_PATTERN_CHARACTERS = 50, 100
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The user's choices for a file. Patterns are shell patterns of names, such as `web*`."""

    format: Format | None = None
    servers: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    link_gbps: float | None = None
    """The rate of links for which the file states none; default 10."""
    rate_unit: Unit | None = None
    """The unit of rates that are bare numbers."""
    decimal: Mark | None = None
    """The decimal mark of the rates, where the file does not show it."""


def import_topology(data: bytes, name: str = "", options: ImportOptions | None = None) -> ImportedTopology:
    """The topology of a file. `name` is the file's name, which can indicate the format.

    Raises a 422 with every error by line, element or option. Time is linear in the size of the
    file.
    """
    options = options or ImportOptions()
    check(options)
    try:
        return of_network(read(data, name, options.format), options)
    except BadFileError as error:
        raise problem(error) from None


def imported_json(data: bytes, name: str, options: ImportOptions) -> bytes:
    """The same as JSON."""
    return import_topology(data, name, options).model_dump_json().encode()


def of_network(network: Network, options: ImportOptions) -> ImportedTopology:
    """The same for a network that was read. Raises `BadFileError` for one without servers or
    links."""
    links, merged = _links(network)
    linked = {name for edge in links for name in (edge.a, edge.b)}
    for name in [name for name in network.nodes if name not in linked]:
        network.leave_out("a node without a link", name)
        del network.nodes[name]
    if not links:
        raise refused("file", "It has no links between two nodes.", "A network needs at least one link.")
    network.edges = links
    decided = roles.decide(network, options.servers, options.switches)
    servers = sum(item.role == "server" for item in decided.values())
    if servers == 0:
        hint = "Say which nodes are servers by a pattern of their names (servers; * where every node is a site with servers), or by an attribute role in the file."
        raise refused("nodes", f"None of the {len(decided):,} nodes is a server, by any rule.", hint)
    called, by_label = names.called(network)
    findings: list[Finding] = []
    assumed = _assumed_names(network, called, by_label)
    if merged:
        assumed.append(f"{_count(merged, 'link')} back along one that is there already: both directions are one link.")
    gbps, reported = _rates(network, options, assumed, findings)
    usual = options.link_gbps or Counter(gbps).most_common(1)[0][0]
    spec = {
        "family": "custom",
        "nodes": [_node(network, name, called[name], decided[name].role) for name in _in_order(network, decided)],
        "links": _spec_links(network, called, gbps, usual, findings),
        "link_gbps": _plain(usual),
    }  # fmt: skip
    findings += _unclear(decided, called)
    findings += _no_switch(decided, network)
    if alike := [*network.alike, *names.alike(network, by_label)]:
        pairs = _some([f"{a} and {b}" for a, b in alike])
        message = f"Names that differ in little are taken for two devices: {pairs}."
        findings.append(_warning("names-alike", "topology.nodes", message, "Write each device's name in one way."))
    return ImportedTopology(
        format=network.format,
        format_title=TITLES[network.format],
        name=network.name,
        spec=spec,
        counts=ImportedCounts(
            nodes=len(decided), servers=servers, switches=len(decided) - servers, links=len(network.edges)
        ),
        roles=_by_rule(decided, called),
        rates=_by_rate(gbps, reported),
        assumed=assumed,
        left_out=[_left_out(why, where) for why, where in network.left_out.items()],
        skipped=[
            SkippedRow(where=where, reason=f"{why[:1].upper()}{why[1:]}.")
            for why, places in network.left_out.items()
            for where in places
        ][:MAX_SKIPPED],
        findings=findings,
    )


def patterns_of(text: str | None) -> tuple[str, ...]:
    """`web*, db*` as its patterns."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def check(options: ImportOptions) -> None:
    """Raises a 422 for an option that is out of its limits."""
    for field, patterns in (("servers", options.servers), ("switches", options.switches)):
        if len(patterns) > MAX_PATTERNS or any(len(pattern) > MAX_PATTERN_CHARACTERS for pattern in patterns):
            limit = f"at most {MAX_PATTERNS} patterns of {MAX_PATTERN_CHARACTERS} characters"
            longest = max(patterns, key=len)
            raise field_error(
                f"query.{field}", longest, "Too many or too long patterns.", limit=limit, hint="Use *, as in web*."
            )
    if options.link_gbps is not None and not MIN_GBPS <= options.link_gbps <= MAX_GBPS:
        limit = f"{MIN_GBPS:g} to {MAX_GBPS:g} Gb/s"
        raise field_error("query.link_gbps", options.link_gbps, "The rate is out of its limits.", limit=limit)


def _links(network: Network) -> tuple[list[Edge], int]:
    """The file's links without loops, and the number of left out links; in a directed file, two
    opposite edges are one link."""
    kept: list[Edge] = []
    waiting: dict[tuple[str, str], list[Edge]] = defaultdict(list)
    merged = 0
    for edge in network.edges:
        if edge.a == edge.b:
            network.leave_out("a link from a node to itself", f"{edge.where} ({edge.a})" if edge.where else edge.a)
            continue
        back = waiting[edge.b, edge.a]
        there = next((item for item in back if not item.a_port or not edge.b_port or item.a_port == edge.b_port), None)
        if network.directed and there is not None:
            back.remove(there)
            merged += 1
            continue
        if network.directed:
            waiting[edge.a, edge.b].append(edge)
        kept.append(edge)
    return kept, merged


def _in_order(network: Network, decided: dict[str, Decision]) -> list[str]:
    """Servers first, each kind in the order of the file."""
    return sorted(network.nodes, key=lambda name: decided[name].role != "server")


def _node(network: Network, name: str, called: str, role: str) -> dict[str, Any]:
    tier = roles.tier(network.nodes[name].attributes) if role == "switch" else None
    return {"name": called, "role": role} | ({} if tier is None else {"tier": tier})


def _spec_links(
    network: Network, called: dict[str, str], gbps: list[float], usual: float, findings: list[Finding]
) -> list[dict[str, Any]]:
    """The links with their ports; a port that has a link already is left out of the later one."""
    taken: set[tuple[str, str]] = set()
    twice: list[str] = []
    links: list[dict[str, Any]] = []
    for edge, rate in zip(network.edges, gbps, strict=True):
        link: dict[str, Any] = {"a": called[edge.a], "b": called[edge.b]}
        if rate != usual:
            link["gbps"] = _plain(rate)
        for side, words in (("a", edge.a_port), ("b", edge.b_port)):
            port = names.port(words)
            if (link[side], port) in taken:
                twice.append(f"{link[side]} {port}" + (f" ({edge.where})" if edge.where else ""))
            elif port:
                taken.add((link[side], port))
                link[f"{side}_port"] = port
        links.append(link)
    if twice:
        message = f"{_count(len(twice), 'port')} named by a second link, which is kept without the port's name: {_some(twice)}."
        hint = "Correct the file if two of its links are one."
        findings.append(_warning("port-twice", "topology.links", message, hint))
    return links


def _warning(code: str, where: str, message: str, hint: str) -> Finding:
    return Finding(**{**finding(code, where, message, hint), "severity": "warning"})


def _plain(amount: float) -> float:
    """A whole number without a fraction, as people write it."""
    return int(amount) if amount == int(amount) else round(amount, 9)


def _assumed_names(network: Network, called: dict[str, str], by_label: bool) -> list[str]:
    message: list[str] = []
    if by_label:
        message.append("Nodes are called by their labels: the file's ids are a program's.")
    own = {name: (" ".join(lines(network.nodes[name].label)) if by_label else "") or name for name in called}
    if by_label and (doubles := [words for words, count in Counter(own.values()).items() if count > 1]):
        message.append(f"{_count(len(doubles), 'label')} of several nodes, which are numbered: {_some(doubles)}.")
    if network.spellings:
        reported = _some([" = ".join(names[:4]) for names in network.spellings])
        message.append(f"{_count(len(network.spellings), 'device')} written in several ways: {reported}.")
    changed = [f"{own[name]} → {called[name]}" for name in called if own[name] != called[name]]
    if changed:
        message.append(
            f"{_count(len(changed), 'name')} changed into host names (lower-case letters, digits, hyphens): "
            f"{_some(changed)}."
        )
    return message


def _rates(
    network: Network, options: ImportOptions, assumed: list[str], findings: list[Finding]
) -> tuple[list[float], list[bool]]:
    """Gb/s of each link, and whether the file states it."""
    matches = _read_rates(network, options)
    bare = [item[0] for item in matches if isinstance(item, tuple) and not item[1]]
    unit = guessed_unit(bare)
    default = options.link_gbps or DEFAULT_GBPS
    gbps: list[float] = []
    reported: list[bool] = []
    unread: list[str] = []
    beyond: list[str] = []
    without = 0
    for edge, item in zip(network.edges, matches, strict=True):
        amount = None
        if isinstance(item, tuple) and (item[1] or unit is not None):
            amount = item[0] if item[1] or unit is None else item[0] * GBPS_OF[unit]
        if amount is not None and 1e-9 <= amount <= MAX_READ_GBPS:
            if not MIN_GBPS <= amount <= MAX_GBPS:
                beyond.append(f"{edge.where or f'{edge.a} to {edge.b}'} ({_rate(amount)})")
                amount = min(max(amount, MIN_GBPS), MAX_GBPS)
            gbps.append(round(amount, 9))
            reported.append(True)
            continue
        if item is None:
            without += 1
        else:
            unread.append(
                f"{edge.where or f'{edge.a} to {edge.b}'} ({item if isinstance(item, str) else f'{item[0]:g}'})"
            )
        gbps.append(default)
        reported.append(False)
    if without:
        assumed.append(f"{_count(without, 'link')} without a rate: {default:g} Gb/s assumed.")
    if bare and unit is not None:
        words = {"gbps": "Gb/s", "bps": "bit/s", "mbps": "Mb/s", "kbps": "kb/s"}[unit]
        assumed.append(f"{_count(len(bare), 'rate')} without a unit, read as {words}.")
    if unread:
        hint = "Write rates with a unit (10G, 400 Mb/s), or choose the unit of bare numbers (rate_unit)."
        message = f"{_count(len(unread), 'rate')} not understood, so that {default:g} Gb/s is assumed: {_some(unread)}."
        findings.append(_warning("rates-not-understood", "topology.links", message, hint))
    if beyond:
        limits = f"links carry {_rate(MIN_GBPS)} to {_rate(MAX_GBPS)} here"
        message = f"{_count(len(beyond), 'rate')} out of range ({limits}), taken as the nearest: {_some(beyond)}."
        findings.append(_warning("rates-out-of-range", "topology.links", message, "Choose rates within the range."))
    return gbps, reported


def _read_rates(network: Network, options: ImportOptions) -> list[tuple[float, bool] | str | None]:
    """As `Rates.of`, link by link. Raises TwoReadingsError for rates that depend on the decimal
    mark."""
    rates = Rates(options.rate_unit, (edge.attributes for edge in network.edges), options.decimal)
    matches: list[tuple[float, bool] | str | None] = []
    ambiguous: list[Mistake] = []
    for edge in network.edges:
        try:
            matches.append(rates.of(edge.attributes))
        except TwoNumbersError as error:
            where = edge.where or f"link {edge.a} to {edge.b}"
            ambiguous.append(Mistake(where, f"{error}.", DECIMAL_HINT, value=error.text))
    if ambiguous:
        raise TwoReadingsError(ambiguous[:MAX_MISTAKES])
    return matches


def _rate(gbps: float) -> str:
    """`64 kb/s`, as people write it."""
    for factor, unit in ((1e3, "Tb/s"), (1.0, "Gb/s"), (1e-3, "Mb/s"), (1e-6, "kb/s")):
        if gbps >= factor:
            return f"{gbps / factor:.4g} {unit}"
    return f"{gbps * 1e9:.4g} b/s"


def _unclear(decided: dict[str, Decision], called: dict[str, str]) -> list[Finding]:
    unclear = [called[name] for name, decision in decided.items() if decision.rule == "unclear"]
    if not unclear:
        return []
    message = f"Neither the file nor the links say what {_count(len(unclear), 'node')} is, taken for switches: {_some(unclear)}."
    hint = "Name servers or switches by patterns of their names, like web* and leaf*."
    return [_warning("roles-unclear", "topology.nodes", message, hint)]


def _no_switch(decided: dict[str, Decision], network: Network) -> list[Finding]:
    degree = Counter(name for edge in network.edges for name in (edge.a, edge.b))
    guessed = any(decision.rule in ("format", "links") for decision in decided.values())
    if not guessed or any(decision.role == "switch" for decision in decided.values()) or max(degree.values()) < 3:
        return []
    message = "No node is a switch, so that servers have to relay, which a custom topology does not do."
    hint = "Name the switches by patterns of their names, like leaf* or r*."
    return [_warning("no-switch", "topology.nodes", message, hint)]


def _by_rule(decided: dict[str, Decision], called: dict[str, str]) -> list[ImportedRoles]:
    matches: list[ImportedRoles] = []
    for rule, title in RULES.items():
        those = {name: decision.role for name, decision in decided.items() if decision.rule == rule}
        if those:
            servers = sum(role == "server" for role in those.values())
            examples = [called[name] for name in list(those)[:_SHOWN]]
            matches.append(
                ImportedRoles(rule=rule, title=title, servers=servers, switches=len(those) - servers, examples=examples)
            )
    return matches


def _by_rate(gbps: Sequence[float], told: Sequence[bool]) -> list[ImportedRate]:
    counted = Counter(zip(gbps, told, strict=True))
    order = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return [ImportedRate(gbps=rate, links=links, told=known) for (rate, known), links in order]


def _left_out(why: str, where: Sequence[str]) -> str:
    places = [place for place in where if place]
    if not places:
        return f"{why[:1].upper()}{why[1:]}" + (f" ({len(where):,})." if len(where) > 1 else ".")
    return f"{why[:1].upper()}{why[1:]}: {_some(places)}."


def _some(items: Sequence[str]) -> str:
    more = len(items) - _SHOWN
    return ", ".join(items[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
