"""Cubeyard: plans, prices and wires container data centers, predicts them and emulates them with real packets.

In: one folder per job (see the code map in ARCHITECTURE.md), and the programs `app.py` (the API), `serve.py`, `worker.py` and
`cli/`; `engine.py`, the only importer of the binding; `settings.py`, every setting from the environment.

Not in: network mathematics. The engine computes, this package serves, stores and prints.
"""

__version__ = "0.1.0"
