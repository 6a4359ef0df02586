"""Starts and stops servers, and removes the leftovers of dead runs.

Inside: `deployment.py`, the servers of one run; `containers.py`, the interface to container
engines, and the factory; `docker_containers.py`, `docker_beside.py`, `docker_pulls.py`,
`docker_disk.py`, `docker_engine.py`, `contexts.py`, `shims.py` and `images.py`, Docker;
`beside.py`, users' programs; `pods.py`, `pod_calls.py`, `pod_state.py`, `pod_document.py`,
`quotas.py` and `manifests.py`, Kubernetes; `reaper.py`, runs whose process died; `probe.py` and
`schemas.py`, whether this machine can emulate.

Not here: wiring and shaping links, which the fabric does; injecting faults of servers
(`session/injector.py`).

Only this folder imports Docker's SDK, and only this folder and `cluster/` import the Kubernetes
client. Labels and locks assign containers to runs: nothing else is ever removed.
"""
