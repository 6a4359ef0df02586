"""The network as input of other packet simulators: ns-3 and htsim.

A link's delay is its order length times 5 ns per metre, about the delay in fibre and copper; the
simulator adds the switches' delay. Nodes have the engine's numbers, servers first, followed by
their host names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cubeyard.exports.formats import Progress, no_progress
from cubeyard.exports.tables import PlanTables, provenance
from cubeyard.kit.errors import field_error
from cubeyard.plans.view import PlanView

NS_PER_METRE = 5
_LINES_PER_PIECE = 8_000


def delay_ns(stock_metres: float) -> int:
    """The delay of a cable in whole nanoseconds, at least 1."""
    return max(1, round(stock_metres * NS_PER_METRE))


def rate(gbps: float) -> str:
    """A rate in the form of ns-3's `DataRate`: `10Gbps`, `100Mbps`."""
    return f"{gbps:g}Gbps" if gbps >= 1 else f"{gbps * 1000:g}Mbps"


def _by_pieces(lines: Iterator[str], total: int, progress: Progress, doing: str) -> Iterator[bytes]:
    piece: list[str] = []
    for count, line in enumerate(lines, 1):
        piece.append(line)
        if len(piece) == _LINES_PER_PIECE:
            yield "".join(piece).encode()
            piece.clear()
            progress(min(0.95, count / max(total, 1)), doing)
    yield "".join(piece).encode()


def ns3_topology(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """The topology file of ns-3's data-centre simulators (HPCC, ASTRA-sim): counts, switches, then
    `a b rate delay error-rate`.

    These programs read the number of links in the first line and ignore the rest of the file, which
    lists each node's host name.
    """
    tables = PlanTables(plan)
    switches = [i for i, kind in enumerate(tables.device_kind) if kind]
    yield f"{len(tables.hosts)} {len(switches)} {plan.cable_count}\n{' '.join(map(str, switches))}\n".encode()
    gbps = plan.gbps.tolist()
    links = (
        f"{cable.a_device} {cable.b_device} {rate(gbps[cable.index])} {delay_ns(cable.stock_metres)}ns 0\n"
        for cable in tables.rows()
    )
    yield from _by_pieces(links, plan.cable_count, progress, "links")
    yield f"\n# {provenance(plan)}\n# node host\n".encode()
    yield from _by_pieces((f"# {i} {host}\n" for i, host in enumerate(tables.hosts)), 0, progress, "nodes")
    progress(1.0, "nodes")


def ns3_inet(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """The Inet format for ns-3's `InetTopologyReader`: nodes with positions, links between host
    names with a weight.

    The weight of a link is its delay in nanoseconds. Parallel cables are parallel links.
    """
    tables = PlanTables(plan)
    racks = plan.scene["racks"]
    total = len(tables.hosts) + plan.cable_count
    yield f"{len(tables.hosts)} {plan.cable_count}\n".encode()
    places = zip(tables.hosts, tables.device_rack, strict=True)
    nodes = (f"{host} {racks['x_metres'][rack]:.3f} {racks['y_metres'][rack]:.3f}\n" for host, rack in places)
    yield from _by_pieces(nodes, total, progress, "nodes")
    progress(len(tables.hosts) / total, "nodes")
    links = (
        f"{tables.hosts[cable.a_device]} {tables.hosts[cable.b_device]} {delay_ns(cable.stock_metres)}\n"
        for cable in tables.rows()
    )
    yield from _by_pieces(links, total, no_progress, "links")
    progress(1.0, "links")


def htsim_topology(plan: PlanView, progress: Progress) -> Iterator[bytes]:
    """htsim's fat-tree file (`-topo`): numbers of nodes and pods, then speed, ports and delay of
    each tier.

    htsim wires the tiers itself, so the file can only describe a Clos network of two or three tiers
    with equal switches in each tier. Server `i` of htsim is server `i` of the plan. Other networks
    raise an error before the first byte.
    """
    text = _Clos(plan).text()

    def pieces() -> Iterator[bytes]:
        yield text.encode()
        progress(1.0, "tiers")

    return pieces()


class _Clos:
    """The tiers of a plan, if it is a Clos network that htsim can build."""

    def __init__(self, plan: PlanView) -> None:
        self.plan = plan
        self.tables = PlanTables(plan)
        columns = plan.cables
        self._ends = list(zip(columns["a_device"].tolist(), columns["b_device"].tolist(), strict=True))
        self._levels: list[int] = self.tables.device_level
        self.servers = sum(kind == 0 for kind in self.tables.device_kind)

    def _refuse(self, why: str) -> Exception:
        family = str(self.plan.spec["topology"]["family"])
        hint = "Export a fat-tree or a leaf-spine for htsim, or this plan for ns-3 (formats ns3 and ns3-inet)."
        return field_error(
            "topology.family", family, f"htsim's topology file cannot describe this plan: {why}. {hint}",
            limit="a Clos network of 2 or 3 tiers, its switches alike in each tier", hint=hint,
        )  # fmt: skip

    def text(self) -> str:
        tiers = max(self._levels, default=-1) + 1
        if tiers not in (2, 3):
            raise self._refuse(f"it has {tiers} {'tier' if tiers == 1 else 'tiers'} of switches")
        up, down = self._ports(tiers)
        pod = self.servers if tiers == 2 else self._pod_servers()
        lines = [f"# {provenance(self.plan)}", f"Nodes {self.servers}", f"Tiers {tiers}", f"Podsize {pod}"]
        speeds = [self._same(tier, self.plan.gbps.tolist(), "links of several rates") for tier in range(tiers)]
        lengths = [0.0] * tiers
        counts = [0] * tiers
        for cable in self.tables.rows():
            tier = self._tier(cable.index)
            lengths[tier] += cable.stock_metres
            counts[tier] += 1
        for tier in range(tiers):
            if speeds[tier] != int(speeds[tier]):
                raise self._refuse(f"its links of {speeds[tier]:g} Gb/s are not whole gigabits")
            lines += ["", f"Tier {tier}", f"Downlink_speed_Gbps {int(speeds[tier])}", f"Radix_Down {down[tier]}"]
            if tier + 1 < tiers:
                lines.append(f"Radix_Up {up[tier]}")
                below, above = down[tier] * speeds[tier], up[tier] * speeds[tier + 1]
                if below % above and above % below:
                    raise self._refuse(f"the switches of tier {tier} have {below:g} Gb/s down and {above:g} Gb/s up")
                if below < above:
                    raise self._refuse(f"the switches of tier {tier} have more capacity up than down")
                lines.append(f"Oversubscribed {int(below // above)}")
            if self._bundle(tier) > 1:
                lines.append(f"Bundle {self._bundle(tier)}")
            lines.append(f"Downlink_Latency_ns {delay_ns(lengths[tier] / max(counts[tier], 1))}")
            lines.append("Switch_Latency_ns 0")
        return "\n".join(lines) + "\n"

    def _tier(self, cable: int) -> int:
        """The tier above a cable's lower end."""
        a, b = self._ends[cable]
        low, high = sorted((self._levels[a], self._levels[b]))
        if high != low + 1:
            raise self._refuse("a cable joins two servers, two switches of one tier, or passes a tier by")
        return high

    def _same(self, tier: int, values: list[float], why: str) -> float:
        matches = {values[i] for i in range(len(self._ends)) if self._tier(i) == tier}
        if len(matches) != 1:
            raise self._refuse(why)
        return matches.pop()

    def _ports(self, tiers: int) -> tuple[list[int], list[int]]:
        """Cables of a switch upwards and downwards by tier, which must be equal for all switches of
        a tier."""
        up, down = Counter[int](), Counter[int]()
        for a, b in self._ends:
            low, high = (a, b) if self._levels[a] < self._levels[b] else (b, a)
            up[low] += 1
            down[high] += 1
        members: list[list[int]] = [[] for _ in range(tiers)]
        for device, level in enumerate(self._levels):
            if level >= 0:
                members[level].append(device)
            elif up[device] != 1:
                raise self._refuse(f"its servers have {up[device]} ports, and htsim's have one")
        for counts in (up, down):
            for tier, devices in enumerate(members):
                if len({counts[device] for device in devices}) != 1:
                    raise self._refuse(f"the switches of tier {tier} differ in their cables")
        return [up[member[0]] for member in members], [down[member[0]] for member in members]

    def _pod_servers(self) -> int:
        """The number of servers that reach each other without the top tier; it must be equal for
        all pods."""
        parent = list(range(len(self._levels)))

        def root(device: int) -> int:
            while parent[device] != device:
                parent[device] = parent[parent[device]]
                device = parent[device]
            return device

        for i, (a, b) in enumerate(self._ends):
            if self._tier(i) < 2:
                parent[root(a)] = root(b)
        sizes = Counter(root(device) for device in range(self.servers))
        if len(set(sizes.values())) != 1:
            raise self._refuse("its pods have different numbers of servers")
        return next(iter(sizes.values()))

    def _bundle(self, tier: int) -> int:
        """Parallel cables between two devices, from a tier upwards; it must be equal for all
        pairs."""
        pairs = Counter(frozenset(ends) for i, ends in enumerate(self._ends) if self._tier(i) == tier)
        if len(set(pairs.values())) != 1:
            raise self._refuse(f"the devices of tier {tier} are joined by different numbers of cables")
        return next(iter(pairs.values()))
