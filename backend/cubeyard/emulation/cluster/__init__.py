"""A Kubernetes cluster as the machines of emulations: its API server, and the nodes on which a
cubeyard-fabric runs.

In: `errors.py`, refusals in words; `client.py`, the connection; `nodes.py`, the DaemonSet's pods.

Only this folder and `deploy/` know the official client, which is imported where a cluster is set.

Not in: the pods of servers (`deploy/pods.py`), and talking to a fabric (`fabric/`).
"""
