"""A Kubernetes cluster as the machines of emulations: its API server, and the nodes on which a cubeyard-fabric runs.

In: `errors.py`, refusals in words; `client.py`, the connection; `nodes.py`, the DaemonSet's pods.

Not in: the pods of servers (`deploy/pods.py`), and talking to a fabric (`fabric/`).
"""
