"""The engine by itself: topologies and whole plans, in this process and, where memory counts, in
one of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import cubeyard_engine
import networkx

from bench.table import Row, cpu_secs, print_table

PAPER_CONTAINER = {"family": "bcube", "n": 8, "k": 3, "servers": 2048}
WHOLE_BCUBE = {"family": "bcube", "n": 8, "k": 3}
MEBIBYTE = 1024 * 1024

# A fat tree of P ports and three layers has 3 P^3 / 4 links; these are near 1e4, 1e5 and 1e6.
FAT_TREES = (24, 52, 110)
# BCube(n, 2) has 3 n^3 links.
BCUBES = (15, 32, 69)


def networkx_bcube(n: int, k: int) -> networkx.Graph:
    """BCube(n, k) with the wiring rule of [bcube §3.1], as one would write it for NetworkX: nodes
    are (level, address)."""
    graph = networkx.Graph()
    servers = n ** (k + 1)
    graph.add_nodes_from((-1, address) for address in range(servers))
    graph.add_nodes_from((level, address) for level in range(k + 1) for address in range(n**k))
    for level in range(k + 1):
        weight = n**level
        graph.add_edges_from(
            ((-1, address), (level, address // (weight * n) * weight + address % weight)) for address in range(servers)
        )
    return graph


def book(name: str = "paper-2009") -> str:
    """The JSON of a built-in price book."""
    return next(text for text in cubeyard_engine.builtin_books() if json.loads(text)["book"] == name)


def bcube_against_networkx() -> Row:
    spec = json.dumps(WHOLE_BCUBE)
    links = json.loads(cubeyard_engine.build_topology(spec).counts_json())["links"]
    assert networkx_bcube(8, 3).number_of_edges() == links
    ours = cpu_secs(lambda: cubeyard_engine.build_topology(spec), 15)
    rival = cpu_secs(lambda: networkx_bcube(8, 3), 5)
    return Row(
        "BCube(8,3) topology",
        ours * 1e3,
        rival * 1e3,
        "NetworkX",
        "ms",
        at_least=50,
        note="4,096 servers, 16,384 links",
    )


def search() -> Row:
    """Every candidate of the usual space planned and priced: CPU time of all threads, as seconds of
    two cores."""
    question = {
        "constraints": [{"metric": "servers", "at_least": 1500}],
        "plan": {"site": {"enclosure": "container-40ft"}},
    }
    began = time.process_time()
    priced = json.loads(cubeyard_engine.search(json.dumps(question), book("current-2026")))["priced"]
    cores_secs = (time.process_time() - began) / 2
    return Row(
        "10,000 candidate plans priced, two cores",
        cores_secs / priced * 10_000,
        30,
        "ceiling",
        "s",
        note=f"{priced:,} plans of 1,500 to 3,000 servers",
    )


def life() -> Row:
    """Five years of the papers' container, sealed and with a visit every six months: CPU time of
    all threads, divided by two."""
    question = {"plan": {"topology": PAPER_CONTAINER}, "seeds": 200, "policies": [{}, {"visit_months": 6}]}
    began = time.process_time()
    throughput = json.loads(cubeyard_engine.life(json.dumps(question), book("current-2026")))["throughput"]
    return Row(
        "5-year life of 2,048 servers, 200 seeds, two cores",
        (time.process_time() - began) / 2,
        60,
        "ceiling",
        "s",
        note=f"two policies; ABT computed for {throughput['computed']:,} of {throughput['states']:,} states",
    )


def whole_plan() -> list[Row]:
    """Topology, layout, wiring and BOM; then the same with everything that is ever read out of a
    plan, so that nothing the engine puts off until it is asked for goes uncounted."""
    spec, prices = json.dumps({"topology": PAPER_CONTAINER}), book()

    def read_out() -> tuple[object, ...]:
        plan = cubeyard_engine.build_plan(spec, prices)
        cables = json.loads(plan.summary_json())["counts"]["cables"]
        everything = plan.cables(0, cables), plan.labels(0, cables), plan.cable_port_names(0, cables)
        return plan.scene_json(), plan.bom_json(), *everything

    alone = cpu_secs(lambda: cubeyard_engine.build_plan(spec, prices), 15)
    read = cpu_secs(read_out, 15)
    return [
        Row(
            "whole plan, in the engine",
            alone * 1e3,
            40,
            "ceiling",
            "ms",
            note="topology, layout, wiring, BOM; 2,048 servers",
        ),
        Row(
            "whole plan, and all of it read",
            read * 1e3,
            40,
            "ceiling",
            "ms",
            note="and its documents, arrays and labels",
        ),
    ]


def _in_a_process(spec: dict[str, Any]) -> tuple[float, float, int]:
    """CPU seconds, peak memory in MiB, and links of one topology built in a fresh process."""
    program = (
        "import json, resource, sys, time, cubeyard_engine\n"
        "began = time.process_time()\n"
        "topology = cubeyard_engine.build_topology(sys.argv[1])\n"
        "secs = time.process_time() - began\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024\n"
        "print(json.dumps([secs, peak, json.loads(topology.counts_json())['links']]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program, json.dumps(spec)], check=True, capture_output=True, text=True)
    secs, peak_bytes, links = json.loads(done.stdout)
    return float(secs), float(peak_bytes) / MEBIBYTE, int(links)


def largest_dcell() -> list[Row]:
    runs = [_in_a_process({"family": "dcell", "n": 6, "k": 3}) for _ in range(3)]
    secs, peak, links = sorted(runs)[1]
    note = f"3,263,442 servers, {links:,} links"
    return [
        Row("DCell_3, n=6, topology", secs, 5, "ceiling", "s", note=note),
        Row("DCell_3, n=6, peak memory", peak, 2048, "ceiling", "MiB", note=note),
    ]


def print_growth() -> list[Row]:
    """Cost by size: the same families at about 1e4, 1e5 and 1e6 links. The price of a link must not
    grow with their number."""
    body: list[tuple[str, ...]] = []
    rows: list[Row] = []
    prices = book()
    families: list[tuple[str, list[dict[str, Any]]]] = [
        ("fat_tree", [{"family": "fat_tree", "ports": ports, "layers": 3} for ports in FAT_TREES]),
        ("bcube", [{"family": "bcube", "n": n, "k": 2} for n in BCUBES]),
    ]
    for family, specs in families:
        for what in ("topology", "plan"):
            per_link: list[float] = []
            for spec in specs:
                links = json.loads(cubeyard_engine.build_topology(json.dumps(spec)).counts_json())["links"]
                repeats = 7 if links < 50_000 else 3
                if what == "topology":
                    text = json.dumps(spec)
                    secs = cpu_secs(lambda text=text: cubeyard_engine.build_topology(text), repeats)
                else:
                    text = json.dumps({"topology": spec, "site": {"enclosure": "rows"}})
                    secs = cpu_secs(lambda text=text: cubeyard_engine.build_plan(text, prices), repeats)
                per_link.append(secs / links * 1e9)
                body.append((family, what, f"{links:,}", f"{secs * 1e3:,.1f}", f"{per_link[-1]:,.0f}"))
            rows.append(
                Row(
                    f"{family} {what}: ns per link",
                    per_link[-1],
                    per_link[0] * 3,
                    "3x at 1e4 links",
                    "ns",
                    note="from 1e4 to 1e6 links: linear but for the caches of the processor",
                )
            )
    print_table(("family", "what", "links", "CPU ms", "ns/link"), body, right={2, 3, 4})
    print()
    return rows


def rows() -> list[Row]:
    return [bcube_against_networkx(), *whole_plan(), search(), life(), *largest_dcell(), *print_growth()]
