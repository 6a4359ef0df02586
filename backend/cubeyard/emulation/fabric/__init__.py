"""The client of cubeyard-fabric, the only privileged program of a host.

Inside: `client.py`, one connection; `fabrics.py` and `merging.py`, the fabrics of several hosts as
one; `hosts.py`, which host has which servers; `relay.py`, an unprivileged listener before a fabric,
for workers on other machines; `process.py`, starting and ending the program if this process has the
permission; `rights.py`, the capabilities that this takes; `place.py`, the folder with its socket,
its journal and a lock for each run.

Not here: Docker (`deploy/`), and the calls of a session to a fabric (`session/`, `deploy/`).

Only this folder depends on the socket's format: one JSON object per line.
"""
