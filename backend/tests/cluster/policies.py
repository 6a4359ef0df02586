"""NetworkPolicies enforced on the nodes, by the programs of the Kubernetes project
(kube-network-policies)."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

from tests.cluster.machines import STOP_SECS, Cluster, Node
from tests.cluster.programs import built

PODS = "10.99.0.0/16"
QUEUE = 100
POSTROUTING = ("iptables", "-t", "mangle")
"""Before the addresses of callers of a Service are changed."""
FIRST_PACKETS = ("-m", "conntrack", "!", "--ctstatus", "CONFIRMED")
"""The first packet of each connection. The state NEW would be all packets of tunnels, which get no
reply."""
TO_QUEUE = ("-j", "NFQUEUE", "--queue-num", str(QUEUE), "--queue-bypass")
"""Without a program that judges them, all packets pass."""
RULES = (
    # The node's own calls, such as a kubelet's probes.
    ("POSTROUTING", "-m", "owner", "--uid-owner", "0", "-j", "ACCEPT"),
    ("POSTROUTING", *FIRST_PACKETS, "-d", PODS, *TO_QUEUE),
    ("POSTROUTING", *FIRST_PACKETS, "-s", PODS, *TO_QUEUE),
)
CALL_SECS = 3
CALL = f"""
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), {CALL_SECS}).close()
except TimeoutError:
    print("dropped")
except ConnectionRefusedError:
    print("refused")
else:
    print("reached")
"""
SEND = """
import socket, sys
with socket.socket(type=socket.SOCK_DGRAM) as end:
    for _ in range(5):
        end.sendto(sys.argv[3].encode(), (sys.argv[1], int(sys.argv[2])))
"""
RECEIVE = """
import socket, sys
with socket.socket(type=socket.SOCK_DGRAM) as end:
    end.bind(("", int(sys.argv[1])))
    print("bound", flush=True)
    end.settimeout(float(sys.argv[2]))
    try:
        while True:
            print(end.recv(100).decode(), flush=True)
    except TimeoutError:
        pass
"""
Outcome = Literal["dropped", "refused", "reached"]


@contextmanager
def enforced(cluster: Cluster) -> Iterator[None]:
    """Every first packet of a connection from or to a pod is judged, on each node that it
    passes."""
    with ExitStack() as held:
        for node in cluster.nodes:
            for rule in RULES:
                node.output(*POSTROUTING, "-A", *rule)
                held.callback(node.output, *POSTROUTING, "-D", *rule)
            node.start(
                "policies", str(built("kubernetes")), "kube-network-policies", f"--kubeconfig={cluster.kubeconfig('admin')}",
                f"--node={node.name}", f"--queue={QUEUE}",
            )  # fmt: skip
            held.callback(_stop, node)
        yield


def _stop(node: Node) -> None:
    """It removes its own rules, where the kernel has taken them."""
    process = node.running.pop("policies")
    process.send_signal(signal.SIGTERM)
    process.wait(STOP_SECS)


def inside(cluster: Cluster, pod: Any, *command: str) -> list[str]:
    """A command in the network of a pod's containers."""
    (node,) = (node for node in cluster.nodes if node.name == pod.spec.node_name)
    container = pod.status.container_statuses[0].container_id.rpartition("/")[2]
    (task,) = (line.split()[1] for line in node.ctr("tasks", "list").splitlines() if line.startswith(container))
    return node.inside("nsenter", f"--net=/proc/{task}/ns/net", sys.executable, *command)
