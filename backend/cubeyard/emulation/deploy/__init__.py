"""Servers up and down, and removing what dead runs left.

In: `deployment.py`, the servers of one run; `containers.py`, `contexts.py` and `images.py`, the Docker engine;
`reaper.py`, runs whose process died; `probe.py` and `schemas.py`, what this machine has and lacks for emulation.

Not in: wiring and shaping links, which the fabric does; breaking servers (`session/injector.py`).

The only importer of Docker's SDK. Labels and locks say which run a container belongs to: nothing else is ever removed.
"""
