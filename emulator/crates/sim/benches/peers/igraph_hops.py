"""Distances between all servers with igraph (PyPI: igraph).

In: "nodes servers sources", then a line an edge. Out: CPU seconds, and the sum of all distances in
edges.
"""

import sys
import time

import igraph


def main() -> None:
    nodes, servers, sources = map(int, sys.stdin.readline().split())
    graph = igraph.Graph(n=nodes, edges=[tuple(map(int, line.split())) for line in sys.stdin])
    everybody = range(servers)
    began = time.process_time()
    rows = graph.distances(source=range(0, servers, servers // sources), target=everybody)
    print(f"{time.process_time() - began:.6f} {sum(map(sum, rows))}")


main()
