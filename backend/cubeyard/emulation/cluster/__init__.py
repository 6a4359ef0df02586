"""A Kubernetes cluster as the machines of emulations: its API server, and the nodes on which a
cubeyard-fabric runs.

Inside: `errors.py`, errors with readable messages; `client.py`, the connection; `nodes.py`, the
DaemonSet's pods.

Only this folder and `deploy/` use the official client, which is imported only if a cluster is
configured.

Not here: the pods of servers (`deploy/pods.py`), and talking to a fabric (`fabric/`).
"""
