"""Shortest paths of an all-to-all and the flows on every edge with NetworkX, from some of the
servers.

In: "nodes servers sources", then a line an edge. Out: CPU seconds, and the paths' edges.
"""

import sys
import time

import networkx


def main() -> None:
    nodes, servers, sources = map(int, sys.stdin.readline().split())
    graph = networkx.Graph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(tuple(map(int, line.split())) for line in sys.stdin)
    on_edge: dict[tuple[int, int], int] = {}
    edges = 0
    began = time.process_time()
    for source in range(0, servers, servers // sources):
        paths = networkx.single_source_shortest_path(graph, source)
        for destination in range(servers):
            path = paths[destination]
            edges += len(path) - 1
            for edge in zip(path, path[1:]):
                on_edge[edge] = on_edge.get(edge, 0) + 1
    print(f"{time.process_time() - began:.6f} {edges}")


main()
