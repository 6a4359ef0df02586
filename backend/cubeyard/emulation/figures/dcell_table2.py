"""Which pairs of servers of a DCell_2 reach each other after failures, and in how many hops,
measured by ping. `[dcell §6.1, Table 2]`

Every pair of 42 servers is compared with DFR's computed result for the same failures.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import mean

from cubeyard.emulation.deploy.names import namespace_name
from cubeyard.emulation.figures.lab import Json, Lab, Trial
from cubeyard.emulation.figures.rows import Outcome, Row, line
from cubeyard.emulation.figures.talk import Talk
from cubeyard.emulation.figures.torus import at_paper_size, told
from cubeyard.kit.errors import ProblemError

FIGURE = "dcell-table2"
DCELL: Json = {"family": "dcell", "n": 2, "k": 2}
LINK_BITS_PER_SEC = 20e6
FLOW_BITS_PER_SEC = 2e5
RATIOS = (0.05, 0.1, 0.2)
KINDS = ("node", "link")
GROUP_LEVEL = 1
RETRIES = 5
"""Local reroutes of a real packet; in the paper's simulated table, packets have 30."""
CONVERGED_SECS = 9.0
"""The silence of a dead server behind a switch is detected after 5 s; link state then spreads
immediately."""
TIME_TO_LIVE = 64
PINGS = 4
"""Number of servers that ping at the same time."""
ANSWER = re.compile(r"from ([\d.]+): icmp_seq=\d+ ttl=(\d+)")


@dataclass(frozen=True)
class Broken:
    """The failed parts of one trial: their numbers, as in the plan, and names."""

    kind: str
    ratio: float
    numbers: list[int]
    names: list[str]
    ends: tuple[str, str]
    """Two live servers, for the session's only flow."""

    @property
    def name(self) -> str:
        return f"{self.kind} failures {100 * self.ratio:.0f} %"


@dataclass(frozen=True)
class Pings:
    """By source and destination: hops of the reply, which is the path from the destination; None
    without a reply."""

    hops: dict[tuple[int, int], int | None]


def draw(described: Json, kind: str, ratio: float) -> Broken:
    """Draws the failures. The same kind and ratio always give the same ones."""
    draws = random.Random(f"{kind}/{ratio}")  # noqa: S311 - the same every time
    servers = {server["id"]: server["name"] for server in described["servers"]}
    names = {**servers, **{switch["id"]: switch["name"] for switch in described["switches"]}}
    if kind == "node":
        numbers = sorted(draws.sample(list(servers), round(ratio * len(servers))))
        struck = [servers[number] for number in numbers]
    else:
        links = {link["id"]: (link["a"][0], link["b"][0]) for link in described["links"]}
        numbers = sorted(draws.sample(list(links), round(ratio * len(links))))
        struck = ["/".join(names[end] for end in links[number]) for number in numbers]
    alive = [name for number, name in servers.items() if kind == "link" or number not in numbers]
    return Broken(kind, ratio, numbers, struck, (alive[0], alive[-1]))


def _trial(broken: Broken, results: dict[str, Pings]) -> Trial:
    source, destination = broken.ends

    def talk(to: Talk) -> None:
        time.sleep(CONVERGED_SECS)
        results[broken.name] = ping_all(to, broken)

    kind = "server-off" if broken.kind == "node" else "cable-pulled"
    settings: Json = {
        "flow_bits_per_sec": FLOW_BITS_PER_SEC,
        "seconds": 300.0,
        "settle_secs": 1.0,
        "calibrate_secs": 0.5,
        "timers": {"group_level": GROUP_LEVEL},
    }
    return Trial(
        broken.name,
        DCELL,
        {"kind": "one-to-one", "source": source, "destination": destination},
        LINK_BITS_PER_SEC,
        settings,
        faults=[{"kind": kind, "target": {"names": broken.names}, "at_secs": 0.0}],
        expect_secs=CONVERGED_SECS + 20,
        talk=talk,
    )


def ping_all(talk: Talk, broken: Broken) -> Pings:
    """Every live server pings every other one. Pings without a reply are repeated."""
    if shutil.which("ping") is None:
        raise ProblemError(503, "cannot-measure", "This host has no ping. Install iputils-ping.")
    dead = set(broken.numbers) if broken.kind == "node" else set()
    alive = [server for server in talk.network.servers if server not in dead]
    at = {address: server for server, address in talk.network.addresses.items()}

    def of(source: int) -> dict[tuple[int, int], int | None]:
        others = [server for server in alive if server != source]
        answers = _ping(talk, source, others, at)
        silent = [server for server in others if server not in answers]
        answers |= _ping(talk, source, silent, at)
        return {(source, server): answers.get(server) for server in others}

    hops: dict[tuple[int, int], int | None] = {}
    with ThreadPoolExecutor(PINGS) as pool:
        for item in pool.map(of, alive):
            hops |= item
    return Pings(hops)


def _ping(talk: Talk, source: int, others: Iterable[int], at: dict[str, int]) -> dict[int, int]:
    """Number of hops to each server that replies."""
    addresses = [talk.network.addresses[server] for server in others]
    if not addresses:
        return {}
    pings = "".join(f"ping -n -c 1 -W 2 {address} & " for address in addresses)
    command = ["ip", "netns", "exec", namespace_name(talk.run_id, source), "sh", "-c", f"{pings} wait"]
    message = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout
    return {at[address]: TIME_TO_LIVE - int(left) + 1 for address, left in ANSWER.findall(message) if address in at}


def measure(lab: Lab) -> Outcome:
    described = lab.engine.emulation_network(DCELL)
    ratios = RATIOS if lab.brevity >= 1 else (0.1,)
    broken = [draw(described, kind, ratio) for kind in KINDS for ratio in ratios]
    result: dict[str, Pings] = {}
    lab.measure([_trial(item, result) for item in broken])
    table = at_paper_size(lab, FIGURE)
    rows: list[Row] = []
    series: list[Json] = []
    for kind in KINDS:
        measured: list[float] = []
        for item in (each for each in broken if each.kind == kind):
            hops = result[item.name].hops
            nodes, links = (item.numbers, []) if kind == "node" else ([], item.numbers)
            model = lab.engine.dfr_hops(DCELL, nodes, links, GROUP_LEVEL, RETRIES)
            rows += _rows(item, hops, model, len(described["servers"]))
            measured.append(mean(count for count in hops.values() if count is not None))
        series.append(line(f"DFR, {kind} failures, 42 servers", [float(ratio) for ratio in ratios], measured))
    return Outcome(
        rows=rows,
        series=[*series, *(item for item in table["series"] if "DFR" in item["name"])],
        axes=("share that has failed", "hops"),
        choices=[
            "DCell_2 of two servers in a DCell_0: 42 servers, 63 direct cables and switches' cables; a share of the servers is off, or of the cables "
            "pulled, drawn once for each share",
            f"each living server pings every other one {CONVERGED_SECS:g} s after the failures; who does not answer is asked again. The TTL of the "
            "answer gives the hops of the way back, so each ordered pair is compared once",
            f"the model is the step function that the servers' tables are made of, with the live {RETRIES} reroutes; the table of the paper has "
            "DCell_3 of 176,820 servers and 30",
        ],
    )


def _rows(
    broken: Broken, hops: dict[tuple[int, int], int | None], model: list[list[int | None]], servers: int
) -> list[Row]:
    both = {(a, b): model[a][b] is not None and model[b][a] is not None for a, b in hops}
    reach = sum((count is not None) != both[pair] for pair, count in hops.items())
    lengths = sum(count is not None and both[a, b] and count != model[b][a] for (a, b), count in hops.items())
    answered = [count for count in hops.values() if count is not None]
    ways = [model[b][a] or 0 for (a, b), reached in both.items() if reached]
    lost, without = (100 * (1 - count / (servers * (servers - 1))) for count in (len(answered), len(ways)))
    name = broken.name
    return [
        told(
            f"{name}: pairs that DFR does not reach alike",
            "",
            float(reach),
            0.0,
            0.0,
            f"of {len(hops):,} pairs of living servers",
        ),
        told(
            f"{name}: pairs of other lengths", "", float(lengths), 0.0, 0.0, f"of {len(answered):,} pairs that answer"
        ),
        told(f"{name}: mean hops", "hops", mean(answered), mean(ways), mean(ways), "by DFR of the same failures"),
        told(
            f"{name}: pairs without a path, of all",
            "%",
            lost,
            without,
            without,
            "by DFR of the same failures, with the servers that have failed themselves",
        ),
    ]
