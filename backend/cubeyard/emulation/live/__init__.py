"""The API of emulations: whether this machine can run them, and requests to a live run.

Inside: the usual files of a package of the backend (`endpoints`, `service`, `repository`, `models`,
`schemas`), and `inspection.py`, the state of one server; `captures.py`, packet captures;
`services.py`, messages to services; `programs.py`, programs for the servers' chips; `chips/`, the
chip of one server.

Not here: the execution of orders. The API writes an order to the database, the run's worker reads
it (`runner.py`), and its session carries it out (`session/fault_control.py`).

Reads do not lock the run, because its worker needs the row for each tick.
"""
