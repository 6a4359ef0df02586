"""Talking to cubeyard-fabric, the one privileged program of a host.

In: `client.py`, one connection; `fabrics.py` and `merging.py`, the fabrics of several hosts as one;
`hosts.py`, which host has which servers; `relay.py`, an unprivileged listener before a fabric, for
workers on other machines; `process.py`, starting and ending the program where this process may;
`place.py`, the folder with its socket, its journal and a lock for each run.

Not in: Docker (`deploy/`), and what a session tells a fabric to do (`session/`, `deploy/`).

Only this folder knows the socket's format: one JSON object a line.
"""
