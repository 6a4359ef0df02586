"""Servers up and down, and removing what dead runs left.

In: `deployment.py`, the servers of one run; `containers.py`, what it asks of whatever runs
containers, and the factory; `docker_containers.py`, `docker_beside.py`, `docker_pulls.py`,
`docker_engine.py`, `contexts.py`, `shims.py` and `images.py`, Docker; `beside.py`, users' programs;
`pods.py`, `pod_calls.py`, `pod_state.py`, `pod_document.py` and `quotas.py`, Kubernetes;
`reaper.py`, runs whose process died; `probe.py` and `schemas.py`, what this machine has and lacks
for emulation.

Not in: wiring and shaping links, which the fabric does; breaking servers (`session/injector.py`).

The only importer of Docker's SDK, and with `cluster/` of Kubernetes'. Labels and locks say which
run a container belongs to: nothing else is ever removed.
"""
