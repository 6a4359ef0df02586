"""The API of emulations: whether this machine can run them, and requests to a run under way.

In: the files that every room of the backend has (`endpoints`, `service`, `repository`, `models`,
`schemas`), and `inspection.py`, what one server knows; `captures.py`, packet captures;
`services.py`, messages to services; `programs.py`, programs for the servers' chips; `chips/`, the
chip of one server.

Not in: carrying out an order: the API writes it into the database, the run's worker reads it
(`runner.py`) and its session carries it out (`session/fault_control.py`).

Reads take no lock on the run: its worker needs the row for each tick.
"""
